package router

import (
	"context"
	"net/http"

	"piedmont/authz"
	"piedmont/mounts"
)

func (rt *Router) listViews(w http.ResponseWriter, r *http.Request, c *call) error {
	return rt.listObjects(w, r, c, authz.ListViews, authz.View, func(ctx context.Context, t mounts.Target, p mounts.Page) ([]mounts.Identifier, string, error) {
		return c.tree.ListViews(ctx, c.identity.Caller, t, p)
	})
}

func (rt *Router) loadView(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := rt.authorized(r, c, ofView, authz.LoadView)
	if err != nil {
		return err
	}
	view, err := c.tree.LoadView(r.Context(), c.identity.Caller, t)
	if err != nil {
		return err
	}
	return rt.answerView(w, r, view)
}

// answerView writes a LoadViewResult.
func (rt *Router) answerView(w http.ResponseWriter, r *http.Request, v *mounts.View) error {
	return rt.answerTable(w, r, (*mounts.Table)(v), withConfig)
}

func (rt *Router) viewExists(w http.ResponseWriter, r *http.Request, c *call) error {
	return rt.exists(w, r, c, ofView, authz.ViewExists, c.tree.ViewExists)
}

func (rt *Router) createView(w http.ResponseWriter, r *http.Request, c *call) error {
	var named nameOf
	b, err := decode(w, r, &named)
	if err != nil {
		return err
	}
	if named.Name == "" {
		return missing("name")
	}
	t, err := c.newTable(r, named.Name)
	if err != nil {
		return err
	}
	if err := rt.mayCreate(c, authz.CreateView, authz.ViewOf(t)); err != nil {
		return err
	}
	return rt.changeView(w, r, c, t, b, func() (*mounts.View, error) {
		return c.tree.CreateView(r.Context(), c.identity.Caller, t, b)
	})
}

func (rt *Router) registerView(w http.ResponseWriter, r *http.Request, c *call) error {
	var request registerTableRequest
	b, err := decode(w, r, &request)
	switch {
	case err != nil:
		return err
	case request.Name == "":
		return missing("name")
	case request.MetadataLocation == "":
		return missing("metadata-location")
	}
	t, err := c.newTable(r, request.Name)
	if err != nil {
		return err
	}
	if err := rt.mayCreate(c, authz.RegisterView, authz.ViewOf(t)); err != nil {
		return err
	}
	return rt.changeView(w, r, c, t, b, func() (*mounts.View, error) {
		return c.tree.RegisterView(r.Context(), c.identity.Caller, t, request.MetadataLocation)
	})
}

func (rt *Router) replaceView(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := rt.authorized(r, c, ofView, authz.ReplaceView)
	if err != nil {
		return err
	}
	b, err := body(w, r)
	if err != nil {
		return err
	}
	return rt.changeView(w, r, c, t, b, func() (*mounts.View, error) {
		return c.tree.ReplaceView(r.Context(), c.identity.Caller, t, b)
	})
}

// changeView carries out a change of a view once for each Idempotency-Key, and answers
// with the view.
func (rt *Router) changeView(w http.ResponseWriter, r *http.Request, c *call, t mounts.Target, b []byte, do func() (*mounts.View, error)) error {
	view, err := rt.onceTable(r, c, t, b, func() (*mounts.Table, error) {
		v, err := do()
		return (*mounts.Table)(v), err
	})
	if err != nil {
		return err
	}
	return rt.answerView(w, r, (*mounts.View)(view))
}

func (rt *Router) dropView(w http.ResponseWriter, r *http.Request, c *call) error {
	return rt.drop(w, r, c, ofView, authz.DropView, c.tree.DropView)
}

func (rt *Router) renameView(w http.ResponseWriter, r *http.Request, c *call) error {
	return rt.rename(w, r, c, authz.RenameView, authz.ViewOf, func(from, to mounts.Target) error {
		return c.tree.RenameView(r.Context(), c.identity.Caller, from, to)
	})
}
