package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
)

const (
	// maxCommas bounds the parts of one list before it is split, since a part takes more
	// memory than the two bytes it may consist of.
	maxCommas = 4 << 20
	// maxToken bounds a page token, which goes to clients and comes back in a URL.
	maxToken = 16 << 10
)

// ListNamespaces lists the direct children of a namespace, a page of the upstream's at a
// time and with its tokens. An upstream that doesn't page answers all at once, however
// many were asked for. Names that break our rules are left out and counted.
func (c *Catalog) ListNamespaces(ctx context.Context, _ mounts.Caller, parent mounts.Namespace, p mounts.Page) ([]mounts.Namespace, string, error) {
	const op = "listNamespaces"
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	s, err := c.needs(ctx, listNamespaces)
	if err != nil {
		return nil, "", c.fail(op, parent.String(), err)
	}
	address := s.namespaces() + pageQuery(p)
	if !parent.IsRoot() {
		address += "&parent=" + s.parent(parent)
	}
	body, err := c.read(ctx, s, parent, question{method: http.MethodGet, url: address, limit: maxList})
	if err != nil {
		return nil, "", c.failNamespace(op, parent, err)
	}
	all, next, err := parseNamespaces(body)
	if err == nil {
		err = checkToken(p.Token, next)
	}
	if err != nil {
		return nil, "", c.fail(op, parent.String(), broken("gave an answer that is no list of namespaces", err))
	}
	children := all[:0]
	for _, n := range all {
		if len(n) != len(parent)+1 || !n.HasPrefix(parent) {
			continue // some upstreams list nested ones too
		}
		if n.Validate() != nil {
			c.skipped.Add(1)
			continue
		}
		children = append(children, n)
	}
	return children, next, nil
}

// ListTables lists the tables of a namespace, as ListNamespaces does. The root holds none.
func (c *Catalog) ListTables(ctx context.Context, _ mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	const op = "listTables"
	if n.IsRoot() {
		return nil, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	s, err := c.needs(ctx, listTables)
	if err != nil {
		return nil, "", c.fail(op, n.String(), err)
	}
	body, err := c.read(ctx, s, n, question{method: http.MethodGet, url: s.tables(n) + pageQuery(p), limit: maxList})
	if err != nil {
		return nil, "", c.failNamespace(op, n, err)
	}
	all, next, err := parseTables(body)
	if err == nil {
		err = checkToken(p.Token, next)
	}
	if err != nil {
		return nil, "", c.fail(op, n.String(), broken("gave an answer that is no list of tables", err))
	}
	tables := all[:0]
	for _, id := range all {
		if !id.Namespace.Equal(n) {
			continue
		}
		if id.Validate() != nil {
			c.skipped.Add(1)
			continue
		}
		tables = append(tables, id)
	}
	return tables, next, nil
}

// LoadNamespace reads the properties of a namespace. The root has none.
func (c *Catalog) LoadNamespace(ctx context.Context, _ mounts.Caller, n mounts.Namespace) (map[string]string, error) {
	const op = "loadNamespaceMetadata"
	if n.IsRoot() {
		return map[string]string{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	s, err := c.needs(ctx, loadNamespace)
	if err != nil {
		return nil, c.fail(op, n.String(), err)
	}
	properties, err := c.properties(ctx, s, n)
	return properties, c.failNamespace(op, n, err)
}

func (c *Catalog) properties(ctx context.Context, s *settings, n mounts.Namespace) (map[string]string, error) {
	got, err := c.client.ask(ctx, question{method: http.MethodGet, url: s.namespace(n), limit: maxList})
	if err != nil {
		return nil, c.noticed(err)
	}
	found, properties, err := parseNamespace(got.body)
	if err != nil {
		return nil, broken("gave an answer that is no namespace", err)
	}
	if s.ambiguous(n) && !found.Equal(n) {
		return nil, errMisread
	}
	return properties, nil
}

// errMisread: what the upstream has is another namespace, one whose levels joined read
// like the one asked for.
var errMisread = &fault{kind: mounts.BadRequest, text: "can't be asked for a name that holds its separator of namespace levels"}

// read asks about a namespace, once it is certain that the upstream reads its name right.
func (c *Catalog) read(ctx context.Context, s *settings, n mounts.Namespace, q question) ([]byte, error) {
	if err := c.certain(ctx, s, n); err != nil {
		return nil, err
	}
	got, err := c.client.ask(ctx, q)
	if err != nil {
		return nil, c.noticed(err)
	}
	return got.body, nil
}

// certain costs a question only where a level holds the upstream's separator.
func (c *Catalog) certain(ctx context.Context, s *settings, n mounts.Namespace) error {
	if !s.ambiguous(n) {
		return nil
	}
	_, err := c.properties(ctx, s, n)
	return err
}

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
	if absent(err, typeNoNamespace) && !n.IsRoot() {
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

// checkToken refuses a next page that is this one: whoever follows it would never end.
func checkToken(this, next string) error {
	switch {
	case next == "":
		return nil
	case next == this:
		return errors.New("the token of the next page is that of this one")
	case len(next) > maxToken:
		return errors.New("the token of the next page is too long")
	}
	return nil
}

// parseNamespaces reads a ListNamespacesResponse. Names may break our rules.
func parseNamespaces(body []byte) (all []mounts.Namespace, next string, err error) {
	elements, next, err := parseList(body, "namespaces")
	if err != nil {
		return nil, "", err
	}
	all = make([]mounts.Namespace, len(elements))
	for i, e := range elements {
		if all[i], err = parseLevels(e); err != nil {
			return nil, "", err
		}
	}
	return all, next, nil
}

// parseTables reads a ListTablesResponse. Names may break our rules.
func parseTables(body []byte) (all []mounts.Identifier, next string, err error) {
	elements, next, err := parseList(body, "identifiers")
	if err != nil {
		return nil, "", err
	}
	all = make([]mounts.Identifier, len(elements))
	for i, e := range elements {
		o, err := rawjson.ParseObject(e)
		if err != nil {
			return nil, "", fmt.Errorf("an identifier: %w", err)
		}
		levels, _ := o.Get("namespace")
		if all[i].Namespace, err = parseLevels(levels); err != nil {
			return nil, "", err
		}
		name, _ := o.Get("name")
		var ok bool
		if all[i].Name, ok = rawjson.String(name); !ok {
			return nil, "", errors.New("a table's name is no string")
		}
	}
	return all, next, nil
}

// parseList splits a page. The list itself must be there, if null: an object without it is
// something else's answer, and must not read like an empty list.
func parseList(body []byte, key string) (elements []json.RawMessage, next string, err error) {
	if bytes.Count(body, []byte{','}) > maxCommas {
		return nil, "", errTooLarge
	}
	o, err := rawjson.ParseObject(body)
	if err != nil {
		return nil, "", err
	}
	if raw, ok := o.Get("next-page-token"); ok && !rawjson.IsNull(raw) {
		if next, ok = rawjson.String(raw); !ok {
			return nil, "", errors.New("next-page-token is no string")
		}
	}
	list, ok := o.Get(key)
	if !ok {
		return nil, "", errors.New("there are no " + key)
	}
	if rawjson.IsNull(list) {
		return nil, next, nil
	}
	if elements, err = rawjson.Elements(list); err != nil {
		return nil, "", fmt.Errorf("%s: %w", key, err)
	}
	return elements, next, nil
}

// parseNamespace reads a GetNamespaceResponse. The properties are never nil.
func parseNamespace(body []byte) (n mounts.Namespace, properties map[string]string, err error) {
	o, err := rawjson.ParseObject(body)
	if err != nil {
		return nil, nil, err
	}
	levels, _ := o.Get("namespace")
	if n, err = parseLevels(levels); err != nil {
		return nil, nil, err
	}
	properties = map[string]string{}
	raw, _ := o.Get("properties")
	if rawjson.IsNull(raw) {
		return n, properties, nil
	}
	members, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("properties: %w", err)
	}
	for key, value := range members.All() {
		s, ok := rawjson.String(value)
		if !ok {
			return nil, nil, errors.New("a property is no string")
		}
		properties[key] = s
	}
	return n, properties, nil
}

func parseLevels(raw []byte) (mounts.Namespace, error) {
	elements, err := rawjson.Elements(raw)
	if err != nil {
		return nil, fmt.Errorf("a namespace: %w", err)
	}
	n := make(mounts.Namespace, len(elements))
	for i, e := range elements {
		var ok bool
		if n[i], ok = rawjson.String(e); !ok {
			return nil, errors.New("a level of a namespace is no string")
		}
	}
	return n, nil
}
