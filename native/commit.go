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
	// commitTimeout bounds a batch, its waiting for storage included. A commit that has
	// begun isn't stopped when its client goes away.
	commitTimeout = 60 * time.Second
)

// CommitTable queues a commit. See DESIGN.md for the protocol.
func (c *Catalog) CommitTable(ctx context.Context, caller mounts.Caller, id mounts.Identifier, body []byte) (*mounts.Table, error) {
	commit, err := metadata.ParseCommit(body)
	if err != nil {
		return nil, err
	}
	if commit.IsCreate() {
		return c.commitCreate(ctx, id, caller, commit)
	}
	p := &pending{ctx: ctx, caller: caller, commit: commit, done: make(chan outcome, 1)}
	return c.queues.submit(objectKey(c.id, id), p, func(batch []*pending) []*pending {
		return c.commitBatch(ctx, id, batch)
	})
}

// commitCreate ends a staged create.
func (c *Catalog) commitCreate(ctx context.Context, id mounts.Identifier, caller mounts.Caller, commit *metadata.Commit) (*mounts.Table, error) {
	const op = "updateTable"
	d, err := c.built(ctx, op, id, commit)
	if err != nil {
		return nil, err
	}
	return c.create(ctx, op, id, typeTable, caller, d)
}

// built is the document that the updates of a create make from nothing.
func (c *Catalog) built(ctx context.Context, op string, id mounts.Identifier, commit *metadata.Commit) (*metadata.Document, error) {
	if err := c.mustBeFree(ctx, op, id, typeTable); err != nil {
		return nil, alreadyCreated(err)
	}
	location, err := c.locate(ctx, op, id, "")
	if err != nil {
		return nil, err
	}
	d, err := metadata.Build(commit.Updates, c.createOptions(location))
	if err != nil {
		return nil, err
	}
	return d, c.checkPlaces(d)
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
			p.done <- outcome{err: &mounts.Error{
				Kind: mounts.CommitFailed, Op: "updateTable", Name: id.String(),
				Detail: "Commit to {name} lost against concurrent changes too often; nothing was written",
			}}
		}
	}
	if len(again) > 0 {
		time.Sleep(jitter(again[0].losses))
	}
	return again
}

// link is one commit of a chain: what it made of the document before it.
type link struct {
	pending *pending
	file    *file // nil where the commit changed nothing
	// location is where the document lies that the commit is answered with.
	location string
	replayed bool  // whether its receipt was found to be there already
	err      error // the refusal, where there is one
}

// commitBatch carries out commits to one table in their order, each on the result of the
// one before, with one swap in the registry. It answers those that are decided and
// returns those that must start again from a new base.
func (c *Catalog) commitBatch(ctx context.Context, id mounts.Identifier, batch []*pending) (again []*pending) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	batch, again = begin(batch)
	p, r, err := c.table(ctx, "updateTable", id)
	if err != nil {
		answer(batch, err)
		return again
	}
	base, err := c.open(ctx, id, p.Metadata)
	if err != nil {
		answer(batch, err)
		return again
	}
	chain, rest := c.chain(p, base, batch)
	again = append(rest, again...)
	chain, failed := writeChain(ctx, chain)
	if len(failed) > 0 {
		c.discard(ctx, filesOf(failed)...)
		// The first is the one whose file could not be written: it is decided. Those
		// behind it stood on it and start again.
		failed[0].pending.done <- outcome{err: failed[0].err}
		again = append(pendingOf(failed[1:]), again...)
	}
	switch err := c.swap(ctx, id, p, r, chain); {
	case err == nil:
		c.acknowledge(ctx, id, p, chain)
	case errors.Is(err, errLost):
		c.discard(ctx, filesOf(chain)...)
		return append(c.lost(id, chain), again...)
	case mounts.Is(err, mounts.CommitStateUnknown):
		answer(pendingOf(chain), err)
	default:
		c.discard(ctx, filesOf(chain)...)
		answer(pendingOf(chain), err)
	}
	return again
}

// begin takes as many commits as one batch may hold and drops those whose clients have
// gone: nothing was done for them yet. A commit sent again while the first still waits
// must not share its batch: they would keep one receipt.
func begin(waiting []*pending) (batch, later []*pending) {
	receipts := map[Key]bool{}
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
func (c *Catalog) chain(p pointer, base *metadata.Document, batch []*pending) (chain []*link, rest []*pending) {
	current, location, size := base, p.Metadata, 0
	for i, waiting := range batch {
		if size > maxBatchBytes {
			return chain, batch[i:]
		}
		l := &link{pending: waiting}
		chain = append(chain, l)
		next, changed, err := c.apply(current, location, waiting.commit)
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

// apply checks one commit's requirements against a document and applies its updates.
func (c *Catalog) apply(d *metadata.Document, location string, commit *metadata.Commit) (*metadata.Document, bool, error) {
	if err := d.CheckRequirements(commit.Requirements); err != nil {
		if commit.AlreadyIn(d) {
			return nil, false, nil // sent again by a client that didn't hear the first answer
		}
		return nil, false, err
	}
	next, changed, err := d.Apply(commit.Updates, metadata.Options{Now: c.now(), MetadataLocation: location, FormatVersions: c.formats})
	if err != nil || !changed {
		return nil, false, err
	}
	return next, true, c.checkPlaces(next)
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
	for i, err := range errs {
		if err == nil {
			continue
		}
		chain[i].err = err
		if errors.Is(err, vend.ErrExists) {
			chain[i].file = nil // not our file
		}
		return chain[:i], chain[i:]
	}
	return chain, nil
}

// swap moves the pointer to the last document of the chain, if there is a new one, and
// keeps the receipts. errLost means that the base is no longer the base, or that a receipt
// was there already.
func (c *Catalog) swap(ctx context.Context, id mounts.Identifier, p pointer, r Record, chain []*link) error {
	var last *file
	var all changeset
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
		s, err := c.swapping(ctx, p, r, last)
		if err != nil {
			return err
		}
		all.add(s)
	}
	if len(all.changes) == 0 {
		return nil
	}
	err := c.registry.Commit(ctx, all.conditions, all.changes)
	return committed("updateTable", id.String(), err, func(lost *ConflictError) error {
		for _, l := range chain {
			l.replayed = l.pending.caller.Receipt != nil && lost.names(receiptKey(l.pending.caller))
		}
		return errLost
	})
}

// acknowledge answers a chain whose swap is durable: each commit with the document it
// made, a refusal with its error, and a commit that changed nothing with the document it
// found.
func (c *Catalog) acknowledge(ctx context.Context, id mounts.Identifier, base pointer, chain []*link) {
	var current *mounts.Table // nil while the base is still current
	for _, l := range chain {
		switch {
		case l.err != nil:
			l.pending.done <- outcome{err: l.err}
			continue
		case l.file != nil:
			current = c.keep(*l.file)
		case current == nil:
			current, l.err = c.asLoaded(ctx, id, base)
		}
		l.pending.done <- outcome{table: current, err: l.err}
	}
}

// asLoaded is the table that a pointer points to, its document at hand.
func (c *Catalog) asLoaded(ctx context.Context, id mounts.Identifier, p pointer) (*mounts.Table, error) {
	profile, l, err := c.storage.Find(p.Metadata)
	if err != nil {
		return nil, misplaced("updateTable", id, err)
	}
	d, err := c.document(ctx, profile, l)
	if err != nil {
		return nil, err
	}
	return tableOf(p.Metadata, profile.Name, d), nil
}

func filesOf(chain []*link) []file {
	var files []file
	for _, l := range chain {
		if l.file != nil {
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
