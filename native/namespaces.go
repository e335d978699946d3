package native

import (
	"context"
	"maps"
	"slices"

	"piedmont/mounts"
)

// ListNamespaces lists direct children in the order of their bytes.
func (c *Catalog) ListNamespaces(ctx context.Context, _ mounts.Caller, parent mounts.Namespace, p mounts.Page) ([]mounts.Namespace, string, error) {
	names, next, err := c.list(ctx, "listNamespaces", kindNamespace, parent, p)
	if err != nil {
		return nil, "", err
	}
	children := make([]mounts.Namespace, len(names))
	for i, name := range names {
		children[i] = parent.Child(name)
	}
	return children, next, nil
}

// ListTables lists tables in the order of their names' bytes.
func (c *Catalog) ListTables(ctx context.Context, _ mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	return c.identifiers(ctx, "listTables", kindTable, n, p)
}

// ListViews lists views in the order of their names' bytes.
func (c *Catalog) ListViews(ctx context.Context, _ mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	return c.identifiers(ctx, "listViews", kindView, n, p)
}

func (c *Catalog) identifiers(ctx context.Context, op, kind string, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	names, next, err := c.list(ctx, op, kind, n, p)
	if err != nil {
		return nil, "", err
	}
	list := make([]mounts.Identifier, len(names))
	for i, name := range names {
		list[i] = n.Table(name)
	}
	return list, next, nil
}

// list reads one page of the last parts of the keys of a kind in a namespace. The token
// is the last name of the page before, so a page costs what it holds.
func (c *Catalog) list(ctx context.Context, op, kind string, in mounts.Namespace, p mounts.Page) ([]string, string, error) {
	if err := c.mustExist(ctx, op, in); err != nil {
		return nil, "", err
	}
	prefix := children(kind, c.id, in)
	after := Key("")
	if p.Token != "" {
		after = prefix + Key(p.Token)
	}
	limit := MaxScan
	if p.Size > 0 {
		limit = min(p.Size, MaxScan)
	}
	records, err := c.registry.Scan(ctx, prefix, after, limit)
	if err != nil {
		return nil, "", unavailable(op, in.String(), err)
	}
	names := make([]string, len(records))
	for i, r := range records {
		names[i] = string(r.Key[len(prefix):])
	}
	next := ""
	if len(records) == limit {
		next = names[len(names)-1]
	}
	return names, next, nil
}

// mustExist is nil for the root and for a namespace that exists.
func (c *Catalog) mustExist(ctx context.Context, op string, n mounts.Namespace) error {
	if n.IsRoot() {
		return nil
	}
	_, ok, err := c.registry.Get(ctx, namespaceKey(c.id, n))
	if err != nil {
		return unavailable(op, n.String(), err)
	}
	if !ok {
		return &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: n.String()}
	}
	return nil
}

func (c *Catalog) namespace(ctx context.Context, op string, n mounts.Namespace) (namespace, Record, error) {
	r, ok, err := c.registry.Get(ctx, namespaceKey(c.id, n))
	if err != nil {
		return namespace{}, r, unavailable(op, n.String(), err)
	}
	if !ok {
		return namespace{}, r, &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: n.String()}
	}
	stored, err := decode[namespace](r)
	if stored.Properties == nil {
		stored.Properties = map[string]string{}
	}
	return stored, r, err
}

// LoadNamespace reads the properties, as they are shown.
func (c *Catalog) LoadNamespace(ctx context.Context, _ mounts.Caller, n mounts.Namespace) (map[string]string, error) {
	if n.IsRoot() {
		return map[string]string{}, nil
	}
	stored, _, err := c.namespace(ctx, "loadNamespaceMetadata", n)
	if err != nil {
		return nil, err
	}
	return c.shown(n, stored.Properties), nil
}

// shown are the properties of a namespace to its readers: one that was given no location
// shows where its tables go. Trino makes up a table's location from that; without it, it has
// the server make the table and then refuses it because its location isn't empty.
func (c *Catalog) shown(n mounts.Namespace, stored map[string]string) map[string]string {
	properties := map[string]string{"location": c.folder(n, stored)}
	maps.Copy(properties, stored)
	return properties
}

// CreateNamespace creates one level; the parent must exist. A property location must lie
// in a storage profile of the mount, since tables are put below it.
func (c *Catalog) CreateNamespace(ctx context.Context, caller mounts.Caller, n mounts.Namespace, properties map[string]string) (map[string]string, error) {
	const op = "createNamespace"
	if err := c.checkNamespaceLocation(properties); err != nil {
		return nil, err
	}
	if properties == nil {
		properties = map[string]string{}
	}
	value, err := encode(namespace{Properties: properties})
	if err != nil {
		return nil, err
	}
	key := namespaceKey(c.id, n)
	conditions := []Condition{{Kind: Absent, Key: key}}
	if parent := n.Parent(); !parent.IsRoot() {
		conditions = append(conditions, Condition{Kind: Exists, Key: namespaceKey(c.id, parent)})
	}
	s := changeset{conditions: conditions, changes: []Change{put(key, value)}}
	return c.shown(n, properties), c.commit(ctx, op, n.String(), caller, s, receipt{}, func(lost *ConflictError) error {
		if last := lost.Failures[len(lost.Failures)-1]; last.Condition.Kind == Exists {
			return &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: n.Parent().String()}
		}
		return &mounts.Error{Kind: mounts.AlreadyExists, Op: op, Name: n.String(), Detail: "Namespace already exists: {name}"}
	})
}

// DropNamespace drops a namespace that holds no table, view or namespace.
func (c *Catalog) DropNamespace(ctx context.Context, caller mounts.Caller, n mounts.Namespace) error {
	const op = "dropNamespace"
	key := namespaceKey(c.id, n)
	s := changeset{
		conditions: []Condition{
			{Kind: Exists, Key: key},
			{Kind: PrefixEmpty, Key: children(kindObject, c.id, n)},
			{Kind: PrefixEmpty, Key: children(kindNamespace, c.id, n)},
		},
		changes: []Change{remove(key)},
	}
	return c.commit(ctx, op, n.String(), caller, s, receipt{}, func(lost *ConflictError) error {
		if lost.Failures[0].Condition.Kind == Exists {
			return &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: n.String()}
		}
		return &mounts.Error{Kind: mounts.NamespaceNotEmpty, Op: op, Name: n.String()}
	})
}

// UpdateProperties removes and sets at once.
func (c *Catalog) UpdateProperties(ctx context.Context, caller mounts.Caller, n mounts.Namespace, removals []string, updates map[string]string) (mounts.PropertiesUpdate, error) {
	const op = "updateProperties"
	for _, k := range removals {
		if _, both := updates[k]; both {
			return mounts.PropertiesUpdate{}, &mounts.Error{
				Kind: mounts.Unprocessable, Op: op, Name: n.String(),
				Detail: "Invalid namespace update: property '" + k + "' is both updated and removed",
			}
		}
	}
	if err := c.checkNamespaceLocation(updates); err != nil {
		return mounts.PropertiesUpdate{}, err
	}
	var done mounts.PropertiesUpdate
	err := retry(ctx, op, n.String(), func() error {
		stored, r, err := c.namespace(ctx, op, n)
		if err != nil {
			return err
		}
		done = applyProperties(stored.Properties, removals, updates)
		if len(done.Updated) == 0 && len(done.Removed) == 0 && caller.Receipt == nil {
			return nil
		}
		value, err := encode(stored)
		if err != nil {
			return err
		}
		s := changeset{
			conditions: []Condition{{Kind: AtVersion, Key: r.Key, Version: r.Version}},
			changes:    []Change{put(r.Key, value)},
		}
		return c.commit(ctx, op, n.String(), caller, s, receipt{Properties: &done}, func(*ConflictError) error { return errLost })
	})
	return done, err
}

func applyProperties(properties map[string]string, removals []string, updates map[string]string) mounts.PropertiesUpdate {
	done := mounts.PropertiesUpdate{Updated: []string{}, Removed: []string{}, Missing: []string{}}
	for _, k := range slices.Compact(slices.Sorted(slices.Values(removals))) {
		if _, ok := properties[k]; ok {
			delete(properties, k)
			done.Removed = append(done.Removed, k)
		} else {
			done.Missing = append(done.Missing, k)
		}
	}
	maps.Copy(properties, updates)
	done.Updated = append(done.Updated, slices.Sorted(maps.Keys(updates))...)
	return done
}

// checkNamespaceLocation refuses a location in which no table could be created.
func (c *Catalog) checkNamespaceLocation(properties map[string]string) error {
	location, ok := properties["location"]
	if !ok {
		return nil
	}
	_, _, err := c.storage.Find(location)
	return err
}
