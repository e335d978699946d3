package router

import (
	"net/http"

	"piedmont/authz"
	"piedmont/mounts"
)

// No mount has views yet. Engines ask for them before every table, so the answers are the
// right ones for a catalog without any, and cost no look-up.

func (rt *Router) listViews(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := c.namespaceTarget(r)
	if err != nil {
		return err
	}
	if err := rt.mayList(c, authz.ListViews, t); err != nil {
		return err
	}
	if _, err := c.tree.LoadNamespace(r.Context(), c.identity.Caller, t); err != nil {
		return err
	}
	writeJSON(w, r, http.StatusOK, appendIdentifiers(nil, nil, nil, ""))
	return nil
}

// noSuchView answers every operation on one view.
func (rt *Router) noSuchView(_ http.ResponseWriter, r *http.Request, c *call) error {
	t, err := c.object(r, "view")
	if err != nil {
		return err
	}
	return &mounts.Error{Kind: mounts.NoSuchView, Op: c.operation, Name: t.Identifier().String()}
}

func (rt *Router) createView(w http.ResponseWriter, r *http.Request, c *call) error {
	var named nameOf
	if _, err := decode(w, r, &named); err != nil {
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
	return &mounts.Error{Kind: mounts.Unsupported, Op: c.operation, Name: t.Path.String(), Detail: "Views can't be created in '{name}': its mount has none"}
}
