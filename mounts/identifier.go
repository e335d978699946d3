package mounts

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Separator divides the levels of a namespace inside one path segment or query
// parameter of the REST protocol (spec: "namespace-separator", default 0x1F). No
// level may contain it.
const Separator = "\x1f"

const (
	// MaxPathBytes bounds the bytes of a whole identifier: its levels and its name
	// added up, one more for each separator. Registries index it, and Postgres keeps
	// index entries under a third of a page.
	MaxPathBytes = 2000
	// MaxLevels bounds the depth of a namespace.
	MaxLevels = 64
)

// Namespace is the path of a namespace, one string a level, outermost first. The
// root is empty. A level may hold any UTF-8 text but control characters; a dot is
// part of a level.
type Namespace []string

// IsRoot says whether n is the root, which holds top-level namespaces.
func (n Namespace) IsRoot() bool { return len(n) == 0 }

// String joins the levels with dots, as Iceberg's messages write names. It is for
// people: two namespaces may read alike.
func (n Namespace) String() string { return strings.Join(n, ".") }

// Parent is the namespace above n. The root's parent is the root.
func (n Namespace) Parent() Namespace {
	if len(n) == 0 {
		return n
	}
	return n[:len(n)-1]
}

// Last is the innermost level, empty for the root.
func (n Namespace) Last() string {
	if len(n) == 0 {
		return ""
	}
	return n[len(n)-1]
}

// Child is a new namespace with one more level. It never shares n's memory.
func (n Namespace) Child(level string) Namespace {
	return append(slices.Clone(n), level)
}

// Join is a new namespace of n's levels and then rest's. It never shares memory.
func (n Namespace) Join(rest Namespace) Namespace {
	return slices.Concat(n, rest)
}

// Equal says whether both name the same namespace, letter for letter.
func (n Namespace) Equal(o Namespace) bool { return slices.Equal(n, o) }

// HasPrefix says whether n is p or lies below it.
func (n Namespace) HasPrefix(p Namespace) bool {
	return len(n) >= len(p) && slices.Equal(n[:len(p)], p)
}

// Encode joins the levels with Separator, the form of paths, of queries and of keys.
func (n Namespace) Encode() string { return strings.Join(n, Separator) }

// Table is the identifier of a table or view of this name inside n.
func (n Namespace) Table(name string) Identifier { return Identifier{Namespace: n, Name: name} }

// Identifier names a table or a view. An empty Namespace means that it lies at the
// root, which no catalog here allows; see Validate.
type Identifier struct {
	Namespace Namespace
	Name      string
}

// String joins levels and name with dots, for people.
func (id Identifier) String() string {
	if len(id.Namespace) == 0 {
		return id.Name
	}
	return id.Namespace.String() + "." + id.Name
}

// Equal says whether both name the same object, letter for letter.
func (id Identifier) Equal(o Identifier) bool {
	return id.Name == o.Name && id.Namespace.Equal(o.Namespace)
}

// Validate checks the rules that hold for every namespace path, whatever mount it
// leads to: at most MaxLevels levels and MaxPathBytes bytes, no empty level, valid
// UTF-8, no control characters. The root is valid. It returns a BadRequest *Error
// that names the rule.
func (n Namespace) Validate() error {
	if len(n) > MaxLevels {
		return &Error{Kind: BadRequest, Detail: "Invalid namespace: more than 64 levels"}
	}
	size := -1
	for _, level := range n {
		if err := validName("namespace", level); err != nil {
			return err
		}
		size += len(level) + 1
	}
	if size > MaxPathBytes {
		return &Error{Kind: BadRequest, Detail: "Invalid namespace: longer than 2,000 bytes"}
	}
	return nil
}

// Validate checks the namespace and the name by the rules of Namespace.Validate. A
// table or view needs a namespace: one at the root is a BadRequest too.
func (id Identifier) Validate() error {
	if err := id.Namespace.Validate(); err != nil {
		return err
	}
	if len(id.Namespace) == 0 {
		return &Error{Kind: BadRequest, Detail: "Invalid identifier: a table or view needs a namespace"}
	}
	if err := validName("name", id.Name); err != nil {
		return err
	}
	if len(id.Namespace.Encode())+1+len(id.Name) > MaxPathBytes {
		return &Error{Kind: BadRequest, Detail: "Invalid identifier: longer than 2,000 bytes"}
	}
	return nil
}

func validName(what, s string) error {
	bad := func(rule string) error {
		return &Error{Kind: BadRequest, Detail: "Invalid " + what + ": " + rule}
	}
	switch {
	case s == "":
		return bad("empty " + map[bool]string{true: "level", false: "name"}[what == "namespace"])
	case !utf8.ValidString(s):
		return bad("not valid UTF-8")
	case strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return bad("contains a control character (0x1F separates namespace levels)")
	case s == "." || s == "..":
		// A client or proxy that cleans paths would ask for something else.
		return bad("'" + s + "' can't be a name")
	}
	return nil
}
