package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"piedmont/authz"
	"piedmont/mounts"
	"piedmont/native"
)

const (
	droppedPath = "/tables/dropped"
	restorePath = "/tables/restore"
	// droppedPage is how many dropped tables are read at once.
	droppedPage = 1000
	// maxOrder bounds the body of a restoreOrder: two names, each character escaped.
	maxOrder = 64 << 10
)

// droppedLine is one dropped table as the control lists it, under the name that the tree gives it.
type droppedLine struct {
	Name string `json:"name"`
	native.Dropped
}

// restoreOrder asks for a dropped table.
type restoreOrder struct {
	Name string `json:"name"`
	As   string `json:"as"`
	ID   string `json:"id,omitempty"`
}

// listDropped writes the dropped tables of all native mounts, one JSON object a line.
func (c *control) listDropped(w http.ResponseWriter, r *http.Request) error {
	tree, err := c.tree(r.Context())
	if err != nil {
		return err
	}
	defer tree.Release()
	lines := json.NewEncoder(w)
	for _, p := range tree.Points() {
		catalog, ok := p.Mount.(*native.Catalog)
		if !ok {
			continue
		}
		page := mounts.Page{Size: droppedPage}
		for again := true; again; again = page.Token != "" {
			var list []native.Dropped
			if list, page.Token, err = catalog.ListDropped(r.Context(), page); err != nil {
				return err
			}
			for _, d := range list {
				outer, ok := p.Outer(d.Name.Namespace)
				if !ok {
					continue // the mount point shows another part of the catalog
				}
				name := authz.Object{Type: authz.Table, Path: outer, Name: d.Name.Name}.ID()
				if err := lines.Encode(droppedLine{Name: name, Dropped: d}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// restoreTable carries out a restoreOrder.
func (c *control) restoreTable(w http.ResponseWriter, r *http.Request) error {
	var order restoreOrder
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&order); err != nil {
		return fmt.Errorf("read what to restore: %w", err)
	}
	tree, err := c.tree(r.Context())
	if err != nil {
		return err
	}
	defer tree.Release()
	from, catalog, err := findNative(r.Context(), tree, order.Name)
	if err != nil {
		return err
	}
	to, other, err := findNative(r.Context(), tree, order.As)
	if err != nil {
		return err
	}
	if other != catalog {
		return fmt.Errorf("%s lies in another mount than %s: restore it there and rename it", order.As, order.Name)
	}
	restored, err := catalog.RestoreTable(r.Context(), from.Inner(), order.ID, to.Inner())
	if err != nil {
		return advise(from.Restore(err), order)
	}
	c.log.InfoContext(r.Context(), "a dropped table was restored", "table", order.Name, "as", order.As, "location", restored.Location)
	return json.NewEncoder(w).Encode(restored)
}

// advise adds to a refusal what can be done.
func advise(err error, order restoreOrder) error {
	switch {
	case mounts.Is(err, mounts.AlreadyExists):
		return fmt.Errorf("%w; --as restores %s under another name", err, order.Name)
	case mounts.Is(err, mounts.NoSuchNamespace):
		return fmt.Errorf("%w; create the namespace of %s first, or give another name with --as", err, order.As)
	case mounts.Is(err, mounts.NoSuchTable):
		return fmt.Errorf("%w; \"piedmont tables dropped\" lists those that can, with their ids", err)
	}
	return err
}

// findNative resolves the name of a table in a native mount.
func findNative(ctx context.Context, tree *mounts.Tree, name string) (mounts.Target, *native.Catalog, error) {
	levels, err := levelsOf(name)
	if err != nil {
		return mounts.Target{}, nil, err
	}
	id := mounts.Namespace(levels[:len(levels)-1]).Table(levels[len(levels)-1])
	if err := id.Validate(); err != nil {
		return mounts.Target{}, nil, fmt.Errorf("the name %q: %w", name, err)
	}
	target, err := tree.ResolveTable(ctx, mounts.Caller{Principal: adminPrincipal}, id)
	if err != nil {
		return target, nil, err
	}
	if target.Point == nil {
		return target, nil, fmt.Errorf("%s lies in no mount", name)
	}
	catalog, ok := target.Point.Mount.(*native.Catalog)
	if !ok {
		return target, nil, fmt.Errorf("%s lies in the mount '%s', which is read-only: it has no dropped tables", name, target.Point.Name())
	}
	return target, catalog, nil
}
