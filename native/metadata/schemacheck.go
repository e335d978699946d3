package metadata

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"piedmont/cache/rawjson"
)

// checkSchema applies the rules for a schema that is being added to a table of that
// format version: only types the version knows, no initial defaults before v3, and
// identifier fields that can identify. Texts and rules are those of Java's
// Schema.checkCompatibility and Schema.validateIdentifierField.
func checkSchema(s *schema, version int) error {
	for _, id := range slices.Sorted(maps.Keys(s.byID)) {
		if err := checkField(s.byID[id], version); err != nil {
			return err
		}
	}
	for _, id := range s.identifiers {
		if reason := s.identifierFault(id); reason != "" {
			return badRequest("Cannot add field " + reason)
		}
	}
	return nil
}

func checkField(f *field, version int) error {
	problem := ""
	switch base := f.typ.base; {
	case base == "":
		return badRequest("Cannot parse type string to primitive: " + f.typ.text() + " (field " + f.fullName() + ")")
	case minVersion(base) > version:
		problem = "Invalid type for " + f.fullName() + ": " + f.typ.text() + " is not supported until v" + itoa(minVersion(base))
	case base == typeUnknown && f.required:
		problem = "Cannot create required field with unknown type: " + f.fullName()
	case f.element: // has no default
	case hasDefault(f.tree, "initial-default") && version < 3:
		problem = "Invalid initial default for " + f.fullName() + ": non-null default is not supported until v3"
	case isNested(base) && (hasDefault(f.tree, "initial-default") || hasDefault(f.tree, "write-default")):
		problem = "Invalid default value for " + f.fullName() + ": must be null"
	}
	if problem == "" {
		return nil
	}
	return badRequest("Invalid schema for v" + itoa(version) + ": " + problem)
}

func hasDefault(t *rawjson.Tree, key string) bool {
	v := t.Get(key)
	return v != nil && !rawjson.IsNull(v.Raw)
}

// identifierFault says why a field can't be part of the identity of a row, empty if it
// can.
func (s *schema) identifierFault(id int) string {
	f := s.byID[id]
	if f == nil {
		return "Id " + itoa(id) + " as an identifier field: field does not exist"
	}
	fault := f.fullName() + " as an identifier field: "
	switch {
	case !isPrimitive(f.typ.base):
		return fault + "not a primitive type field"
	case !f.required:
		return fault + "not a required field"
	case f.typ.base == "float" || f.typ.base == "double":
		return fault + "must not be float or double field"
	}
	for p := f.parent; p != nil; p = p.parent {
		if p.typ.base != typeStruct {
			return fault + "must not be nested in " + p.fullName()
		}
		if !p.required {
			return fault + "must not be nested in an optional field " + p.fullName()
		}
	}
	return ""
}

// canonicalSchema is a text that two schemas share if they are the same but for their id:
// members sorted, nulls and white space dropped, identifier fields sorted. Members
// nobody knows count, or one could be lost by reusing a schema that lacks it.
func canonicalSchema(raw []byte) string {
	t, err := rawjson.ParseTree(raw, rawjson.MaxDepth)
	if err != nil {
		return string(raw)
	}
	return string(appendCanonical(make([]byte, 0, len(raw)), t, "", "schema-id"))
}

// appendCanonical appends t, the member called key, without its members called skip.
func appendCanonical(dst []byte, t *rawjson.Tree, key string, skip ...string) []byte {
	if s, ok := rawjson.String(t.Raw); ok {
		if key == "type" {
			s = strings.ReplaceAll(s, " ", "") // decimal(9, 2)
		}
		return rawjson.AppendString(dst, s)
	}
	switch {
	case t.IsObject():
		return appendCanonicalObject(dst, t, skip)
	case t.IsArray():
		return appendCanonicalArray(dst, t, key)
	}
	return append(dst, t.Raw...)
}

func appendCanonicalObject(dst []byte, t *rawjson.Tree, skip []string) []byte {
	members := make([]rawjson.TreeMember, 0, len(t.Members))
	for _, m := range t.Members {
		empty := m.Key == "identifier-field-ids" && len(m.Value.Elements) == 0
		if !rawjson.IsNull(m.Value.Raw) && !slices.Contains(skip, m.Key) && !empty {
			members = append(members, m)
		}
	}
	slices.SortFunc(members, func(a, b rawjson.TreeMember) int { return strings.Compare(a.Key, b.Key) })
	dst = append(dst, '{')
	for _, m := range members {
		dst = append(rawjson.AppendString(dst, m.Key), ':')
		dst = append(appendCanonical(dst, m.Value, m.Key), ',')
	}
	return append(dst, '}')
}

func appendCanonicalArray(dst []byte, t *rawjson.Tree, key string) []byte {
	elements := t.Elements
	if key == "identifier-field-ids" {
		elements = slices.Clone(elements)
		slices.SortFunc(elements, func(a, b *rawjson.Tree) int { return bytes.Compare(a.Raw, b.Raw) })
	}
	dst = append(dst, '[')
	for _, e := range elements {
		dst = append(appendCanonical(dst, e, ""), ',')
	}
	return append(dst, ']')
}
