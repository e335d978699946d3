package router

import (
	"context"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"piedmont/authz"
	"piedmont/mounts"
)

// call is one request on its way: what was learned of it so far.
type call struct {
	operation string // the operationId
	commits   bool   // whether it may leave a commit in an unknown state
	requestID string
	identity  authz.Identity
	tree      *mounts.Tree
	warehouse mounts.Warehouse
	reading   reading
}

// param is a raw segment of the path.
func param(r *http.Request, name string) string { return chi.URLParam(r, name) }

// enter finds the view that the path's {prefix} names. On a route without one it is the
// whole tree; an empty one, as a doubled slash makes it, is a mistake.
func (rt *Router) enter(r *http.Request, c *call) error {
	c.reading = readingOf(r)
	if !slices.Contains(chi.RouteContext(r.Context()).URLParams.Keys, "prefix") {
		return nil
	}
	prefix, err := c.reading.segment(param(r, "prefix"))
	if err != nil {
		return err
	}
	if prefix == "" {
		return &mounts.Error{Kind: mounts.BadRequest, Op: c.operation, Detail: "Invalid path: the prefix is empty"}
	}
	c.warehouse, err = rt.view(r, c, prefix)
	return err
}

// view finds a warehouse. One that the caller may not see doesn't exist for them.
func (rt *Router) view(r *http.Request, c *call, name string) (mounts.Warehouse, error) {
	if p := c.tree.Point(name); p != nil {
		at, err := c.tree.Resolve(r.Context(), c.identity.Caller, p.At)
		if err != nil {
			return mounts.Warehouse{}, err
		}
		if !rt.visible(c, authz.NamespaceOf(at), at) {
			return mounts.Warehouse{}, &mounts.Error{Kind: mounts.NoSuchWarehouse, Op: c.operation, Name: name}
		}
	}
	return c.tree.Warehouse(name)
}

// namespaceTarget resolves the path's {namespace}.
func (c *call) namespaceTarget(r *http.Request) (mounts.Target, error) {
	n, err := c.reading.namespace(param(r, "namespace"))
	if err != nil {
		return mounts.Target{}, err
	}
	return c.tree.Resolve(r.Context(), c.identity.Caller, c.warehouse.Down(n))
}

// newTable resolves a name in the path's {namespace}.
func (c *call) newTable(r *http.Request, name string) (mounts.Target, error) {
	n, err := c.reading.namespace(param(r, "namespace"))
	if err != nil {
		return mounts.Target{}, err
	}
	return c.tableTarget(r, n.Table(name))
}

func (c *call) tableTarget(r *http.Request, id mounts.Identifier) (mounts.Target, error) {
	id.Namespace = c.warehouse.Down(id.Namespace)
	return c.tree.ResolveTable(r.Context(), c.identity.Caller, id)
}

// object resolves the path's {namespace} and the table or view in the segment named.
func (c *call) object(r *http.Request, segment string) (mounts.Target, error) {
	name, err := c.reading.segment(param(r, segment))
	if err != nil {
		return mounts.Target{}, err
	}
	return c.newTable(r, name)
}

// sort is one sort of objects: how a request's path names one, and how policies do.
type sort struct {
	resolve func(*call, *http.Request) (mounts.Target, error)
	object  func(mounts.Target) authz.Object
}

var (
	ofNamespace = sort{(*call).namespaceTarget, authz.NamespaceOf}
	ofTable     = sort{func(c *call, r *http.Request) (mounts.Target, error) { return c.object(r, "table") }, authz.TableOf}
	ofView      = sort{func(c *call, r *http.Request) (mounts.Target, error) { return c.object(r, "view") }, authz.ViewOf}
)

// authorized resolves the path's object and decides.
func (rt *Router) authorized(r *http.Request, c *call, of sort, action authz.Action) (mounts.Target, error) {
	t, err := of.resolve(c, r)
	if err != nil {
		return t, err
	}
	return t, rt.may(c, action, of.object(t), t)
}

// exists answers whether the path's object is there.
func (rt *Router) exists(w http.ResponseWriter, r *http.Request, c *call, of sort, action authz.Action, ask func(context.Context, mounts.Caller, mounts.Target) error) error {
	t, err := rt.authorized(r, c, of, action)
	if err != nil {
		return err
	}
	if err := ask(r.Context(), c.identity.Caller, t); err != nil {
		return err
	}
	return noContent(w)
}

// drop drops the path's object, once for each Idempotency-Key.
func (rt *Router) drop(w http.ResponseWriter, r *http.Request, c *call, of sort, action authz.Action, do func(context.Context, mounts.Caller, mounts.Target) error) error {
	t, err := rt.authorized(r, c, of, action)
	if err != nil {
		return err
	}
	if _, err = rt.once(r, c, t, nil, func() error { return do(r.Context(), c.identity.Caller, t) }); err != nil {
		return err
	}
	return noContent(w)
}

// may decides whether the caller may do that to the object. Who may not know that it
// exists hears that it doesn't; who may, that it is forbidden.
func (rt *Router) may(c *call, action authz.Action, o authz.Object, t mounts.Target) error {
	if rt.authorizer.Allowed(c.identity, action, o) {
		return nil
	}
	if rt.visible(c, o, t) {
		return forbidden(c, action, o)
	}
	return absent(c, o)
}

// mayCreate decides for an object that need not exist: a refusal says nothing of whether
// it does.
func (rt *Router) mayCreate(c *call, action authz.Action, o authz.Object) error {
	if rt.authorizer.Allowed(c.identity, action, o) {
		return nil
	}
	return forbidden(c, action, o)
}

// visible decides whether the caller may know that the object exists.
func (rt *Router) visible(c *call, o authz.Object, t mounts.Target) bool {
	return rt.leads(c, o, t) || rt.authorizer.Visible(c.identity, o)
}

// leads says whether the object is a place on the way to something that the caller may see:
// the root, a mount point, or what lies above one.
func (rt *Router) leads(c *call, o authz.Object, t mounts.Target) bool {
	if o.Type != authz.Namespace || t.Place == mounts.Inside && len(t.Path) > 0 {
		return false
	}
	return len(o.Path) == 0 || rt.authorizer.LeadsToVisible(c.identity, o)
}

// mayPass says whether the caller may list or read the object without a permit, as a place
// on the way to something else. An explicit forbid wins, but not over its being there.
func (rt *Router) mayPass(c *call, action authz.Action, o authz.Object, t mounts.Target) bool {
	return rt.leads(c, o, t) && (action == authz.NamespaceExists || !rt.authorizer.Forbidden(c.identity, action, o))
}

func forbidden(c *call, action authz.Action, o authz.Object) error {
	return &mounts.Error{
		Kind: mounts.Forbidden, Op: c.operation, Name: dotted(o),
		Detail: "Forbidden: " + c.identity.Caller.Principal + " may not " + string(action) + " on {name}",
	}
}

func absent(c *call, o authz.Object) error {
	kinds := map[authz.Type]mounts.Kind{authz.Namespace: mounts.NoSuchNamespace, authz.Table: mounts.NoSuchTable, authz.View: mounts.NoSuchView}
	return &mounts.Error{Kind: kinds[o.Type], Op: c.operation, Name: dotted(o)}
}

func dotted(o authz.Object) string {
	if o.Type == authz.Namespace {
		return o.Path.String()
	}
	return o.Path.Table(o.Name).String()
}
