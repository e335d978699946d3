package metadata

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"piedmont/cache/rawjson"
)

// identity is what makes two schemas, specs or orders the same but for their ids: texts
// with members sorted, nulls and white space dropped.
type identity struct {
	full  string
	plain string // of the members the spec defines
}

// identities leads from the schemas, specs or orders there are to their ids.
type identities struct{ full, plain map[string]int64 }

func identitiesOf(l *list, of func(json.RawMessage) identity) *identities {
	s := &identities{map[string]int64{}, map[string]int64{}}
	for i, raw := range l.raws {
		if raw != nil {
			s.add(of(raw), l.ids[i])
		}
	}
	return s
}

// add enters one. The first of two that are the same counts, as in Java.
func (s *identities) add(i identity, id int64) {
	if _, ok := s.full[i.full]; !ok {
		s.full[i.full] = id
	}
	if _, ok := s.plain[i.plain]; !ok {
		s.plain[i.plain] = id
	}
}

// find is the id of one that can be reused for i. Members nobody knows must be the same
// where i has any, or they would be lost; a client that sends none doesn't know them,
// and can't have meant to drop them.
func (s *identities) find(i identity) (id int64, ok bool) {
	if id, ok = s.full[i.full]; !ok && i.full == i.plain {
		id, ok = s.plain[i.plain]
	}
	return id, ok
}

func (s *identities) forget(ids []int64) {
	gone := make(map[int64]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	for _, m := range []map[string]int64{s.full, s.plain} {
		maps.DeleteFunc(m, func(_ string, id int64) bool { return gone[id] })
	}
}

func schemaIdentity(raw json.RawMessage) identity {
	t, err := rawjson.ParseTree(raw, rawjson.MaxDepth)
	if err != nil {
		return identity{string(raw), string(raw)}
	}
	return identityOf(t)
}

// identity is that of the fields, in order (PartitionSpec.compatibleWith and
// SortOrder.sameOrder in Java).
func (s *spec) identity() identity {
	raw := s.renderFields()
	t, err := rawjson.ParseTree(raw, rawjson.MaxDepth)
	if err != nil {
		return identity{string(raw), string(raw)}
	}
	return identityOf(t)
}

func identityOf(t *rawjson.Tree) identity {
	i := identity{full: string(canonical{}.append(nil, t, ""))}
	i.plain = string(canonical{plain: true}.append(nil, t, ""))
	return i
}

// canonical spells values one way; plain leaves out members the spec doesn't define.
// verbatim is for what a schema's rules don't hold of: each member counts, as it is.
type canonical struct{ plain, verbatim bool }

func (c canonical) append(dst []byte, t *rawjson.Tree, key string) []byte {
	if s, ok := rawjson.String(t.Raw); ok {
		if key == "type" && !c.verbatim {
			s = strings.ReplaceAll(s, " ", "") // decimal(9, 2)
		}
		return rawjson.AppendString(dst, s)
	}
	if strings.HasSuffix(key, "-default") {
		c.plain = false // a value: all its members count
	}
	switch {
	case t.IsObject():
		return c.appendObject(dst, t)
	case t.IsArray():
		return c.appendArray(dst, t, key)
	}
	return append(dst, t.Raw...)
}

func (c canonical) appendObject(dst []byte, t *rawjson.Tree) []byte {
	return appendSorted(dst, t, c.counts, func(dst []byte, m rawjson.TreeMember) []byte { return c.append(dst, m.Value, m.Key) })
}

// appendSorted appends an object of those members that count, each as value has it.
func appendSorted(
	dst []byte, t *rawjson.Tree, counts func(rawjson.TreeMember) bool, value func([]byte, rawjson.TreeMember) []byte,
) []byte {
	members := make([]rawjson.TreeMember, 0, len(t.Members))
	for _, m := range t.Members {
		if counts(m) {
			members = append(members, m)
		}
	}
	slices.SortFunc(members, func(a, b rawjson.TreeMember) int { return strings.Compare(a.Key, b.Key) })
	dst = append(dst, '{')
	for _, m := range members {
		dst = append(rawjson.AppendString(dst, m.Key), ':')
		dst = append(value(dst, m), ',')
	}
	return append(dst, '}')
}

// counts says whether a member makes a difference. The ids that the server gives don't.
func (c canonical) counts(m rawjson.TreeMember) bool {
	switch {
	case c.verbatim:
		return true
	case rawjson.IsNull(m.Value.Raw):
		return false
	}
	switch m.Key {
	case "schema-id", "field-id":
		return false
	case "identifier-field-ids":
		return len(m.Value.Elements) > 0
	case "type", "fields", "id", "name", "required", "doc", "initial-default", "write-default",
		"element-id", "element", "element-required", "key-id", "key", "value-id", "value", "value-required",
		"transform", "source-id", "source-ids", "direction", "null-order":
		return true
	}
	return !c.plain
}

func (c canonical) appendArray(dst []byte, t *rawjson.Tree, key string) []byte {
	elements := t.Elements
	if key == "identifier-field-ids" && !c.verbatim {
		elements = slices.Clone(elements)
		slices.SortFunc(elements, func(a, b *rawjson.Tree) int { return bytes.Compare(a.Raw, b.Raw) })
	}
	dst = append(dst, '[')
	for _, e := range elements {
		dst = append(c.append(dst, e, ""), ',')
	}
	return append(dst, ']')
}
