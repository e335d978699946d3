package mounts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// apiWords can't be a mount point's path: it is also the {prefix} segment of the API's
// paths, where these words already mean something. "aws" does too, but only before "s3/sign",
// which is no path of a catalog's.
var apiWords = []string{"namespaces", "tables", "views", "transactions", "config", "oauth"}

// Tree is one namespace of many catalogs: an immutable snapshot of mount points. Acquire
// it from a Holder and release it when the request has ended.
type Tree struct {
	name   string
	root   *node
	points []*Point
	refs   atomic.Int64
	retire func() // set by the Holder; called once the last reference is gone
}

// node is one level of the paths that lead to mount points.
type node struct {
	level    string
	point    *Point // nil for an ancestor of mount points
	children map[string]*node
	order    []*node // children sorted by level
}

// NewTree builds a tree of that name (the ?warehouse= that means all of it). It refuses:
// two points at one path, levels that the API or the dotted prefix can't hold, a point
// whose path isn't canonical in the mount around it.
func NewTree(name string, points []Point) (*Tree, error) {
	t := &Tree{name: name, root: &node{}}
	for i := range points {
		p := points[i]
		if err := checkAt(p.At); err != nil {
			return nil, err
		}
		n := t.root
		for _, level := range p.At {
			n = n.child(level)
		}
		if n.point != nil {
			return nil, fmt.Errorf("two mounts at '%s'", p.Name())
		}
		n.point = &p
		t.points = append(t.points, &p)
	}
	t.root.sort()
	for _, p := range t.points {
		if at, err := t.walk(p.At); err != nil || at.point != p {
			return nil, fmt.Errorf("mount at '%s': the mount around it spells the path another way; write it in lower case", p.Name())
		}
	}
	if clash := t.Point(name); clash != nil {
		return nil, fmt.Errorf("the tree's name '%s' is a mount's path too, so ?warehouse=%s would mean both", name, name)
	}
	t.refs.Store(1)
	return t, nil
}

func checkAt(at Namespace) error {
	if err := at.Validate(); err != nil {
		return fmt.Errorf("mount at '%s': %w", at, err)
	}
	for _, level := range at {
		if strings.ContainsAny(level, ".%") {
			return fmt.Errorf("mount at '%s': a level can't hold a dot or a percent sign", at)
		}
	}
	if len(at) == 1 && slices.Contains(apiWords, at[0]) {
		return fmt.Errorf("mount at '%s': the REST protocol uses this word in its paths", at)
	}
	return nil
}

func (n *node) child(level string) *node {
	if c := n.children[level]; c != nil {
		return c
	}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	c := &node{level: level}
	n.children[level] = c
	return c
}

func (n *node) sort() {
	n.order = make([]*node, 0, len(n.children))
	for _, c := range n.children {
		c.sort()
		n.order = append(n.order, c)
	}
	slices.SortFunc(n.order, func(a, b *node) int { return strings.Compare(a.level, b.level) })
}

// Name is the ?warehouse= that means the whole tree.
func (t *Tree) Name() string { return t.name }

// Points are the mount points, in the order they were given.
func (t *Tree) Points() []*Point { return t.points }

// Point is the mount point whose dotted path this is, nil where there is none. The root
// mount has no name.
func (t *Tree) Point(dotted string) *Point {
	for _, p := range t.points {
		if dotted != "" && p.Name() == dotted {
			return p
		}
	}
	return nil
}

// position is where a walk ended: the deepest mount around the path, and the node of the
// path itself where a mount point is there or below.
type position struct {
	path  Namespace // canonical
	point *Point
	node  *node
}

// walk spells the path canonically level by level, each level by the mount around it, so
// that no spelling slips past a mount point into the namespace it hides. The path is checked
// as it was asked, since lower case mends broken UTF-8, and as it is spelled in the end.
func (t *Tree) walk(path Namespace) (position, error) {
	if err := path.Validate(); err != nil {
		return position{}, err
	}
	at := position{path: make(Namespace, 0, len(path)+1), point: t.root.point, node: t.root}
	for _, level := range path {
		if at.point != nil {
			level = at.point.canonical(level)
		}
		at.path = append(at.path, level)
		if at.node == nil {
			continue
		}
		at.node = at.node.children[level]
		if at.node != nil && at.node.point != nil {
			at.point = at.node.point
		}
	}
	if at.path.Equal(path) {
		return at, nil
	}
	return at, at.path.Validate()
}

// Resolve leads a namespace path to its place. It is BadRequest where the path breaks the
// rules of names; whether the namespace exists is not asked, and where no mount is around
// the path the target has no Point. Resolving takes a context and a caller since some entries
// may have to ask a catalog which of two answers for a name.
func (t *Tree) Resolve(_ context.Context, _ Caller, path Namespace) (Target, error) {
	at, err := t.walk(path)
	if err != nil {
		return Target{}, err
	}
	target := Target{Path: at.path, Point: at.point, node: at.node}
	switch {
	case at.node != nil && at.node.point != nil:
		target.Place = MountPoint
	case at.node != nil:
		target.Place = Synthetic
		if at.point != nil && at.point.writesNamespaces() {
			target.Place = Ancestor
		}
	}
	if at.point != nil {
		target.Namespace = at.point.inner(at.path)
	}
	return target, nil
}

// ResolveTable leads the identifier of a table or view to its place, as Resolve does.
func (t *Tree) ResolveTable(ctx context.Context, c Caller, id Identifier) (Target, error) {
	if err := id.Validate(); err != nil {
		return Target{}, err
	}
	target, err := t.Resolve(ctx, c, id.Namespace)
	if err != nil {
		return Target{}, err
	}
	target.Name = id.Name
	if target.Point != nil {
		target.Name = target.Point.canonical(id.Name)
	}
	if err := target.Identifier().Validate(); err != nil {
		return Target{}, err
	}
	return target, nil
}

func (p *Point) writesNamespaces() bool { return is[NamespaceWriter](p) }
