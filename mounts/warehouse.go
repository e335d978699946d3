package mounts

import (
	"context"
	"time"
)

// Warehouse is what one ?warehouse= shows: the whole tree, or the subtree below a mount
// point as a catalog of its own, for engines with one level of namespaces. It changes
// spelling only: names are led to full paths before anything is decided, so policies and
// page tokens don't vary by view.
type Warehouse struct {
	// At is the namespace whose children are the view's top level; empty for the whole tree.
	At Namespace
	// Prefix is the {prefix} of the API's paths; empty for the whole tree.
	Prefix string
}

// Warehouse finds what a client's ?warehouse= names: the tree's name or nothing for all
// of it, a mount point's dotted path for the subtree. NoSuchWarehouse for other names,
// BadRequest for a mount whose tables lie at the mount point itself: below a root they
// would have no namespace.
func (t *Tree) Warehouse(name string) (Warehouse, error) {
	if name == "" || name == t.name {
		return Warehouse{}, nil
	}
	p := t.Point(name)
	if p == nil {
		return Warehouse{}, &Error{Kind: NoSuchWarehouse, Op: "getConfig", Name: name}
	}
	if len(p.Source) > 0 {
		return Warehouse{}, &Error{
			Kind: BadRequest, Op: "getConfig", Name: name,
			Detail: "Warehouse '{name}' shows one namespace of its source, so its tables have no namespace below it: use the whole tree",
		}
	}
	return Warehouse{At: p.At, Prefix: p.Name()}, nil
}

// Down is the full path of a namespace of the view.
func (w Warehouse) Down(n Namespace) Namespace {
	if len(w.At) == 0 {
		return n
	}
	return w.At.Join(n)
}

// Up is the view's name of a full path at or below At.
func (w Warehouse) Up(n Namespace) Namespace { return n[len(w.At):] }

// Restore puts the view's names in place of the tree's in an error.
func (w Warehouse) Restore(err error) error {
	if len(w.At) == 0 {
		return err
	}
	return Target{Point: &Point{Source: w.At}}.Restore(err)
}

// hiddenTimeout bounds the question to a mount that can't be written whether a mount point
// hides one of its namespaces: it is asked for a warning only.
const hiddenTimeout = 5 * time.Second

// Prepare makes the tree's promises true in the writable mounts: the ancestors of mount
// points exist there, and no mount point hides a namespace. warn hears of a namespace
// hidden in a mount that can't be written; one in a writable mount is an error.
func (t *Tree) Prepare(ctx context.Context, c Caller, warn func(string)) error {
	for _, p := range t.points {
		for depth := 1; depth <= len(p.At); depth++ {
			if err := t.prepare(ctx, c, p.At[:depth], warn); err != nil {
				return &Error{Kind: KindOf(err), Op: "prepare the mount at", Name: p.Name(), Err: err}
			}
		}
	}
	return nil
}

func (t *Tree) prepare(ctx context.Context, c Caller, path Namespace, warn func(string)) error {
	at, err := t.Resolve(ctx, c, path)
	if err != nil {
		return err
	}
	around, err := t.Resolve(ctx, c, path.Parent())
	if err != nil || around.Point == nil {
		return err
	}
	hidden := around.Point.inner(path)
	writer, ok := around.Point.Mount.(NamespaceWriter)
	if !ok {
		if at.Place == MountPoint && around.Point.has(ctx, c, hidden) {
			warn("the mount at '" + path.String() + "' hides a namespace of the " + around.Point.describe())
		}
		return nil
	}
	_, err = around.Point.Mount.LoadNamespace(ctx, c, hidden)
	switch {
	case at.Place == MountPoint && err == nil:
		return &Error{Kind: AlreadyExists, Name: path.String(), Detail: "The mount at '{name}' would hide a namespace of the " + around.Point.describe() + ": rename the mount"}
	case at.Place == Ancestor && Is(err, NoSuchNamespace):
		_, err = writer.CreateNamespace(ctx, c, hidden, map[string]string{})
		if Is(err, AlreadyExists) { // another replica was faster
			return nil
		}
	case Is(err, NoSuchNamespace):
		return nil
	}
	return around.Restore(err)
}

// has says whether the mount surely has the namespace. One that is down says nothing,
// which is no reason not to start.
func (p *Point) has(ctx context.Context, c Caller, n Namespace) bool {
	ctx, cancel := context.WithTimeout(ctx, hiddenTimeout)
	defer cancel()
	_, err := p.Mount.LoadNamespace(ctx, c, n)
	return err == nil
}
