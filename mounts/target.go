package mounts

import (
	"context"
	"errors"
	"strings"
)

// Point attaches a mount at one namespace path of a Tree.
type Point struct {
	// At is the path; empty for the root mount.
	At Namespace
	// Mount is the catalog.
	Mount Mount
	// Kind names what it is in messages: "native", "rest".
	Kind string
	// Source is the namespace of the mount that At shows; empty for all of it.
	Source Namespace
	// Lower makes names below At lower case (the mount point's "case: lower").
	Lower bool
}

// Name is how messages and policies call the mount point: its path joined by dots,
// empty for the root.
func (p *Point) Name() string { return p.At.String() }

func (p *Point) canonical(name string) string {
	if p.Lower {
		name = Lower(name)
	}
	if c, ok := p.Mount.(Canonicalizer); ok {
		name = c.Canonical(name)
	}
	return name
}

// Lower makes a name lower case, as the tree and catalogs that ignore case do. The long s has no
// other lower case than itself, but such catalogs may take it for an s, and so let it past a
// policy or a mount point that spells the name with one.
func Lower(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "\u017f", "s")
}

// describe names the mount point for refusals.
func (p *Point) describe() string {
	at := "at '" + p.Name() + "'"
	if len(p.At) == 0 {
		at = "at the root"
	}
	return "mount " + at + " (" + p.Kind + ")"
}

// inner is the mount's own name of a path at or below p.At.
func (p *Point) inner(path Namespace) Namespace { return p.Source.Join(path[len(p.At):]) }

// Outer is the tree's canonical name of a namespace of the mount; ok is false where it
// lies outside what the point shows.
func (p *Point) Outer(inner Namespace) (Namespace, bool) {
	if len(inner) < len(p.Source) {
		return nil, false
	}
	for i, level := range p.Source {
		if inner[i] != level && p.canonical(inner[i]) != p.canonical(level) {
			return nil, false
		}
	}
	full := p.At.Join(inner[len(p.Source):])
	for i := len(p.At); i < len(full); i++ {
		full[i] = p.canonical(full[i])
	}
	return full, true
}

// Place is what a namespace path leads to.
type Place uint8

// The places.
const (
	// Inside is a namespace of a mount, if the mount has it.
	Inside Place = iota
	// MountPoint is where a mount is attached. It always exists.
	MountPoint
	// Ancestor is a namespace inside a mount that has a mount point somewhere below. It
	// is the mount's own namespace, made when the tree was, and can't be dropped.
	Ancestor
	// Synthetic is a path that exists because a mount point lies below, outside every
	// mount or inside one that can't be written. It is as read-only as a mount point; what
	// the mount around it holds there is shown too.
	Synthetic
)

// Target is a resolved name: where the tree leads it, and its one canonical spelling.
// Policies, caches and audit use Path and Name; the mount is asked for Namespace.
type Target struct {
	// Path is the canonical namespace in the whole tree, and Name the table or view in
	// it, empty where a namespace was resolved.
	Path Namespace
	Name string
	// Place is what Path is.
	Place Place
	// Point is the mount that answers for Path; nil for a Synthetic place outside every mount.
	Point *Point
	// Namespace is Path as Point.Mount calls it.
	Namespace Namespace

	node *node // where mount points lie at or below Path
}

// Identifier is the object's name in the whole tree.
func (t Target) Identifier() Identifier { return Identifier{Namespace: t.Path, Name: t.Name} }

// Inner is the object's name in its mount.
func (t Target) Inner() Identifier { return Identifier{Namespace: t.Namespace, Name: t.Name} }

// fixed says whether Path exists whatever a mount says, and can't be changed.
func (t Target) fixed() bool { return t.Place == MountPoint || t.Place == Synthetic }

// noTables says whether no table can lie in Path: it is no namespace of a mount, or the
// root of one.
func (t Target) noTables() bool { return t.Point == nil || t.Namespace.IsRoot() }

// Restore puts the tree's names in place of the mount's in an error that the mount
// returned, so that a message shows the name the caller used.
func (t Target) Restore(err error) error {
	var e *Error
	if err == nil || !t.renames() || !errors.As(err, &e) {
		return err
	}
	restored := *e
	restored.Name = t.Point.restoreName(e.Name)
	restored.Other = t.Point.restoreName(e.Other)
	return &restored
}

// renames says whether the mount's own names are other than the tree's.
func (t Target) renames() bool {
	return t.Point != nil && (len(t.Point.At) > 0 || len(t.Point.Source) > 0)
}

// restoreTable is the table with Restore behind the errors of its document.
func (t Target) restoreTable(table *Table) *Table {
	if table == nil || table.Metadata == nil || !t.renames() {
		return table
	}
	restored := *table
	restored.Metadata = func(ctx context.Context) (Document, error) {
		d, err := table.Metadata(ctx)
		return d, t.Restore(err)
	}
	return &restored
}

func (p *Point) restoreName(dotted string) string {
	if dotted == "" {
		return ""
	}
	rest := dotted
	if source := p.Source.String(); source == dotted {
		rest = ""
	} else if source != "" {
		var ok bool
		if rest, ok = strings.CutPrefix(dotted, source+"."); !ok {
			return dotted // not of the subtree that the point shows
		}
	}
	switch at := p.Name(); {
	case at == "":
		return rest
	case rest == "":
		return at
	default:
		return at + "." + rest
	}
}

// readOnly is the refusal of a write that the mount can't do. Creating, dropping,
// renaming and properties are 406; a commit is 403, since nothing was written and a 403
// lets the writer clean up its own files.
func (t Target) readOnly(op string, kind Kind) error {
	name := t.Identifier().String()
	if t.Name == "" {
		name = t.Path.String()
	}
	if t.Point == nil {
		return &Error{Kind: kind, Op: op, Name: name, Detail: "No mount at the root: '{name}' can't be changed here"}
	}
	return &Error{
		Kind: kind, Op: op, Name: name, Other: t.Point.describe(),
		Detail: "The {other} is read-only: '{name}' can't be changed through it",
	}
}

// AboveMount says whether mount points lie below Path.
func (t Target) AboveMount() bool { return t.node != nil && len(t.node.children) > 0 }

// LeadsToMount says whether the child of that name is a mount point or lies above one.
func (t Target) LeadsToMount(level string) bool {
	return t.node != nil && t.node.children[level] != nil
}
