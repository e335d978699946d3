package metadata

import (
	"slices"

	"piedmont/cache/rawjson"
)

// spec is a decoded partition spec or sort order: both are fields with a transform over
// source columns. Each field keeps the object it came from.
type spec struct {
	object *object
	fields []*specField
}

// specField is one field of a partition spec or sort order.
type specField struct {
	*object
	name      string // empty in a sort order
	text      string // the transform as written
	transform transform
	known     bool  // whether the transform is one of the spec's
	sources   []int // one column; more only where v3's source-ids names them
	id        int   // of a partition field, 0 if it has none yet
}

// partitionSpec decodes a partition spec. Field ids may be missing, as in unbound specs.
func (r *reader) partitionSpec(o *object) *spec {
	s := &spec{object: o}
	for _, f := range o.children("fields") {
		sf := readSpecField(f)
		sf.name = f.str("name")
		sf.id, _ = f.optInt("field-id")
		s.fields = append(s.fields, sf)
	}
	return s
}

// sortOrder decodes a sort order.
func (r *reader) sortOrder(o *object) *spec {
	s := &spec{object: o}
	for _, f := range o.children("fields") {
		sf := readSpecField(f)
		if d := f.str("direction"); d != "asc" && d != "desc" {
			r.fail(f.at("direction"), "expected asc or desc")
		}
		if n := f.str("null-order"); n != "nulls-first" && n != "nulls-last" {
			r.fail(f.at("null-order"), "expected nulls-first or nulls-last")
		}
		s.fields = append(s.fields, sf)
	}
	return s
}

func readSpecField(f *object) *specField {
	sf := &specField{object: f, text: f.str("transform")}
	sf.transform, sf.known = parseTransform(sf.text)
	if !f.has("source-ids") {
		sf.sources = []int{f.int("source-id")}
		return sf
	}
	for _, id := range f.longs("source-ids") {
		sf.sources = append(sf.sources, int(id))
	}
	if id, ok := f.optInt("source-id"); ok && !slices.Contains(sf.sources, id) {
		f.r.fail(f.at("source-id"), "not among source-ids")
	}
	return sf
}

// describe is the field as Java prints it in messages.
func (f *specField) describe() string {
	text := f.text + "("
	for i, id := range f.sources {
		if i > 0 {
			text += ", "
		}
		text += itoa(id)
	}
	if f.name == "" {
		return text + ")"
	}
	return itoa(f.id) + ": " + f.name + ": " + text + ")"
}

// check verifies that the columns exist in the schema and suit the transforms. kind is
// "partition" or "sort". Rules and texts: PartitionSpec.checkCompatibility and
// SortOrder.checkCompatibility in Java.
func (s *spec) check(sc *schema, kind string) error {
	for _, f := range s.fields {
		// A dropped column of a v1 table stays as a void transform without a source.
		if kind == "partition" && f.transform.name == "void" {
			continue
		}
		for _, id := range f.sources {
			if err := f.checkSource(sc.byID[id], kind); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *specField) checkSource(source *field, kind string) error {
	if source == nil {
		return badRequest("Cannot find source column for " + kind + " field: " + f.describe())
	}
	base := source.typ.base
	if !isPrimitive(base) {
		return badRequest("Cannot " + kind + " by non-primitive source field: " + source.typ.text())
	}
	// A type or transform newer than this code isn't judged.
	if f.known && base != "" && !f.transform.accepts(base) {
		return badRequest("Invalid source type " + source.typ.text() + " for transform: " + f.text)
	}
	if kind != "partition" {
		return nil
	}
	for p := source.parent; p != nil; p = p.parent {
		if p.typ.base != typeStruct {
			return badRequest("Invalid partition field parent: " + p.typ.base)
		}
	}
	return nil
}

// checkNew applies the rules for a spec or order that is being added: transforms the
// spec defines (Java lets any text pass, and then no one can write the table), and the
// names of partition fields.
func (s *spec) checkNew(sc *schema, kind string) error {
	names, ids, same := map[string]bool{}, map[int]bool{}, map[string]string{}
	for _, f := range s.fields {
		if !f.known {
			return badRequest("Invalid transform: " + f.text)
		}
		if kind != "partition" {
			continue
		}
		switch {
		case f.name == "":
			return badRequest("Cannot use empty partition name")
		case names[f.name]:
			return badRequest("Cannot use partition name more than once: " + f.name)
		case f.id != 0 && ids[f.id]:
			return badRequest("Cannot use partition field id more than once: " + itoa(f.id))
		}
		names[f.name], ids[f.id] = true, true
		// Java's clients don't send these two, and iceberg-go can't read them.
		key := f.transform.name + itoa(f.transform.width) + f.key()[len(f.text):]
		if first, ok := same[key]; ok && f.transform.name != "void" {
			return badRequest("Cannot add redundant partition: " + f.name + " conflicts with " + first)
		}
		same[key] = f.name
		if slices.ContainsFunc(f.sources, func(id int) bool { return id < 1 && sc.byID[id] == nil }) {
			return badRequest("Cannot find source column for partition field: " + f.describe())
		}
		if err := f.checkName(sc); err != nil {
			return err
		}
	}
	return s.check(sc, kind)
}

// remap replaces the ids of source columns, in the raw members too. An id that the map
// doesn't know is an error.
func (s *spec) remap(ids map[int]int, kind string) error {
	for _, f := range s.fields {
		text := []byte{'['}
		for i, old := range f.sources {
			id, ok := ids[old]
			if !ok {
				return badRequest("Cannot find source column for " + kind + " field: " + f.describe())
			}
			if i > 0 {
				text = append(text, ',')
			}
			text = rawjson.AppendInt(text, int64(id))
		}
		if old, ok := f.optInt("source-id"); ok {
			f.Set("source-id", rawjson.AppendInt(nil, int64(ids[old])))
		}
		if f.has("source-ids") {
			f.Set("source-ids", append(text, ']'))
		}
		for i, old := range f.sources {
			f.sources[i] = ids[old]
		}
	}
	return nil
}

// render is the text of the spec or order with its id set and its fields as they are
// now.
func (s *spec) render(idKey string, id int) []byte {
	s.object.Set(idKey, rawjson.AppendInt(nil, int64(id)))
	s.object.Set("fields", s.renderFields())
	return s.object.AppendTo(nil)
}

func (s *spec) renderFields() []byte {
	text := []byte{'['}
	for i, f := range s.fields {
		if i > 0 {
			text = append(text, ',')
		}
		text = f.AppendTo(text)
	}
	return append(text, ']')
}
