package mounts

import (
	"context"
	"strconv"
	"strings"
)

// LoadNamespace returns the properties of a namespace of the tree. Mount points and
// synthetic places always exist and have none of their own.
func (t *Tree) LoadNamespace(ctx context.Context, c Caller, at Target) (map[string]string, error) {
	if at.Place == MountPoint || at.Point == nil && at.Place == Synthetic {
		return map[string]string{}, nil
	}
	if at.Point == nil {
		return nil, &Error{Kind: NoSuchNamespace, Op: "loadNamespaceMetadata", Name: at.Path.String()}
	}
	if at.Namespace.IsRoot() {
		return map[string]string{}, nil
	}
	properties, err := at.Point.Mount.LoadNamespace(ctx, c, at.Namespace)
	if at.Place == Synthetic && Is(err, NoSuchNamespace) {
		return map[string]string{}, nil
	}
	return properties, at.Restore(err)
}

// Tokens of ListNamespaces: which list goes on, and from where.
const (
	pointsToken = "p" // and the number of mount points already listed
	mountToken  = "m" // and the mount's own token
)

// ListNamespaces lists the direct children of a namespace of the tree as full paths:
// mount points first, then the children that the mount around them has, in its order and
// without those that a mount point hides. Where that mount can't be asked the whole call
// fails; mount points alone would say that its namespaces are gone.
func (t *Tree) ListNamespaces(ctx context.Context, c Caller, parent Target, p Page) ([]Namespace, string, error) {
	if parent.Point == nil && parent.node == nil {
		return nil, "", &Error{Kind: NoSuchNamespace, Op: "listNamespaces", Name: parent.Path.String()}
	}
	var names []Namespace
	inner, inMount := strings.CutPrefix(p.Token, mountToken)
	if inMount && parent.Point == nil {
		// The token is of a tree that had a mount here.
		return nil, "", &Error{Kind: BadRequest, Op: "listNamespaces", Detail: "Invalid pageToken"}
	}
	if !inMount {
		inner = "" // the mount's list begins behind the mount points
		from, err := pointsFrom(p.Token)
		if err != nil {
			return nil, "", err
		}
		names = parent.pointsBelow()
		names = names[min(from, len(names)):]
		if p.Size > 0 && len(names) > p.Size {
			return names[:p.Size], pointsToken + strconv.Itoa(from+p.Size), nil
		}
		if parent.Point == nil {
			return names, "", nil
		}
		if p.Size > 0 && len(names) == p.Size {
			return names, mountToken, nil
		}
	}
	size := 0
	if p.Size > 0 {
		size = p.Size - len(names)
	}
	children, next, err := parent.children(ctx, c, Page{Token: inner, Size: size})
	if err != nil {
		return nil, "", err
	}
	if next != "" {
		next = mountToken + next
	}
	return append(names, children...), next, nil
}

func pointsFrom(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	digits, ok := strings.CutPrefix(token, pointsToken)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return 0, &Error{Kind: BadRequest, Op: "listNamespaces", Detail: "Invalid pageToken", Err: err}
	}
	return n, nil
}

// pointsBelow are the children of the target that exist for the sake of mount points,
// sorted. Ancestors inside a writable mount are that mount's own children.
func (t Target) pointsBelow() []Namespace {
	if t.node == nil {
		return nil
	}
	var names []Namespace
	for _, n := range t.node.order {
		if t.shadows(n) {
			names = append(names, t.Path.Child(n.level))
		}
	}
	return names
}

// shadows says whether the child of that level belongs to the tree and not to the mount.
func (t Target) shadows(n *node) bool {
	return n.point != nil || t.Point == nil || !t.Point.writesNamespaces()
}

// children lists what the mount around the target has below it.
func (t Target) children(ctx context.Context, c Caller, p Page) ([]Namespace, string, error) {
	inner, next, err := t.Point.Mount.ListNamespaces(ctx, c, t.Namespace, p)
	if t.fixed() && Is(err, NoSuchNamespace) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", t.Restore(err)
	}
	names := inner[:0]
	for _, n := range inner {
		full, shown := t.Point.Outer(n)
		if !shown || len(full) != len(t.Path)+1 || !full.HasPrefix(t.Path) {
			continue // not a direct child: some upstreams list others too
		}
		if t.node != nil {
			if hidden := t.node.children[full.Last()]; hidden != nil && t.shadows(hidden) {
				continue
			}
		}
		names = append(names, full)
	}
	return names, next, nil
}

// ListTables lists the tables directly in a namespace of the tree, as full identifiers.
func (t *Tree) ListTables(ctx context.Context, c Caller, at Target, p Page) ([]Identifier, string, error) {
	if at.noTables() {
		_, err := t.LoadNamespace(ctx, c, at)
		return nil, "", err
	}
	inner, next, err := at.Point.Mount.ListTables(ctx, c, at.Namespace, p)
	if at.fixed() && Is(err, NoSuchNamespace) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", at.Restore(err)
	}
	for i, id := range inner {
		inner[i] = at.Path.Table(at.Point.canonical(id.Name))
	}
	return inner, next, nil
}

// LoadTable reads the pointer of a table of the tree.
func (t *Tree) LoadTable(ctx context.Context, c Caller, at Target, o LoadOptions) (*Table, error) {
	if at.noTables() {
		return nil, at.noSuchTable("loadTable")
	}
	table, err := at.Point.Mount.LoadTable(ctx, c, at.Inner(), o)
	return at.restoreTable(table), at.Restore(err)
}

// TableExists is nil for a table of the tree that exists.
func (t *Tree) TableExists(ctx context.Context, c Caller, at Target) error {
	if at.noTables() {
		return at.noSuchTable("tableExists")
	}
	return at.Restore(at.Point.Mount.TableExists(ctx, c, at.Inner()))
}

func (t Target) noSuchTable(op string) error {
	return &Error{Kind: NoSuchTable, Op: op, Name: t.Identifier().String()}
}
