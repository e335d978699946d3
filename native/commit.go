package native

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/native/metadata"
)

// commitTimeout is how long a commit waits for its turn, lost swaps included: behind that
// it is 503, since nothing was done for it. A batch whose turn has come has that long for
// what comes before its registry commit, storage included, and isn't stopped when its
// clients go away. The registry commit itself is waited out, and nothing but answers
// follows it.
const commitTimeout = 60 * time.Second

// CommitTable queues a commit. See DESIGN.md for the protocol.
func (c *Catalog) CommitTable(ctx context.Context, caller mounts.Caller, id mounts.Identifier, body []byte) (*mounts.Table, error) {
	commit, err := metadata.ParseCommit(body)
	if err != nil {
		return nil, err
	}
	if commit.IsCreate() {
		return c.commitCreate(ctx, id, caller, commit)
	}
	p := &pending{ctx: ctx, caller: caller, commit: commit, done: make(chan outcome, 1), until: time.Now().Add(c.patience)}
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
	unique := uuid.New()
	location, err := c.locate(ctx, op, id, "", unique)
	if err != nil {
		return nil, err
	}
	d, err := metadata.Build(commit.Updates, c.createOptions(location, unique))
	if err != nil {
		return nil, err
	}
	return d, c.checkNewPlaces(ctx, op, d, nil, "")
}

// commitBatch carries out commits to one table in their order, each on the result of the
// one before, with one swap in the registry. It answers those that are decided and
// returns those that must start again from a new base.
func (c *Catalog) commitBatch(ctx context.Context, id mounts.Identifier, batch []*pending) (again []*pending) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.patience)
	defer cancel()
	batch, again = begin(batch)
	h, err := c.head(ctx, id)
	if err != nil {
		answer(batch, err)
		return again
	}
	done, stale := c.commitOn(ctx, id, h, batch)
	if stale {
		if h, err = c.readHead(ctx, id); err != nil {
			answer(batch, err)
			return again
		}
		done, _ = c.commitOn(ctx, id, h, batch)
	}
	return append(done, again...)
}

// commitOn is commitBatch on a head. stale says that the head was a remembered one and that
// something came up which must not be answered by it: then nobody was answered, nothing
// was changed and no file is left, and the batch is to begin with what the registry says.
func (c *Catalog) commitOn(ctx context.Context, id mounts.Identifier, h head, batch []*pending) (again []*pending, stale bool) {
	p := h.pointer
	base, err := c.base(ctx, id, p)
	if err != nil {
		if h.remembered {
			return nil, true
		}
		answer(batch, err)
		return nil, false
	}
	chain, again := c.chain(ctx, p, base, batch)
	if h.remembered && len(filesOf(chain)) == 0 {
		return nil, true // no swap would tell whether the head is still the head
	}
	chain, failed := writeChain(ctx, chain)
	if h.remembered && len(failed) > 0 {
		c.discard(ctx, filesOf(append(chain, failed...))...)
		return nil, true
	}
	again = append(c.unwritten(ctx, chain, failed), again...)
	switch err := c.swap(ctx, id, h, chain); {
	case err == nil:
		c.acknowledge(ctx, id, p, chain)
		c.expireBehind(ctx, base, chain)
	case mounts.Is(err, mounts.CommitStateUnknown):
		answer(pendingOf(chain), err)
	case mounts.Is(err, mounts.Unavailable): // that says nothing of the table
		answer(pendingOf(chain), err)
		c.discard(ctx, filesOf(chain)...)
	case h.remembered:
		c.discard(ctx, filesOf(chain)...)
		if errors.Is(err, errLost) && !slices.ContainsFunc(chain, func(l *link) bool { return l.replayed }) {
			c.contend(h)
		}
		return nil, true
	case errors.Is(err, errLost):
		c.discard(ctx, filesOf(chain)...)
		return append(c.lost(id, chain), again...), false
	default:
		answer(pendingOf(chain), err)
		c.discard(ctx, filesOf(chain)...)
	}
	return again, false
}

// apply checks one commit's requirements against a document of the pointer's table and
// applies its updates.
func (c *Catalog) apply(ctx context.Context, p pointer, d *metadata.Document, location string, commit *metadata.Commit) (*metadata.Document, bool, error) {
	var next *metadata.Document
	changed := false
	err := d.CheckRequirements(commit.Requirements)
	if err == nil {
		next, changed, err = d.Apply(commit.Updates, metadata.Options{Now: c.now(), MetadataLocation: location, FormatVersions: c.formats})
	}
	if err != nil && commit.AlreadyIn(d) {
		return nil, false, nil // sent again by a client that didn't hear the first answer
	}
	if err != nil || !changed {
		return nil, false, err
	}
	return next, true, c.checkNewPlaces(ctx, "updateTable", next, d, c.placeKey(kindLocation, p))
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
			current, l.err = c.found(ctx, id, base)
		}
		l.pending.done <- outcome{table: current, err: l.err}
	}
}

// expireBehind is expire for a chain whose swap is durable.
func (c *Catalog) expireBehind(ctx context.Context, base *metadata.Document, chain []*link) {
	documents := []*metadata.Document{base}
	files := filesOf(chain)
	for _, f := range files {
		if d, ok := f.document.(*metadata.Document); ok {
			documents = append(documents, d)
		}
	}
	if len(files) > 0 {
		c.expire(ctx, files[len(files)-1], documents...)
	}
}

// found is the table that a commit is answered with that changed nothing. Perhaps it was
// carried out before, so nothing that fails here may look like a refusal.
func (c *Catalog) found(ctx context.Context, id mounts.Identifier, p pointer) (*mounts.Table, error) {
	table, err := c.asLoaded(ctx, id, p)
	return table, unreadable(id, err)
}

// unreadable is the error of a change that was applied, but whose document can't be read.
func unreadable(id mounts.Identifier, err error) error {
	if err == nil {
		return nil
	}
	return &mounts.Error{
		Kind: mounts.CommitStateUnknown, Op: "updateTable", Name: id.String(),
		Detail: "The change was applied, but the metadata that it made can't be read right now", Err: err,
	}
}

// asLoaded is the table that a pointer points to, its document at hand.
func (c *Catalog) asLoaded(ctx context.Context, id mounts.Identifier, p pointer) (*mounts.Table, error) {
	table, d, err := c.lyingAt(ctx, id, p.Metadata)
	if err != nil {
		return nil, err
	}
	return table, c.checkOwn(id, p, d)
}

// lyingAt is the table that a metadata file holds, whichever that is.
func (c *Catalog) lyingAt(ctx context.Context, id mounts.Identifier, location string) (*mounts.Table, *cache.Document, error) {
	profile, l, err := c.storage.Find(location)
	if err != nil {
		return nil, nil, misplaced("updateTable", id, err)
	}
	d, err := c.document(ctx, profile, l)
	if err != nil {
		return nil, nil, err
	}
	return tableOf(location, profile.Name, d), d, nil
}
