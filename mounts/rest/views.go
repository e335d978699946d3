package rest

import (
	"context"
	"errors"
	"net/http"

	"piedmont/mounts"
)

// errNoViews: the upstream has no views at all.
var errNoViews = errors.New("the upstream has no views")

// ListViews lists the views of a namespace, as ListTables does. Of an upstream without
// views the list is empty where the namespace exists.
func (c *Catalog) ListViews(ctx context.Context, _ mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	return c.listedObjects(ctx, "listViews", n, p, c.views)
}

func (c *Catalog) views(ctx context.Context, n mounts.Namespace, p mounts.Page) (l page, err error) {
	s, err := c.settings(ctx)
	if err != nil {
		return l, err
	}
	if err = errNoViews; s.offers[listViews] || s.silent {
		l, err = c.identifiers(ctx, s, n, p, s.views(n))
		err = c.noticed(c.aboutViews(s, err))
	}
	if errors.Is(err, errNoViews) && s.offers[loadNamespace] {
		_, err = c.properties(ctx, s, n)
	}
	if errors.Is(err, errNoViews) {
		err = nil
	}
	return l, err
}

// LoadView is LoadTable for views. An upstream that has none isn't asked.
func (c *Catalog) LoadView(ctx context.Context, caller mounts.Caller, id mounts.Identifier) (*mounts.View, error) {
	const op = "loadView"
	began := c.now()
	what := object{id: id, form: view}
	e, err := c.entry(ctx, op, what, caller.NoCache)
	if err != nil {
		return nil, c.failObject(op, what, err)
	}
	return (*mounts.View)(c.table(e, began)), nil
}

// ViewExists is TableExists for views.
func (c *Catalog) ViewExists(ctx context.Context, caller mounts.Caller, id mounts.Identifier) error {
	return c.exists(ctx, caller, "viewExists", object{id: id, form: view}, viewExists)
}

// aboutViews turns the error of a question about views into errNoViews where a silent
// upstream says that it doesn't know the route. By the spec such an upstream has no views,
// but some have (SeaweedFS 4.48); once one has answered as if, a 404 of a route is what it is
// elsewhere: no absence.
func (c *Catalog) aboutViews(s *settings, err error) error {
	if !s.silent {
		return err
	}
	refused, ok := err.(*statusError) //nolint:errorlint // a wrapped one is about a token
	switch {
	case err == nil || absent(err, typeNoView):
		c.hasViews.Store(true)
	case !ok || c.hasViews.Load():
	case untypedMissing(err), refused.status == http.StatusMethodNotAllowed, refused.status == http.StatusNotAcceptable, refused.status == http.StatusNotImplemented:
		return errNoViews
	}
	return err
}
