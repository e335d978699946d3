package router

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"piedmont/authz"
	"piedmont/mounts"
)

const (
	// defaultPage is how many entries a page has where the client names no size.
	defaultPage = 1000
	// maxPage bounds a page, whatever the client asks for.
	maxPage = 10_000
	// maxSkipped bounds the entries that one page passes over because the caller may not
	// see them. The page then ends early, perhaps empty, with a token to go on.
	maxSkipped = 50_000
)

// pages says what part of a list is asked for. Without a pageToken the answer is
// everything, even with a pageSize: a client that doesn't know pages would miss the rest.
type pages struct {
	all   bool
	size  int
	token string
	bound []byte
}

func (rt *Router) pagesOf(r *http.Request, c *call, of mounts.Namespace) (pages, error) {
	q := r.URL.Query()
	p := pages{all: !q.Has("pageToken"), size: defaultPage, bound: listing(c, of)}
	if s := q.Get("pageSize"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return p, &mounts.Error{Kind: mounts.BadRequest, Op: c.operation, Detail: "Invalid pageSize: want a whole number of 1 or more"}
		}
		p.size = min(n, maxPage)
	}
	var err error
	p.token, err = rt.pages.open(q.Get("pageToken"), p.bound)
	return p, err
}

// collect gathers a page, or everything, of a list of which the caller sees a part. fetch
// returns what it sees of the next entries and how many there were.
func (p pages) collect(ctx context.Context, fetch func(context.Context, mounts.Page) (seen, read int, next string, err error)) (next string, err error) {
	token, got, skipped := p.token, 0, 0
	for {
		page := mounts.Page{Token: token}
		if !p.all {
			page.Size = p.size - got
		}
		seen, read, next, err := fetch(ctx, page)
		if err != nil {
			return "", err
		}
		got, skipped = got+seen, skipped+read-seen
		if next == "" || !p.all && (got >= p.size || skipped >= maxSkipped) {
			return next, nil
		}
		if next == token {
			return "", &mounts.Error{Kind: mounts.BadGateway, Detail: "The catalog's list doesn't end: it answered the same page token twice"}
		}
		if err := ctx.Err(); err != nil {
			return "", &mounts.Error{Kind: mounts.Timeout, Err: err}
		}
		token = next
	}
}

func (rt *Router) listNamespaces(w http.ResponseWriter, r *http.Request, c *call) error {
	under, err := c.reading.parent(r.URL.Query().Get("parent"))
	if err != nil {
		return err
	}
	parent, err := c.tree.Resolve(r.Context(), c.identity.Caller, c.warehouse.Down(under))
	if err != nil {
		return err
	}
	if err := rt.mayList(c, authz.ListNamespaces, parent); err != nil {
		return err
	}
	p, err := rt.pagesOf(r, c, parent.Path)
	if err != nil {
		return err
	}
	var shown []mounts.Namespace
	next, err := p.collect(r.Context(), func(ctx context.Context, page mounts.Page) (int, int, string, error) {
		names, next, err := c.tree.ListNamespaces(ctx, c.identity.Caller, parent, page)
		if err != nil {
			return 0, 0, "", err
		}
		seen := rt.visibleNamespaces(ctx, c, parent, names)
		for _, n := range seen {
			shown = append(shown, c.warehouse.Up(n))
		}
		return len(seen), len(names), next, nil
	})
	if err != nil {
		return err
	}
	writeList(w, r, func(dst []byte) []byte { return appendNamespaces(dst, shown, rt.pages.seal(next, p.bound)) })
	return nil
}

// mayList decides whether a namespace may be listed. Where a mount point lies at or below
// it, whoever sees anything below may list, and gets what they see, unless a policy forbids
// just that.
func (rt *Router) mayList(c *call, action authz.Action, t mounts.Target) error {
	o := authz.NamespaceOf(t)
	if rt.mayPass(c, action, o, t) {
		return nil
	}
	return rt.may(c, action, o, t)
}

func (rt *Router) visibleNamespaces(ctx context.Context, c *call, parent mounts.Target, names []mounts.Namespace) []mounts.Namespace {
	levels := make([]string, len(names))
	for i, n := range names {
		levels[i] = n.Last()
	}
	plain := rt.authorizer.VisibleChildren(c.identity, authz.NamespaceOf(parent), authz.Namespace, levels)
	seen := names[:0]
	for i, n := range names {
		visible := false
		if parent.LeadsToMount(levels[i]) {
			t, err := c.tree.Resolve(ctx, c.identity.Caller, n)
			visible = err == nil && rt.visible(c, authz.NamespaceOf(t), t)
		} else {
			visible = plain(i)
		}
		if visible {
			seen = append(seen, n)
		}
	}
	return seen
}

func (rt *Router) listTables(w http.ResponseWriter, r *http.Request, c *call) error {
	return rt.listObjects(w, r, c, authz.ListTables, authz.Table, func(ctx context.Context, t mounts.Target, p mounts.Page) ([]mounts.Identifier, string, error) {
		return c.tree.ListTables(ctx, c.identity.Caller, t, p)
	})
}

// lister lists tables or views of a namespace of the tree.
type lister func(ctx context.Context, t mounts.Target, p mounts.Page) ([]mounts.Identifier, string, error)

// listObjects answers with the tables or views of the path's namespace that the caller may see.
func (rt *Router) listObjects(w http.ResponseWriter, r *http.Request, c *call, action authz.Action, typ authz.Type, list lister) error {
	t, err := c.namespaceTarget(r)
	if err != nil {
		return err
	}
	if err := rt.mayList(c, action, t); err != nil {
		return err
	}
	p, err := rt.pagesOf(r, c, t.Path)
	if err != nil {
		return err
	}
	var shown []string
	next, err := p.collect(r.Context(), func(ctx context.Context, page mounts.Page) (int, int, string, error) {
		objects, next, err := list(ctx, t, page)
		if err != nil {
			return 0, 0, "", err
		}
		from := len(shown)
		shown = rt.appendVisible(shown, c, t, typ, objects)
		return len(shown) - from, len(objects), next, nil
	})
	if err != nil {
		return err
	}
	writeList(w, r, func(dst []byte) []byte {
		return appendIdentifiers(dst, c.warehouse.Up(t.Path), shown, rt.pages.seal(next, p.bound))
	})
	return nil
}

// appendVisible appends the names of those objects of a namespace that the caller may see.
func (rt *Router) appendVisible(shown []string, c *call, in mounts.Target, typ authz.Type, objects []mounts.Identifier) []string {
	kept := len(shown)
	shown = slices.Grow(shown, len(objects))
	for _, id := range objects {
		shown = append(shown, id.Name)
	}
	names := shown[kept:]
	visible := rt.authorizer.VisibleChildren(c.identity, authz.NamespaceOf(in), typ, names)
	for i, name := range names {
		if visible(i) {
			shown[kept] = name
			kept++
		}
	}
	return shown[:kept]
}
