package metastore

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// Bounds of one list.
const (
	maxListBytes = 64 << 20
	maxListNames = 1_000_000
	// maxEmptyPages is how many pages without a name may follow each other: Glue pages through
	// tables of all kinds, 100 at a time, and a database may hold few of Iceberg.
	maxEmptyPages = 10_000
	// maxToken bounds a source's token, which goes to clients sealed and comes back in a URL.
	maxToken = 4 << 10
	// keepListing is how long names are kept for a client that pages through them.
	keepListing = time.Minute
	// perName is what a name takes in memory besides its letters.
	perName = 16
)

// list is what names are listed of: objects of a kind in a database, or, with the zero list,
// the databases.
type list struct {
	database string
	kind     Kind
}

// page is one question for names.
type page struct {
	list
	token string
	size  int
}

// answer is a page as the source gave it, without the names that can't be shown. It never
// changes.
type answer struct {
	names []string
	next  string
}

func sizeOfList(l list, names []string) int64 {
	size := int64(len(l.database))
	for _, n := range names {
		size += int64(len(n)) + perName
	}
	return size
}

// ListNamespaces lists the databases. They hold no namespaces.
func (c *Catalog) ListNamespaces(ctx context.Context, _ mounts.Caller, parent mounts.Namespace, p mounts.Page) ([]mounts.Namespace, string, error) {
	const op = "listNamespaces"
	if !parent.IsRoot() {
		_, err := c.database(ctx, op, parent)
		return nil, "", err
	}
	names, next, err := c.page(ctx, op, list{}, p)
	children := make([]mounts.Namespace, len(names))
	for i, name := range names {
		children[i] = mounts.Namespace{name}
	}
	return children, next, err
}

// LoadNamespace reads the properties of a database. The root has none.
func (c *Catalog) LoadNamespace(ctx context.Context, _ mounts.Caller, n mounts.Namespace) (map[string]string, error) {
	if n.IsRoot() {
		return map[string]string{}, nil
	}
	return c.database(ctx, "loadNamespaceMetadata", n)
}

func (c *Catalog) database(ctx context.Context, op string, n mounts.Namespace) (map[string]string, error) {
	if len(n) != 1 {
		return nil, &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: n.String()}
	}
	d, err := guard.Do(ctx, c.guard, op, n.String(), func(ctx context.Context) (Database, error) {
		return c.source.Database(ctx, n[0])
	})
	return d.Properties, c.fail(op, n.String(), err)
}

// ListTables lists the Iceberg tables of a database. The root holds none.
func (c *Catalog) ListTables(ctx context.Context, _ mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	return c.objects(ctx, "listTables", n, Table, p)
}

// ListViews lists the Iceberg views of a database. The root holds none.
func (c *Catalog) ListViews(ctx context.Context, _ mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	return c.objects(ctx, "listViews", n, View, p)
}

func (c *Catalog) objects(ctx context.Context, op string, n mounts.Namespace, kind Kind, p mounts.Page) ([]mounts.Identifier, string, error) {
	if n.IsRoot() {
		return nil, "", nil
	}
	if len(n) != 1 {
		return nil, "", &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: n.String()}
	}
	names, next, err := c.page(ctx, op, list{database: n[0], kind: kind}, p)
	ids := make([]mounts.Identifier, len(names))
	for i, name := range names {
		ids[i] = n.Table(name)
	}
	return ids, next, err
}

// page is one page of a list. A source that pages itself is followed as it goes. What another
// gives all at once is sorted, cut into pages and kept for a while; a token says behind which
// name to go on, so that a list that was lost costs one more question and nothing else.
func (c *Catalog) page(ctx context.Context, op string, l list, p mounts.Page) ([]string, string, error) {
	at, err := parsePosition(op, p.Token)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	if at.after != "" {
		if names, ok := c.listings.Get(l); ok {
			names, next := cut(names, at.after, p.Size)
			return names, next, nil
		}
	}
	a, err := c.ask(ctx, op, page{list: l, token: at.token, size: p.Size})
	if err != nil {
		return nil, "", c.fail(op, l.database, err)
	}
	if at.after == "" && (at.token != "" || a.next != "") {
		if at, err = c.follow(op, l, at, a); err != nil {
			return nil, "", err
		}
		return a.names, at.String(), nil
	}
	if a.next != "" { // the list was short enough for one page when its token was made
		if a, err = c.whole(ctx, op, page{list: l, size: p.Size}, a); err != nil {
			return nil, "", c.fail(op, l.database, err)
		}
	}
	names, next := cut(a.names, at.after, p.Size)
	if next != "" {
		c.listings.AddFor(l, a.names, keepListing)
	}
	return names, next, nil
}

// ask puts one question to the source. Callers share it if it was sent after they came.
func (c *Catalog) ask(ctx context.Context, op string, p page) (*answer, error) {
	return c.listing.DoFresh(ctx, p, func(ctx context.Context) (*answer, error) {
		a, err := guard.Do(ctx, c.guard, op, p.database, func(ctx context.Context) (a answer, err error) {
			if p.list == (list{}) {
				a.names, a.next, err = c.source.Databases(ctx, p.token, p.size)
			} else {
				a.names, a.next, err = c.source.Objects(ctx, p.database, p.kind, p.token, p.size)
			}
			return a, err
		})
		if err == nil {
			err = c.check(op, p, &a)
		}
		return &a, err
	})
}

// check refuses an answer that can't be one, and takes out the names that can't be shown.
func (c *Catalog) check(op string, p page, a *answer) error {
	switch {
	case len(a.names) > maxListNames || sizeOfList(p.list, a.names) > maxListBytes:
		return c.broken(op, p.database, "has a list of names that is too large")
	case len(a.next) > maxToken:
		return c.broken(op, p.database, "gave a page token that is too long")
	case a.next != "" && a.next == p.token:
		return c.broken(op, p.database, "gave a list that does not end")
	}
	shown := make([]string, 0, len(a.names))
	for _, name := range a.names {
		if !c.shows(p.list, name) {
			c.skipped.Add(1)
			c.log.Debug("a name in a list can't be asked for", slog.String("mount", c.mount), slog.String("in", p.database), slog.String("name", name))
			continue
		}
		shown = append(shown, name)
	}
	if p.token == "" && a.next == "" {
		slices.Sort(shown)
		shown = slices.Compact(shown)
	}
	a.names = shown
	return nil
}

// shows says whether somebody could ask for that name.
func (c *Catalog) shows(l list, name string) bool {
	if c.Canonical(name) != name {
		return false
	}
	if l.database == "" {
		return mounts.Namespace{name}.Validate() == nil
	}
	return mounts.Namespace{l.database}.Table(name).Validate() == nil
}

// follow is where a list that the source pages itself goes on behind an answer.
func (c *Catalog) follow(op string, l list, at position, a *answer) (position, error) {
	next := position{token: a.next, empty: at.empty + 1, names: at.names + len(a.names)}
	if len(a.names) > 0 {
		next.empty = 0
	}
	switch {
	case a.next == "":
		return position{}, nil
	case next.empty > maxEmptyPages:
		return position{}, c.broken(op, l.database, "gave a list that does not end")
	case next.names > maxListNames:
		return position{}, c.broken(op, l.database, "has a list of names that is too large")
	}
	return next, nil
}

// whole asks for what follows an answer until the list is complete.
func (c *Catalog) whole(ctx context.Context, op string, p page, first *answer) (*answer, error) {
	all, at := slices.Clone(first.names), position{}
	for a := first; ; {
		var err error
		if at, err = c.follow(op, p.list, at, a); err != nil {
			return nil, err
		}
		if at.token == "" {
			slices.Sort(all)
			return &answer{names: slices.Compact(all)}, nil
		}
		p.token = at.token
		if a, err = c.ask(ctx, op, p); err != nil {
			return nil, err
		}
		all = append(all, a.names...)
	}
}

// cut is the page of a whole list that begins behind a name.
func cut(names []string, after string, size int) ([]string, string) {
	from, found := slices.BinarySearch(names, after)
	if found {
		from++
	}
	names = names[from:]
	if size <= 0 || len(names) <= size {
		return names, ""
	}
	return names[:size], position{after: names[size-1]}.String()
}
