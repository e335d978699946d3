package native

import (
	"context"

	"github.com/google/uuid"

	"piedmont/mounts"
	"piedmont/native/metadata"
)

// ViewExists reads the pointer only.
func (c *Catalog) ViewExists(ctx context.Context, _ mounts.Caller, id mounts.Identifier) error {
	_, _, err := c.object(ctx, "viewExists", id, typeView)
	return err
}

// LoadView reads the pointer from the registry; the document comes from the cache.
func (c *Catalog) LoadView(ctx context.Context, _ mounts.Caller, id mounts.Identifier) (*mounts.View, error) {
	p, _, err := c.object(ctx, "loadView", id, typeView)
	if err != nil {
		return nil, err
	}
	return asView(c.asLoaded(ctx, id, p))
}

// asView is a view of what was loaded as any other document.
func asView(t *mounts.Table, err error) (*mounts.View, error) {
	if err != nil {
		return nil, err
	}
	return (*mounts.View)(t), nil
}

// CreateView creates a view. Its name must be free of tables too.
func (c *Catalog) CreateView(ctx context.Context, caller mounts.Caller, id mounts.Identifier, body []byte) (*mounts.View, error) {
	const op = "createView"
	request, err := metadata.ParseCreateView(body)
	if err != nil {
		return nil, err
	}
	if err := c.mustBeFree(ctx, op, id, typeView); err != nil {
		return nil, err
	}
	unique := uuid.New()
	location, err := c.locate(ctx, op, id, request.Location, unique)
	if err != nil {
		return nil, err
	}
	d, err := metadata.NewView(request, metadata.ViewOptions{Now: c.now(), UUID: unique.String(), Location: location})
	if err != nil {
		return nil, err
	}
	if err := c.checkNewViewPlaces(ctx, op, d, nil); err != nil {
		return nil, err
	}
	return asView(c.create(ctx, op, id, typeView, caller, d))
}

// RegisterView enters an existing metadata file as a view. Its uuid is kept.
func (c *Catalog) RegisterView(ctx context.Context, caller mounts.Caller, id mounts.Identifier, location string) (*mounts.View, error) {
	const op = "registerView"
	profile, l, err := c.storage.Find(location)
	if err != nil {
		return nil, err
	}
	if err := c.mustBeFree(ctx, op, id, typeView); err != nil {
		return nil, err
	}
	raw, err := c.document(ctx, profile, l)
	if err != nil {
		return nil, registerError(err)
	}
	d, err := metadata.ParseView(raw.Raw())
	if err == nil {
		err = d.Validate()
	}
	if err == nil {
		err = c.checkNewViewPlaces(ctx, op, d, nil)
	}
	if err != nil {
		return nil, err
	}
	if err := c.enter(ctx, op, id, typeView, caller, d, l.Verbatim()); err != nil {
		return nil, err
	}
	return asView(tableOf(l.Verbatim(), profile.Name, raw), nil)
}

// ReplaceView applies a commit to a view. Views change seldom, so nothing queues: a commit
// that lost the swap starts again from the new base.
func (c *Catalog) ReplaceView(ctx context.Context, caller mounts.Caller, id mounts.Identifier, body []byte) (*mounts.View, error) {
	const op = "replaceView"
	commit, err := metadata.ParseViewCommit(body)
	if err != nil {
		return nil, err
	}
	var done *mounts.Table
	err = retry(ctx, op, id.String(), func() (err error) {
		done, err = c.tryReplace(ctx, op, caller, id, commit)
		return err
	})
	return asView(done, err)
}

// tryReplace is one try, from reading the base to the swap.
func (c *Catalog) tryReplace(ctx context.Context, op string, caller mounts.Caller, id mounts.Identifier, commit *metadata.ViewCommit) (*mounts.Table, error) {
	p, r, err := c.object(ctx, op, id, typeView)
	if err != nil {
		return nil, err
	}
	base, err := c.asLoaded(ctx, id, p)
	if err != nil {
		return nil, err
	}
	next, err := c.applyToView(ctx, base, commit)
	if err != nil {
		return nil, err
	}
	lost := func(*ConflictError) error { return errLost }
	if next == nil {
		if caller.Receipt == nil {
			return base, nil
		}
		return base, c.commit(ctx, op, id.String(), caller, changeset{}, receipt{MetadataLocation: p.Metadata}, lost)
	}
	f, err := c.name(next, p.Metadata)
	if err != nil {
		return nil, err
	}
	if err := c.writeAll(ctx, []file{f}); err != nil {
		return nil, err
	}
	s, err := c.swapping(ctx, p, r, &f)
	if err == nil {
		err = c.commit(ctx, op, id.String(), caller, s, receipt{MetadataLocation: f.location.Verbatim()}, lost)
	}
	if err == nil {
		return c.keep(f), nil
	}
	if !mounts.Is(err, mounts.CommitStateUnknown) {
		c.discard(ctx, f)
	}
	return nil, err
}

// viewOf is the document of a view as one that updates can be applied to.
func viewOf(ctx context.Context, base *mounts.Table) (*metadata.ViewDocument, error) {
	raw, err := base.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	d, err := metadata.ParseView(raw.Raw())
	if err != nil {
		return nil, &mounts.Error{Kind: mounts.Internal, Op: "replaceView", Detail: "Not a view's metadata: " + base.MetadataLocation, Err: err}
	}
	return d, nil
}

// applyToView is the document that a commit makes of a view, nil where it changes nothing.
func (c *Catalog) applyToView(ctx context.Context, base *mounts.Table, commit *metadata.ViewCommit) (*metadata.ViewDocument, error) {
	d, err := viewOf(ctx, base)
	if err != nil {
		return nil, err
	}
	if err := d.CheckRequirements(commit.Requirements); err != nil {
		return nil, err
	}
	next, changed, err := d.Apply(commit.Updates, metadata.ViewOptions{Now: c.now()})
	if err != nil || !changed {
		return nil, err
	}
	return next, c.checkNewViewPlaces(ctx, "replaceView", next, d)
}

// DropView takes the view out of the registry. Its metadata stays.
func (c *Catalog) DropView(ctx context.Context, caller mounts.Caller, id mounts.Identifier) error {
	const op = "dropView"
	return retry(ctx, op, id.String(), func() error {
		p, r, err := c.object(ctx, op, id, typeView)
		if err != nil {
			return err
		}
		return c.forget(ctx, op, id, caller, p, r, changeset{})
	})
}

// RenameView moves a view's name as RenameTable moves a table's.
func (c *Catalog) RenameView(ctx context.Context, caller mounts.Caller, from, to mounts.Target) error {
	return c.rename(ctx, "renameView", typeView, caller, from, to)
}
