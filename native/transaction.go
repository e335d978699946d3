package native

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"piedmont/mounts"
	"piedmont/native/metadata"
	"piedmont/vend"
)

// maxTransaction bounds the tables of one transaction.
const maxTransaction = 256

// part is one table's share of a transaction.
type part struct {
	catalog *Catalog
	target  mounts.Target
	commit  *metadata.Commit
	object  string // for a table that is created
	// base and next are the documents before and behind it; nil where it isn't changed, base
	// also where it is created.
	base, next *metadata.Document
	file       *file // nil where the table isn't changed
	moves      bool  // whether it comes to lie in a new place
}

// CommitTransaction changes several tables at once, also of several native mounts of one
// registry: all are checked before anything is written, and one registry commit moves all
// pointers or none. Errors carry the names of the tree.
func (c *Catalog) CommitTransaction(ctx context.Context, caller mounts.Caller, changes []mounts.TableChange) error {
	const op = "commitTransaction"
	parts, err := c.parts(op, changes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	return retry(ctx, op, "", func() error { return c.tryTransaction(ctx, op, caller, parts) })
}

// parts reads the changes and refuses those that can't be one transaction.
func (c *Catalog) parts(op string, changes []mounts.TableChange) ([]*part, error) {
	if len(changes) > maxTransaction {
		return nil, &mounts.Error{Kind: mounts.BadRequest, Op: op, Detail: "A transaction changes at most 256 tables"}
	}
	seen := map[Key]bool{}
	parts := make([]*part, len(changes))
	for i, change := range changes {
		name := change.Target.Identifier().String()
		catalog, ok := change.Target.Point.Mount.(*Catalog)
		if !ok || catalog.registry != c.registry {
			return nil, &mounts.Error{Kind: mounts.Forbidden, Op: op, Name: name, Detail: "Cannot change {name} in one transaction with the others: their mounts have no registry in common"}
		}
		key := objectKey(catalog.id, change.Target.Inner())
		if seen[key] {
			return nil, &mounts.Error{Kind: mounts.BadRequest, Op: op, Name: name, Detail: "The transaction changes {name} twice"}
		}
		seen[key] = true
		commit, err := metadata.ParseCommit(change.Body)
		if err != nil {
			return nil, about(name, err)
		}
		parts[i] = &part{catalog: catalog, target: change.Target, commit: commit, object: newObject()}
	}
	return parts, nil
}

// about says which of a transaction's tables an error is about, where it doesn't itself.
func about(name string, err error) error {
	var e *mounts.Error
	if !errors.As(err, &e) || e.Name != "" || e.Detail == "" {
		return err
	}
	named := *e
	named.Name, named.Detail = name, e.Detail+" (table {name})"
	return &named
}

// tryTransaction is one try, from reading all bases to the one registry commit. errLost
// means that a base moved meanwhile.
func (c *Catalog) tryTransaction(ctx context.Context, op string, caller mounts.Caller, parts []*part) error {
	var all changeset
	for _, p := range parts {
		s, err := p.prepare(ctx, op)
		if err != nil {
			return about(p.target.Identifier().String(), p.target.Restore(err))
		}
		all.add(s)
		if max(len(all.conditions), len(all.changes)) > MaxChanges-receiptChanges {
			return &mounts.Error{Kind: mounts.BadRequest, Op: op, Detail: fmt.Sprintf("The transaction needs more than the %d conditions or changes that one commit of the registry may have: split it", MaxChanges)}
		}
	}
	files, err := c.newFiles(op, parts)
	if err != nil {
		return err
	}
	if err := c.writeAll(ctx, files); err != nil {
		return err
	}
	err = c.commit(ctx, op, "", caller, all, receipt{}, func(lost *ConflictError) error { return transactionConflict(op, parts, lost) })
	switch {
	case err == nil:
		for _, p := range parts {
			if p.file != nil {
				p.catalog.keep(*p.file)
			}
			if p.base != nil {
				p.catalog.expire(ctx, *p.file, p.base, p.next)
			}
		}
	case !mounts.Is(err, mounts.CommitStateUnknown):
		c.discard(ctx, files...)
	}
	return err
}

// prepare checks the part against its base and says what it does to the registry. A part
// that changes nothing still asks that its base stays, since its requirements must hold
// at the same moment as the others'.
func (p *part) prepare(ctx context.Context, op string) (changeset, error) {
	c, id := p.catalog, p.target.Inner()
	p.file, p.base, p.next, p.moves = nil, nil, nil, true
	if p.commit.IsCreate() {
		d, err := c.built(ctx, op, id, p.commit)
		if err != nil {
			return changeset{}, err
		}
		f, err := c.name(d, "")
		if err != nil {
			return changeset{}, err
		}
		p.file = &f
		return c.entering(ctx, op, id, typeTable, p.object, d, f.location.Verbatim())
	}
	base, r, err := c.table(ctx, op, id)
	if err != nil {
		return changeset{}, err
	}
	d, err := c.base(ctx, id, base)
	if err != nil {
		return changeset{}, err
	}
	next, changed, err := c.apply(ctx, base, d, base.Metadata, p.commit)
	if err != nil {
		return changeset{}, err
	}
	if !changed {
		return changeset{conditions: []Condition{{Kind: AtVersion, Key: r.Key, Version: r.Version}}}, nil
	}
	f, err := c.name(next, base.Metadata)
	if err != nil {
		return changeset{}, err
	}
	p.base, p.next, p.file, p.moves = d, next, &f, next.Location() != base.Location
	return c.swapping(ctx, base, r, p.file)
}

// newFiles lists the files to write. Two tables of the transaction must not come to lie in
// one place; the registry's conditions only see tables that are there already.
func (c *Catalog) newFiles(op string, parts []*part) ([]file, error) {
	var files []file
	var places []vend.Location
	for _, p := range parts {
		if p.file == nil {
			continue
		}
		files = append(files, *p.file)
		if !p.moves {
			continue
		}
		l, err := vend.ParseLocation(p.file.document.Location())
		if err != nil {
			return nil, err
		}
		for _, other := range places {
			if l.Overlaps(other) {
				return nil, overlap(op, l)
			}
		}
		places = append(places, l)
	}
	return files, nil
}

// writeAll writes the files at once, and none if one can't be written.
func (c *Catalog) writeAll(ctx context.Context, files []file) error {
	var group errgroup.Group
	group.SetLimit(writersPerBatch)
	errs := make([]error, len(files))
	for i, f := range files {
		group.Go(func() error {
			errs[i] = f.write(ctx)
			return errs[i]
		})
	}
	err := group.Wait()
	if err == nil {
		return nil
	}
	for i, f := range files {
		if errs[i] == nil || !leavesNothing(errs[i]) {
			c.discard(ctx, f)
		}
	}
	return err
}

// transactionConflict: a table that came to be is final, so is a namespace that went;
// everything else is looked at again.
func transactionConflict(op string, parts []*part, lost *ConflictError) error {
	for _, f := range lost.Failures {
		for _, p := range parts {
			id := p.target.Inner()
			switch {
			case f.Condition.Kind == Absent && f.Condition.Key == objectKey(p.catalog.id, id):
				return alreadyCreated(taken(op, p.target.Identifier(), typeTable, *f.Found))
			case f.Condition.Kind == Exists && f.Condition.Key == namespaceKey(p.catalog.id, id.Namespace):
				return &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: p.target.Path.String()}
			}
		}
	}
	return errLost
}

// alreadyCreated gives the refusal of a taken name the words it has for a commit that
// asserts that its table doesn't exist: Java's clients know them. A view in the way keeps
// its own.
func alreadyCreated(err error) error {
	var e *mounts.Error
	if errors.As(err, &e) && e.Kind == mounts.AlreadyExists && e.Detail == tableExists {
		return &mounts.Error{Kind: e.Kind, Op: e.Op, Name: e.Name, Detail: "Requirement failed: table already exists: {name}"}
	}
	return err
}
