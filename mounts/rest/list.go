package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// ListNamespaces lists the direct children of a namespace, a page of the upstream's at a
// time and with its tokens. An upstream that doesn't page answers all at once, however
// many were asked for. Names that nobody could ask for are left out and counted.
func (c *Catalog) ListNamespaces(ctx context.Context, _ mounts.Caller, parent mounts.Namespace, p mounts.Page) ([]mounts.Namespace, string, error) {
	names, next, err := c.listed(ctx, "listNamespaces", parent, p, c.namespaces)
	if err != nil {
		return nil, "", err
	}
	children := make([]mounts.Namespace, len(names))
	for i, name := range names {
		children[i] = parent.Child(name)
	}
	return children, next, nil
}

// page is one page of a list of what is in a namespace.
type page struct {
	names []string // the last levels
	next  string   // the upstream's token
}

// asker asks the upstream for a page of what is in a namespace.
type asker func(context.Context, mounts.Namespace, mounts.Page) (page, error)

// listed asks for a page of what is in n. No name is twice in it, or was among the last before.
func (c *Catalog) listed(ctx context.Context, op string, n mounts.Namespace, p mounts.Page, ask asker) ([]string, string, error) {
	at, err := parsePosition(op, p.Token)
	if err != nil {
		return nil, "", err
	}
	p.Token = at.token
	if err := askable(n); err != nil {
		return nil, "", c.failNamespace(op, n, err)
	}
	l, err := guarded(ctx, c, op, n.String(), func(ctx context.Context) (page, error) {
		l, err := ask(ctx, n, p)
		if err != nil {
			return l, err
		}
		l.names = at.once(l.names)
		if l.next, err = at.next(l.next, l.names); err != nil {
			err = guard.Broken("gave a list that does not end", err)
		}
		return l, err
	})
	if err != nil {
		return nil, "", c.failNamespace(op, n, err)
	}
	return l.names, l.next, nil
}

func (c *Catalog) namespaces(ctx context.Context, parent mounts.Namespace, p mounts.Page) (l page, err error) {
	s, err := c.needs(ctx, listNamespaces)
	if err != nil {
		return l, err
	}
	address := s.namespaces() + pageQuery(p)
	if s.holdsSeparator(parent) {
		return l, errParent
	}
	if !parent.IsRoot() {
		address += "&parent=" + s.parent(parent)
	}
	elements, next, err := c.list(ctx, s, parent, address, "namespaces")
	if err != nil {
		return l, c.noticed(err)
	}
	l = page{names: make([]string, 0, len(elements)), next: next}
	for _, e := range elements {
		n, err := parseLevels(e)
		if err != nil {
			return l, guard.Broken("gave an answer that is no list of namespaces", err)
		}
		if len(n) != len(parent)+1 || !c.same(n.Parent(), parent) {
			continue // SeaweedFS 4.48 lists nested ones at the top level too
		}
		copy(n, parent)
		name := c.spell(n.Last())
		if n[len(parent)] = name; n.Validate() != nil || crooked(name) {
			c.skipped.Add(1)
			continue
		}
		l.names = append(l.names, name)
	}
	return l, c.confirm(ctx, s, parent, len(l.names), next)
}

// errParent: in ?parent= the separator isn't escaped, so that the upstream would list
// another namespace, or say that there is none.
var errParent = &guard.Fault{Ours: true, Kind: mounts.BadGateway, Text: "can't list what is in a namespace whose name holds its separator of levels"}

// ListTables lists the tables of a namespace, as ListNamespaces does. The root holds none.
func (c *Catalog) ListTables(ctx context.Context, _ mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	return c.listedObjects(ctx, "listTables", n, p, c.tables)
}

func (c *Catalog) listedObjects(ctx context.Context, op string, n mounts.Namespace, p mounts.Page, ask asker) ([]mounts.Identifier, string, error) {
	if n.IsRoot() {
		return nil, "", nil
	}
	names, next, err := c.listed(ctx, op, n, p, ask)
	if err != nil {
		return nil, "", err
	}
	ids := make([]mounts.Identifier, len(names))
	for i, name := range names {
		ids[i] = n.Table(name)
	}
	return ids, next, nil
}

func (c *Catalog) tables(ctx context.Context, n mounts.Namespace, p mounts.Page) (l page, err error) {
	s, err := c.needs(ctx, listTables)
	if err != nil {
		return l, err
	}
	l, err = c.identifiers(ctx, s, n, p, s.tables(n))
	return l, c.noticed(err)
}

// identifiers lists the tables or views of a namespace at an address.
func (c *Catalog) identifiers(ctx context.Context, s *settings, n mounts.Namespace, p mounts.Page, address string) (l page, err error) {
	elements, next, err := c.list(ctx, s, n, address+pageQuery(p), "identifiers")
	if err != nil {
		return l, err
	}
	l = page{names: make([]string, 0, len(elements)), next: next}
	for _, e := range elements {
		id, err := parseIdentifier(e)
		if err != nil {
			return l, guard.Broken("gave an answer that is no list of names", err)
		}
		if !c.same(id.Namespace, n) {
			continue
		}
		if id = n.Table(c.spell(id.Name)); id.Validate() != nil || crooked(id.Name) {
			c.skipped.Add(1)
			continue
		}
		l.names = append(l.names, id.Name)
	}
	return l, c.confirm(ctx, s, n, len(l.names), next)
}

// confirm makes sure that a namespace exists of which a last page lists nothing: some upstreams
// (SeaweedFS 4.48) know no difference. What pages before it listed isn't known here.
func (c *Catalog) confirm(ctx context.Context, s *settings, n mounts.Namespace, listed int, next string) error {
	if listed > 0 || next != "" || n.IsRoot() || !s.offers[loadNamespace] {
		return nil
	}
	_, err := c.properties(ctx, s, n)
	return err
}

// list asks for one page of what is in n.
func (c *Catalog) list(ctx context.Context, s *settings, n mounts.Namespace, address, key string) ([]json.RawMessage, string, error) {
	if err := c.certain(ctx, s, n); err != nil {
		return nil, "", err
	}
	got, err := c.client.ask(ctx, question{method: http.MethodGet, url: address, limit: maxList})
	if err != nil {
		return nil, "", err
	}
	elements, next, err := parseList(got.body, key)
	if err != nil {
		return nil, "", guard.Broken("gave an answer that is no list of "+key, err)
	}
	return elements, next, nil
}

// LoadNamespace reads the properties of a namespace. The root has none.
func (c *Catalog) LoadNamespace(ctx context.Context, _ mounts.Caller, n mounts.Namespace) (map[string]string, error) {
	if n.IsRoot() {
		return map[string]string{}, nil
	}
	const op = "loadNamespaceMetadata"
	if err := askable(n); err != nil {
		return nil, c.failNamespace(op, n, err)
	}
	properties, err := guarded(ctx, c, op, n.String(), func(ctx context.Context) (map[string]string, error) {
		s, err := c.needs(ctx, loadNamespace)
		if err != nil {
			return nil, err
		}
		return c.properties(ctx, s, n)
	})
	return properties, c.failNamespace(op, n, err)
}

// properties also makes sure that no other namespace is read than the one that was
// authorized: the upstream must call it what we do, and must not have one whose levels are
// parts of ours. Some join levels by dots (SeaweedFS 4.48 then answers with the other name,
// catalogs over JDBC with the one they were asked for), so that both would be one.
func (c *Catalog) properties(ctx context.Context, s *settings, n mounts.Namespace) (map[string]string, error) {
	properties, err := c.namespace(ctx, s, n)
	if apart := s.apart(n); err == nil && apart != nil {
		var refused *statusError
		_, err = c.namespace(ctx, s, apart)
		switch {
		case err == nil:
			return nil, errTwoNames
		case absent(err, typeNoNamespace), errors.Is(err, errOtherName):
			err = nil
		case errors.As(err, &refused) && refused.status == http.StatusBadRequest && refused.typ != "":
			err = nil // so deep none can be
		}
	}
	return properties, err
}

func (c *Catalog) namespace(ctx context.Context, s *settings, n mounts.Namespace) (map[string]string, error) {
	got, err := c.client.ask(ctx, question{method: http.MethodGet, url: s.namespace(n), limit: maxList})
	if err != nil {
		return nil, c.noticed(err)
	}
	found, properties, err := parseNamespace(got.body)
	if err != nil {
		return nil, guard.Broken("gave an answer that is no namespace", err)
	}
	if !c.same(found, n) {
		return nil, errOtherName
	}
	return properties, nil
}

// errOtherName: the upstream knows what it was asked for by another name. Under the name
// that policies decided on there is nothing.
var errOtherName = errors.New("the upstream has a namespace of another name there")

// errTwoNames: perhaps they are two, but nobody can tell.
var errTwoNames = &guard.Fault{Ours: true, Kind: mounts.BadGateway, Text: "has that namespace and one whose levels are the parts of its name, and may not tell them apart"}

// certain makes sure that what is read is in the namespace that was authorized. It costs two
// questions where a name invites to read another.
func (c *Catalog) certain(ctx context.Context, s *settings, n mounts.Namespace) error {
	if !s.ambiguous(n) {
		return nil
	}
	if !s.offers[loadNamespace] {
		return errUncertain
	}
	_, err := c.properties(ctx, s, n)
	return err
}

// errUncertain: what the upstream would read there can't be found out.
var errUncertain = &guard.Fault{Ours: true, Kind: mounts.Unsupported, Text: "can't be asked for a name with a dot or its separator of levels: it does not offer to look at namespaces"}

// noticed forgets the configuration after a 404 that isn't a catalog's: the prefix may
// have changed, so the next call asks anew.
func (c *Catalog) noticed(err error) error {
	if untypedMissing(err) {
		c.known.Store(nil)
	}
	return err
}

// failNamespace is fail for operations on a namespace that may not exist.
func (c *Catalog) failNamespace(op string, n mounts.Namespace, err error) error {
	if !n.IsRoot() && (absent(err, typeNoNamespace) || errors.Is(err, errOtherName)) {
		return &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: n.String(), Err: err}
	}
	return c.fail(op, n.String(), err)
}

// pageQuery asks for a page. A pageToken, if an empty one, is what makes an upstream page
// at all.
func pageQuery(p mounts.Page) string {
	q := "?pageToken=" + escapeQuery(p.Token)
	if p.Size > 0 {
		q += "&pageSize=" + strconv.Itoa(p.Size)
	}
	return q
}
