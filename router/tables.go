package router

import (
	"context"
	"net/http"
	"strings"

	"piedmont/authz"
	"piedmont/cache/rawjson"
	"piedmont/mounts"
)

// nameOf reads only the name of a request that creates an object; the mount reads the rest.
type nameOf struct {
	Name string `json:"name"`
}

func (rt *Router) createTable(w http.ResponseWriter, r *http.Request, c *call) error {
	b, err := body(w, r)
	if err != nil {
		return err
	}
	var named nameOf
	if err := unmarshal(b, &named); err != nil {
		return err
	}
	if named.Name == "" {
		return missing("name")
	}
	t, err := c.newTable(r, named.Name)
	if err != nil {
		return err
	}
	if err := rt.mayCreate(c, authz.CreateTable, authz.TableOf(t)); err != nil {
		return err
	}
	table, err := rt.onceTable(r, c, t, b, func() (*mounts.Table, error) {
		return c.tree.CreateTable(r.Context(), c.identity.Caller, t, b)
	})
	if err != nil {
		return err
	}
	return rt.answerTable(w, r, table, withConfig)
}

type registerTableRequest struct {
	Name             string `json:"name"`
	MetadataLocation string `json:"metadata-location"`
	Overwrite        bool   `json:"overwrite"`
}

func (rt *Router) registerTable(w http.ResponseWriter, r *http.Request, c *call) error {
	var request registerTableRequest
	b, err := decode(w, r, &request)
	if err != nil {
		return err
	}
	switch {
	case request.Name == "":
		return missing("name")
	case request.MetadataLocation == "":
		return missing("metadata-location")
	}
	t, err := c.newTable(r, request.Name)
	if err != nil {
		return err
	}
	if err := rt.mayCreate(c, authz.RegisterTable, authz.TableOf(t)); err != nil {
		return err
	}
	// To overwrite a table is to update it. Who may not still registers where there is none,
	// which the mount decides: a look beforehand could be out of date.
	denied := rt.mayCreate(c, authz.UpdateTable, authz.TableOf(t))
	table, err := rt.onceTable(r, c, t, b, func() (*mounts.Table, error) {
		table, err := c.tree.RegisterTable(r.Context(), c.identity.Caller, t, mounts.RegisterRequest{
			MetadataLocation: request.MetadataLocation, Overwrite: request.Overwrite && denied == nil,
		})
		if request.Overwrite && denied != nil && mounts.Is(err, mounts.AlreadyExists) {
			return nil, denied
		}
		return table, err
	})
	if err != nil {
		return err
	}
	return rt.answerTable(w, r, table, withConfig)
}

func (rt *Router) updateTable(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := c.object(r, "table")
	if err != nil {
		return err
	}
	b, err := body(w, r)
	if err != nil {
		return err
	}
	if err := rt.mayCommit(c, t, b); err != nil {
		return err
	}
	table, err := rt.onceTable(r, c, t, b, func() (*mounts.Table, error) {
		return c.tree.CommitTable(r.Context(), c.identity.Caller, t, b)
	})
	if err != nil {
		return err
	}
	return rt.answerTable(w, r, table, withoutConfig)
}

// mayCommit decides for a commit. One that asserts that the table doesn't exist creates it.
func (rt *Router) mayCommit(c *call, t mounts.Target, b []byte) error {
	creates, err := assertsCreate(b)
	if err != nil {
		return err
	}
	if creates {
		return rt.mayCreate(c, authz.CreateTable, authz.TableOf(t))
	}
	return rt.may(c, authz.UpdateTable, authz.TableOf(t), t)
}

// assertsCreate reads the requirements as the mount will: a key spelled with other capitals
// is another key, and one that stands twice is refused, or one permission could be checked
// for what another is needed for.
func assertsCreate(b []byte) (bool, error) {
	malformed := func(err error) error {
		return &mounts.Error{Kind: mounts.BadRequest, Detail: "Malformed request body: requirements must be a list of objects with a type", Err: err}
	}
	raw, ok, err := rawjson.Member(b, "requirements")
	switch {
	case err != nil:
		return false, malformed(err)
	case !ok || rawjson.IsNull(raw):
		return false, nil
	}
	requirements, err := rawjson.Elements(raw)
	if err != nil {
		return false, malformed(err)
	}
	creates := false
	for _, q := range requirements {
		raw, _, err := rawjson.Member(q, "type")
		if err != nil {
			return false, malformed(err)
		}
		typ, _ := rawjson.String(raw)
		creates = creates || typ == "assert-create"
	}
	return creates, nil
}

func (rt *Router) tableExists(w http.ResponseWriter, r *http.Request, c *call) error {
	return rt.exists(w, r, c, ofTable, authz.TableExists, c.tree.TableExists)
}

func (rt *Router) unregisterTable(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := rt.authorized(r, c, ofTable, authz.UnregisterTable)
	if err != nil {
		return err
	}
	table, err := rt.onceTable(r, c, t, nil, func() (*mounts.Table, error) {
		return c.tree.UnregisterTable(r.Context(), c.identity.Caller, t)
	})
	if err != nil {
		return err
	}
	return rt.answerTable(w, r, table, withoutConfig)
}

func (rt *Router) dropTable(w http.ResponseWriter, r *http.Request, c *call) error {
	purge := strings.EqualFold(r.URL.Query().Get("purgeRequested"), "true") // PyIceberg sends "True"
	return rt.drop(w, r, c, ofTable, authz.DropTable, func(ctx context.Context, caller mounts.Caller, t mounts.Target) error {
		return c.tree.DropTable(ctx, caller, t, purge)
	})
}

type renameRequest struct {
	Source      *wireIdentifier `json:"source"`
	Destination *wireIdentifier `json:"destination"`
}

func (rt *Router) renameTable(w http.ResponseWriter, r *http.Request, c *call) error {
	return rt.rename(w, r, c, authz.RenameTable, authz.TableOf, func(from, to mounts.Target) error {
		return c.tree.RenameTable(r.Context(), c.identity.Caller, from, to)
	})
}

// rename moves a table or view. It must be allowed for both names.
func (rt *Router) rename(w http.ResponseWriter, r *http.Request, c *call, action authz.Action, object func(mounts.Target) authz.Object, do func(from, to mounts.Target) error) error {
	var request renameRequest
	b, err := decode(w, r, &request)
	if err != nil {
		return err
	}
	from, err := c.named(r, request.Source, "source")
	if err != nil {
		return err
	}
	to, err := c.named(r, request.Destination, "destination")
	if err != nil {
		return err
	}
	if err := rt.may(c, action, object(from), from); err != nil {
		return err
	}
	if err := rt.mayCreate(c, action, object(to)); err != nil {
		return err
	}
	if _, err := rt.once(r, c, from, b, func() error { return do(from, to) }); err != nil {
		return err
	}
	return noContent(w)
}

// named resolves the identifier in a member of a body.
func (c *call) named(r *http.Request, i *wireIdentifier, member string) (mounts.Target, error) {
	id, err := i.identifier(member)
	if err != nil {
		return mounts.Target{}, err
	}
	return c.tableTarget(r, id)
}

// reportMetrics accepts any report about a table the caller may read. Clients send one
// after each scan and commit, so a mount is asked for the table only where that is cheap:
// where it is one that we write ourselves.
func (rt *Router) reportMetrics(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := rt.authorized(r, c, ofTable, authz.ReportMetrics)
	if err != nil {
		return err
	}
	if _, err := body(w, r); err != nil {
		return err
	}
	if t.Point == nil || can[mounts.TableWriter](t.Point.Mount) {
		if err := c.tree.TableExists(r.Context(), c.identity.Caller, t); err != nil {
			return err
		}
	}
	return noContent(w)
}
