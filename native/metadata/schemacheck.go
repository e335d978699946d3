package metadata

import (
	"maps"
	"slices"

	"piedmont/cache/rawjson"
)

// checkSchema applies the rules for a schema that is being added to a table of that
// format version: only types the version knows, no initial defaults before v3, and
// identifier fields that can identify. Texts and rules are those of Java's
// Schema.checkCompatibility and Schema.validateIdentifierField.
func checkSchema(s *schema, version int) error {
	return s.check(version, "Invalid schema for v"+itoa(version)+": ")
}

// checkViewSchema is checkSchema for a view, whose columns may be of any type there is.
func checkViewSchema(s *schema) error { return s.check(maxFormatVersion, "Invalid view schema: ") }

func (s *schema) check(version int, intro string) error {
	for _, id := range slices.Sorted(maps.Keys(s.byID)) {
		if err := checkField(s.byID[id], version, intro); err != nil {
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

func checkField(f *field, version int, intro string) error {
	problem := ""
	switch base := f.typ.base; {
	case f.name == "" && !f.element: // iceberg-go can't read it
		problem = "A field has no name: " + f.fullName()
	case base == "":
		return badRequest("Cannot parse type string to primitive: " + f.typ.text() + " (field " + f.fullName() + ")")
	case minVersion(base) > version:
		problem = "Invalid type for " + f.fullName() + ": " + f.typ.text() + " is not supported until v" + itoa(minVersion(base))
	case base == typeUnknown && f.required:
		problem = "Cannot create required field with unknown type: " + f.fullName()
	case f.element: // has no default
	case hasDefault(f.tree, "initial-default") && version < 3:
		problem = "Invalid initial default for " + f.fullName() + ": non-null default is not supported until v3"
	default:
		problem = f.defaultFault()
	}
	if problem == "" {
		return nil
	}
	return badRequest(intro + problem)
}

// defaultFault says what is wrong with the field's defaults, empty if nothing is.
func (f *field) defaultFault() string {
	for _, key := range []string{"initial-default", "write-default"} {
		if !hasDefault(f.tree, key) || validDefault(f.typ, f.tree.Get(key).Raw) {
			continue
		}
		if isNested(f.typ.base) {
			return "Invalid default value for " + f.fullName() + ": must be null"
		}
		return "Invalid default value for " + f.fullName() + ": not a value of " + f.typ.text()
	}
	return ""
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
