package metadata

import (
	"hash/fnv"
	"slices"
	"strings"

	"piedmont/cache/rawjson"
)

// maxTypeDepth bounds how deeply types may nest. Engines give up far earlier, and with
// it nothing here grows with the square of a schema's size.
const maxTypeDepth = 100

// schema is a decoded schema. The tree it came from keeps what isn't decoded.
type schema struct {
	tree        *rawjson.Tree
	root        *fieldType
	identifiers []int
	byID        map[int]*field
	byName      map[uint64][]*field // by hash of the full name: full names aren't kept
	highest     int                 // the highest field id, 0 if there is no field
	nullDefault bool                // a field has a default that is null
}

// field is a column, a field of a struct, the element of a list, or the key or value of
// a map.
type field struct {
	id       int
	name     string // its last part
	required bool
	typ      *fieldType
	parent   *field
	element  bool          // of a list or map, not of a struct
	tree     *rawjson.Tree // of the object that describes it; the type's own for elements
	hash     uint64        // of the full name
}

// fieldType is a type. base is "struct", "list", "map", or of a primitive the name
// without parameters, empty if the spec has none of that name.
type fieldType struct {
	base   string
	fields []*field
	tree   *rawjson.Tree
}

// text is a type as people write it.
func (t *fieldType) text() string {
	if s, ok := rawjson.String(t.tree.Raw); ok {
		return s
	}
	return t.base
}

// invalid is what is wrong in a schema and where, relative to where the error is.
type invalid struct{ path, reason string }

// in says that e happened below a member or element.
func (e *invalid) in(path string) *invalid {
	if e == nil {
		return nil
	}
	if e.path != "" && e.path[0] != '[' {
		path += "."
	}
	e.path = path + e.path
	return e
}

// schema decodes a schema: the shape of everything, ids once each, names once each.
// Types the spec doesn't know pass; see checkSchema. What is wrong goes to r.
func (r *reader) schema(raw []byte, path string) *schema {
	s := &schema{byID: map[int]*field{}, byName: map[uint64][]*field{}}
	tree, err := rawjson.ParseTree(raw, maxDepth)
	if err != nil {
		r.fail(path, reasonOf(err))
		return s
	}
	s.tree = tree
	if bad := s.decode(); bad != nil {
		r.fail(bad.in(path).path, bad.reason)
	}
	return s
}

func (s *schema) decode() (bad *invalid) {
	if base, _ := textOf(s.tree.Get("type")); base != typeStruct {
		return &invalid{"type", "a schema must be a struct"}
	}
	if s.root, bad = s.structType(s.tree, nil, 1); bad != nil {
		return bad
	}
	ids := s.tree.Get("identifier-field-ids")
	if ids == nil || rawjson.IsNull(ids.Raw) {
		return nil
	}
	if !ids.IsArray() {
		return &invalid{"identifier-field-ids", "expected an array"}
	}
	for i, e := range ids.Elements {
		id, ok := rawjson.Int32(e.Raw)
		if !ok {
			return &invalid{"identifier-field-ids[" + itoa(i) + "]", "expected an integer of 32 bits"}
		}
		s.identifiers = append(s.identifiers, id)
	}
	return nil
}

// textOf is the string in a member that may be absent.
func textOf(t *rawjson.Tree) (string, bool) {
	if t == nil {
		return "", false
	}
	return rawjson.String(t.Raw)
}

func (s *schema) typeOf(t *rawjson.Tree, parent *field, depth int) (*fieldType, *invalid) {
	if t == nil {
		return nil, &invalid{"", "missing"}
	}
	if name, ok := rawjson.String(t.Raw); ok {
		return &fieldType{base: primitiveBase(name), tree: t}, nil
	}
	if depth > maxTypeDepth {
		return nil, &invalid{"", "types nested more than " + itoa(maxTypeDepth) + " deep"}
	}
	switch base, _ := textOf(t.Get("type")); base {
	case typeStruct:
		return s.structType(t, parent, depth)
	case typeList:
		return s.nested(t, typeList, parent, depth, "element")
	case typeMap:
		return s.nested(t, typeMap, parent, depth, "key", "value")
	}
	return nil, &invalid{"", "not a type"}
}

func (s *schema) structType(t *rawjson.Tree, parent *field, depth int) (*fieldType, *invalid) {
	fields := t.Get("fields")
	if fields == nil || !fields.IsArray() {
		return nil, &invalid{"fields", "expected an array"}
	}
	st := &fieldType{base: typeStruct, tree: t, fields: make([]*field, 0, len(fields.Elements))}
	for i, e := range fields.Elements {
		f, bad := s.structField(e, parent, depth)
		if bad != nil {
			return nil, bad.in("fields[" + itoa(i) + "]")
		}
		st.fields = append(st.fields, f)
	}
	return st, nil
}

func (s *schema) structField(t *rawjson.Tree, parent *field, depth int) (*field, *invalid) {
	name, ok := textOf(t.Get("name"))
	if !ok {
		return nil, &invalid{"name", "expected a string"}
	}
	if doc := t.Get("doc"); doc != nil && !rawjson.IsNull(doc.Raw) {
		if _, ok := textOf(doc); !ok {
			return nil, &invalid{"doc", "expected a string"}
		}
	}
	for _, key := range []string{"initial-default", "write-default"} {
		s.nullDefault = s.nullDefault || t.Get(key) != nil && !hasDefault(t, key)
	}
	f := &field{name: name, parent: parent, tree: t}
	var bad *invalid
	if f.required, bad = boolOf(t, "required"); bad != nil {
		return nil, bad
	}
	if bad = s.register(f, t, "id"); bad != nil {
		return nil, bad
	}
	f.typ, bad = s.typeOf(t.Get("type"), f, depth+1)
	return f, bad.in("type")
}

// nested decodes a list or map, each part of which is described by members of the one
// object: "element", "element-id", "element-required". A map's key is always required.
func (s *schema) nested(t *rawjson.Tree, base string, parent *field, depth int, parts ...string) (*fieldType, *invalid) {
	n := &fieldType{base: base, tree: t}
	for _, part := range parts {
		f := &field{name: part, parent: parent, tree: t, required: true, element: true}
		var bad *invalid
		if part != "key" {
			if f.required, bad = boolOf(t, part+"-required"); bad != nil {
				return nil, bad
			}
		}
		if bad = s.register(f, t, part+"-id"); bad != nil {
			return nil, bad
		}
		if f.typ, bad = s.typeOf(t.Get(part), f, depth+1); bad != nil {
			return nil, bad.in(part)
		}
		n.fields = append(n.fields, f)
	}
	return n, nil
}

func boolOf(t *rawjson.Tree, key string) (bool, *invalid) {
	if v := t.Get(key); v != nil && (string(v.Raw) == "true" || string(v.Raw) == "false") {
		return string(v.Raw) == "true", nil
	}
	return false, &invalid{key, "expected true or false"}
}

// register reads a field's id and enters it in the indexes. Java can't load a schema
// that has an id or a full name twice.
func (s *schema) register(f *field, t *rawjson.Tree, idKey string) *invalid {
	v := t.Get(idKey)
	if v == nil {
		return &invalid{idKey, "missing"}
	}
	id, ok := rawjson.Int32(v.Raw)
	if !ok {
		return &invalid{idKey, "expected an integer of 32 bits"}
	}
	if s.byID[id] != nil {
		return &invalid{idKey, "field id " + itoa(id) + " is used twice"}
	}
	f.id = id
	s.byID[id] = f
	s.highest = max(s.highest, id)
	if f.hash = hashName(f.name); f.parent != nil {
		f.hash = extendHash(f.parent.hash, "."+f.name)
	}
	for _, other := range s.byName[f.hash] {
		if other.fullName() == f.fullName() {
			return &invalid{"name", "two fields are named '" + f.fullName() + "'"}
		}
	}
	s.byName[f.hash] = append(s.byName[f.hash], f)
	return nil
}

// hashName is FNV-1a, which can be extended: the hash of a full name comes from its
// parent's, without writing the name out. Written out at every field, names would take
// the square of what a deep schema takes.
func hashName(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // a hash never fails
	return h.Sum64()
}

func extendHash(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// fullName joins the names from the top with dots.
func (f *field) fullName() string {
	var parts []string
	for ; f != nil; f = f.parent {
		parts = append(parts, f.name)
	}
	slices.Reverse(parts)
	return strings.Join(parts, ".")
}

// find is the field of that full name, nil where there is none.
func (s *schema) find(fullName string) *field {
	for _, f := range s.byName[hashName(fullName)] {
		if f.fullName() == fullName {
			return f
		}
	}
	return nil
}
