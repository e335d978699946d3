package native

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"piedmont/mounts"
	"piedmont/native/metadata"
	"piedmont/vend"
)

const (
	// maxBatch bounds the commits of one table that share a registry commit.
	maxBatch = 64
	// maxBatchBytes bounds the documents that such a batch writes.
	maxBatchBytes = 64 << 20
	// writersPerBatch bounds the metadata files of a batch written at once.
	writersPerBatch = 8
)

// link is one commit of a chain: what it made of the document before it.
type link struct {
	pending *pending
	file    *file // nil where the commit changed nothing
	// location is where the document lies that the commit is answered with.
	location string
	absent   bool  // surely no file of ours is at its name: there is nothing to discard
	replayed bool  // whether its receipt was found to be there already
	err      error // the refusal, where there is one
}

// begin takes as many commits as one batch may hold and drops those whose clients have
// gone or that waited too long: nothing was done for them yet. A commit sent again while
// the first still waits must not share its batch: they would keep one receipt.
func begin(waiting []*pending) (batch, later []*pending) {
	receipts, now := map[Key]bool{}, time.Now()
	for i, p := range waiting {
		if len(batch) == maxBatch {
			return batch, append(later, waiting[i:]...)
		}
		if p.caller.Receipt != nil {
			key := receiptKey(p.caller)
			if receipts[key] {
				later = append(later, p)
				continue
			}
			receipts[key] = true
		}
		if now.After(p.until) {
			p.done <- outcome{err: &mounts.Error{
				Kind: mounts.Unavailable, Op: "updateTable",
				Detail: "Too many commits to this table wait, or its storage is slow; nothing was done for this one",
			}}
			continue
		}
		if err := p.ctx.Err(); err != nil {
			p.done <- outcome{err: &mounts.Error{Kind: mounts.Unavailable, Op: "updateTable", Detail: "The request ended before its commit began", Err: err}}
			continue
		}
		batch = append(batch, p)
	}
	return batch, later
}

// chain applies the commits one after another. rest are those that would make the batch
// too large.
func (c *Catalog) chain(ctx context.Context, p pointer, base *metadata.Document, batch []*pending) (chain []*link, rest []*pending) {
	current, location, size := base, p.Metadata, 0
	for i, waiting := range batch {
		if size > maxBatchBytes {
			return chain, batch[i:]
		}
		l := &link{pending: waiting}
		chain = append(chain, l)
		next, changed, err := c.apply(ctx, p, current, location, waiting.commit)
		if err != nil {
			l.err = err
			continue
		}
		if l.location = location; !changed {
			continue
		}
		if next.Location() != p.Location && len(chain) > 1 {
			return chain[:len(chain)-1], batch[i:] // its swap can be refused: not for the others
		}
		f, err := c.name(next, location)
		if err != nil {
			l.err = err
			continue
		}
		l.file, l.location = &f, f.location.Verbatim()
		if next.Location() != p.Location {
			return chain, batch[i+1:]
		}
		current, location = next, l.location
		size += len(next.Bytes())
	}
	return chain, nil
}

// writeChain writes the chain's files at once. What follows the first file that could not
// be written stands on it and so failed too.
func writeChain(ctx context.Context, chain []*link) (written, failed []*link) {
	var group errgroup.Group
	group.SetLimit(writersPerBatch)
	errs := make([]error, len(chain))
	for i, l := range chain {
		if l.file == nil {
			continue
		}
		group.Go(func() error {
			errs[i] = l.file.write(ctx)
			return nil
		})
	}
	_ = group.Wait() // each error is looked at below
	first := len(chain)
	for i, err := range errs {
		if err == nil {
			continue
		}
		first = min(first, i)
		chain[i].absent = leavesNothing(err)
	}
	if first < len(chain) {
		chain[first].err = errs[first]
	}
	return chain[:first], chain[first:]
}

// unwritten decides for what follows the links that were written. The first is the one
// whose file could not be written. Those behind it stood on it and start again, unless the
// storage is out: where not one file came through, those that need one fail too, or each
// would wait for an outage of its own. A commit that needs no file was perhaps carried out
// before, so it isn't failed for that.
func (c *Catalog) unwritten(ctx context.Context, written, failed []*link) (again []*pending) {
	if len(failed) == 0 {
		return nil
	}
	err := failed[0].err
	out := mounts.Is(err, mounts.Unavailable) && !errors.Is(err, vend.ErrExists) && len(filesOf(written)) == 0
	for i, l := range failed {
		if i == 0 || out && l.file != nil {
			l.pending.done <- outcome{err: err}
			continue
		}
		again = append(again, l.pending)
	}
	c.discard(ctx, filesOf(failed)...)
	return again
}

// swap moves the pointer to the last document of the chain, if there is a new one, and
// keeps the receipts. errLost means that the base is no longer the base, or that a receipt
// was there already.
func (c *Catalog) swap(ctx context.Context, id mounts.Identifier, h head, chain []*link) error {
	var last *file
	var all changeset
	next := h.pointer
	for _, l := range chain {
		if l.file != nil {
			last = l.file
		}
		if l.err != nil {
			continue
		}
		kept, err := c.storing(l.pending.caller, receipt{MetadataLocation: l.location})
		if err != nil {
			return err
		}
		all.add(kept)
	}
	if last != nil {
		s, err := c.swapping(ctx, h.pointer, h.record, last)
		if err != nil {
			return err
		}
		all.add(s)
		next = h.pointer.at(last)
	}
	if len(all.changes) == 0 {
		return nil
	}
	err := c.registry.Commit(ctx, all.conditions, all.changes)
	if c.forgetHeads(all.changes); err == nil {
		c.remember(all, next)
	}
	return committed("updateTable", id.String(), err, func(lost *ConflictError) error {
		for _, l := range chain {
			l.replayed = l.pending.caller.Receipt != nil && lost.names(receiptKey(l.pending.caller))
		}
		return errLost
	})
}

// lost takes a chain that lost its swap to another process: it gives up on commits that
// lost too often, or that another process has carried out, and waits a little for the
// others.
func (c *Catalog) lost(id mounts.Identifier, chain []*link) (again []*pending) {
	for _, l := range chain {
		p := l.pending
		switch p.losses++; {
		case l.replayed:
			p.done <- outcome{err: replayed("updateTable", id.String())}
		case p.losses < attempts:
			again = append(again, p)
		default:
			p.done <- outcome{err: lostTooOften("updateTable", id.String())}
		}
	}
	if len(again) > 0 {
		time.Sleep(jitter(again[0].losses))
	}
	return again
}

// filesOf are the files of a chain that are there, or may be.
func filesOf(chain []*link) []file {
	var files []file
	for _, l := range chain {
		if l.file != nil && !l.absent {
			files = append(files, *l.file)
		}
	}
	return files
}

func pendingOf(chain []*link) []*pending {
	list := make([]*pending, len(chain))
	for i, l := range chain {
		list[i] = l.pending
	}
	return list
}

// answer gives all commits one error. Where a swap failed the refused ones get it too: what
// they were refused from may not be durable.
func answer(batch []*pending, err error) {
	for _, p := range batch {
		p.done <- outcome{err: err}
	}
}
