package metadata

import (
	"encoding/json"

	"piedmont/cache/rawjson"
)

// freshIDs numbers the fields of a new table's schema from 1, whatever ids the client
// chose: all fields of a struct first, then what lies inside each, as Java does
// (TypeUtil.assignFreshIds), so that clients who predict the ids are right. It returns
// the highest id; the map leads from the client's ids to the new ones.
func (s *schema) freshIDs() (ids map[int]int, highest int) {
	ids = make(map[int]int, len(s.byID))
	var visit func(t *fieldType)
	visit = func(t *fieldType) {
		for _, f := range t.fields {
			highest++
			ids[f.id] = highest
		}
		for _, f := range t.fields {
			visit(f.typ)
		}
	}
	visit(s.root)
	return ids, highest
}

// withID is the schema's text under that id. Defaults that are null go: they mean none,
// but Java can't load a schema that says so.
func (s *schema) withID(id int64) json.RawMessage {
	if s.nullDefault {
		same := make(map[int]int, len(s.byID))
		for id := range s.byID {
			same[id] = id
		}
		return s.appendRenumbered(nil, int(id), same)
	}
	o, _ := rawjson.ParseObject(s.tree.Raw) // it has been parsed before
	o.Set("schema-id", rawjson.AppendInt(nil, id))
	return o.AppendTo(nil)
}

// appendRenumbered appends the schema's text with its field ids replaced, its schema-id
// set, defaults that are null left out, and all else as it came.
func (s *schema) appendRenumbered(dst []byte, schemaID int, ids map[int]int) []byte {
	n := renumbering{ids: ids}
	identifiers := []byte{'['}
	for i, id := range s.identifiers {
		if i > 0 {
			identifiers = append(identifiers, ',')
		}
		identifiers = rawjson.AppendInt(identifiers, int64(ids[id]))
	}
	identifiers = append(identifiers, ']')
	wrote := false
	dst = n.object(dst, s.tree, func(dst []byte, key string) ([]byte, bool) {
		switch key {
		case "schema-id":
			wrote = true
			return rawjson.AppendInt(dst, int64(schemaID)), true
		case "identifier-field-ids":
			return append(dst, identifiers...), true
		case "fields":
			return n.fields(dst, s.root), true
		}
		return dst, false
	})
	if !wrote {
		dst = append(dst[:len(dst)-1], `,"schema-id":`...)
		dst = append(rawjson.AppendInt(dst, int64(schemaID)), '}')
	}
	return dst
}

type renumbering struct{ ids map[int]int }

// object copies an object; replace appends other values for the members it knows.
func (n renumbering) object(dst []byte, t *rawjson.Tree, replace func([]byte, string) ([]byte, bool)) []byte {
	dst = append(dst, '{')
	for i, m := range t.Members {
		if (m.Key == "initial-default" || m.Key == "write-default") && rawjson.IsNull(m.Value.Raw) {
			continue
		}
		if i > 0 && dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(dst, m.Raw...), ':')
		var done bool
		if dst, done = replace(dst, m.Key); !done {
			dst = append(dst, m.Value.Raw...)
		}
	}
	return append(dst, '}')
}

func (n renumbering) fields(dst []byte, t *fieldType) []byte {
	dst = append(dst, '[')
	for i, f := range t.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = n.object(dst, f.tree, func(dst []byte, key string) ([]byte, bool) {
			switch key {
			case "id":
				return rawjson.AppendInt(dst, int64(n.ids[f.id])), true
			case "type":
				return n.typ(dst, f.typ), true
			}
			return dst, false
		})
	}
	return append(dst, ']')
}

func (n renumbering) typ(dst []byte, t *fieldType) []byte {
	switch t.base {
	case typeStruct:
		return n.object(dst, t.tree, func(dst []byte, key string) ([]byte, bool) {
			if key != "fields" {
				return dst, false
			}
			return n.fields(dst, t), true
		})
	case typeList, typeMap:
		return n.object(dst, t.tree, func(dst []byte, key string) ([]byte, bool) {
			for _, f := range t.fields {
				switch key {
				case f.name:
					return n.typ(dst, f.typ), true
				case f.name + "-id":
					return rawjson.AppendInt(dst, int64(n.ids[f.id])), true
				}
			}
			return dst, false
		})
	}
	return append(dst, t.tree.Raw...)
}
