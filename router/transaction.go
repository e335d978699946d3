package router

import (
	"fmt"
	"net/http"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
)

// commitTransaction reads only which tables are meant; the mount reads the changes.
func (rt *Router) commitTransaction(w http.ResponseWriter, r *http.Request, c *call) error {
	b, err := body(w, r)
	if err != nil {
		return err
	}
	elements, err := tableChanges(b)
	if err != nil {
		return err
	}
	changes := make([]mounts.TableChange, len(elements))
	for i, element := range elements {
		if changes[i], err = rt.tableChange(r, c, i, element); err != nil {
			return err
		}
	}
	_, err = rt.once(r, c, changes[0].Target, b, func() error {
		return c.tree.CommitTransaction(r.Context(), c.identity.Caller, changes)
	})
	if err != nil {
		return err
	}
	return noContent(w)
}

func tableChanges(b []byte) ([][]byte, error) {
	raw, ok, err := rawjson.Member(b, "table-changes")
	if err != nil || !ok {
		return nil, missing("table-changes")
	}
	list, err := rawjson.Elements(raw)
	if err != nil || len(list) == 0 {
		return nil, &mounts.Error{Kind: mounts.BadRequest, Detail: "Malformed request body: table-changes must be a list of at least one change", Err: err}
	}
	elements := make([][]byte, len(list))
	for i, e := range list {
		elements[i] = e
	}
	return elements, nil
}

// tableChange resolves one change's table and decides whether it may be made.
func (rt *Router) tableChange(r *http.Request, c *call, i int, b []byte) (mounts.TableChange, error) {
	var named struct {
		Identifier *wireIdentifier `json:"identifier"`
	}
	if err := unmarshal(b, &named); err != nil {
		return mounts.TableChange{}, err
	}
	t, err := c.named(r, named.Identifier, fmt.Sprintf("table-changes[%d].identifier", i))
	if err != nil {
		return mounts.TableChange{}, err
	}
	return mounts.TableChange{Target: t, Body: b}, rt.mayCommit(c, t, b)
}
