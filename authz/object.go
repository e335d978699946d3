package authz

import (
	"strings"

	"piedmont/mounts"
)

// Type is the Cedar entity type of an object.
type Type string

// The types of object.
const (
	Namespace Type = "Namespace"
	Table     Type = "Table"
	View      Type = "View"
)

var objectTypes = []Type{Namespace, Table, View}

// Object is what a decision is about: a canonical path in the whole tree and the mount
// point that answers for it.
type Object struct {
	Type Type
	// Path is the namespace; Name the table or view in it, empty for a Namespace.
	Path mounts.Namespace
	Name string
	// Mount is the dotted path of the mount point; InMount is false outside every mount.
	Mount   string
	InMount bool
	// AboveMount is whether mount points lie below the namespace.
	AboveMount bool
}

// NamespaceOf is the object of a resolved namespace.
func NamespaceOf(t mounts.Target) Object {
	o := Object{Type: Namespace, Path: t.Path, AboveMount: t.AboveMount()}
	o.setMount(t)
	return o
}

// TableOf is the object of a resolved table.
func TableOf(t mounts.Target) Object {
	o := Object{Type: Table, Path: t.Path, Name: t.Name}
	o.setMount(t)
	return o
}

// ViewOf is the object of a resolved view.
func ViewOf(t mounts.Target) Object {
	o := TableOf(t)
	o.Type = View
	return o
}

func (o *Object) setMount(t mounts.Target) {
	if t.Point != nil {
		o.Mount, o.InMount = t.Point.Name(), true
	}
}

// ID is the object's Cedar id: each level with "%" as %25 and "." as %2E, joined by
// dots, so that two objects never share one. The root namespace is "".
func (o Object) ID() string {
	if o.Type == Namespace {
		return namespaceID(o.Path)
	}
	return joinLevels(o.Path, o.Name)
}

func namespaceID(n mounts.Namespace) string {
	switch len(n) {
	case 0:
		return ""
	case 1:
		return escape(n[0])
	}
	return joinLevels(n.Parent(), n.Last())
}

// joinLevels makes one string of the levels and the name below them.
func joinLevels(n mounts.Namespace, name string) string {
	size := len(name)
	for _, level := range n {
		size += len(level) + 1
	}
	var b strings.Builder
	b.Grow(size)
	for _, level := range n {
		b.WriteString(escape(level))
		b.WriteByte('.')
	}
	b.WriteString(escape(name))
	return b.String()
}

var escaper = strings.NewReplacer("%", "%25", ".", "%2E")

func escape(level string) string {
	if !strings.ContainsAny(level, "%.") {
		return level
	}
	return escaper.Replace(level)
}
