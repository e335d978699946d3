package metadata

import (
	"encoding/json"

	"piedmont/cache/rawjson"
)

// members is the top level of a document under construction, of a table or a view:
// what isn't touched stays text, what is gets decoded on first touch.
type members struct {
	r     *reader // for what is decoded of the base
	top   rawjson.Object
	lists map[string]*list
	reuse map[string]*identities // see builder.known, viewBuilder.known
}

func newMembers(what string) members {
	return members{r: &reader{what: what}, lists: map[string]*list{}, reuse: map[string]*identities{}}
}

// list is one of the arrays of objects with an id.
func (m *members) list(name string) *list {
	l := m.lists[name]
	if l == nil {
		l = readList(m.r, &m.top, name, idKeyOf(name))
		m.lists[name] = l
	}
	return l
}

func idKeyOf(list string) string {
	switch list {
	case "schemas":
		return "schema-id"
	case "partition-specs":
		return "spec-id"
	case "sort-orders":
		return "order-id"
	case "versions":
		return "version-id"
	}
	return "snapshot-id" // both kinds of statistics
}

// writeLists puts back those of the lists that changed.
func (m *members) writeLists(names ...string) {
	for _, name := range names {
		if l := m.lists[name]; l != nil && l.changed {
			m.top.Set(name, l.text())
		}
	}
}

// member is a top-level object, decoded on first use into *at.
func (m *members) member(at **rawjson.Object, name string) *rawjson.Object {
	if *at == nil {
		raw, _ := m.top.Get(name)
		o := &rawjson.Object{}
		if !rawjson.IsNull(raw) {
			o = &m.r.object(raw, name).Object
		}
		*at = o
	}
	return *at
}

// number sets a top-level integer, if it is wanted and isn't that already.
func (m *members) number(key string, n int64, wanted bool) {
	raw, _ := m.top.Get(key)
	if have, ok := rawjson.Int(raw); wanted && (!ok || have != n) {
		m.top.Set(key, rawjson.AppendInt(nil, n))
	}
}

// text is number for a string that isn't empty.
func (m *members) text(key, s string) {
	raw, _ := m.top.Get(key)
	if have, ok := rawjson.String(raw); s != "" && (!ok || have != s) {
		m.top.Set(key, rawjson.AppendString(nil, s))
	}
}

// withoutGaps is what of a log may stay once things have gone: what follows the last
// entry of one that isn't there, or time travel would find the wrong one in the gap.
func (m *members) withoutGaps(name string, log []json.RawMessage, idKey string, exists func(int64) bool) []json.RawMessage {
	from := 0
	for i, e := range log {
		if id, _ := m.r.object(e, name).optLong(idKey); !exists(id) {
			from = i + 1
		}
	}
	return log[from:]
}

// setStrings sets properties, in the order of their names. It says whether any was
// another before.
func setStrings(o *rawjson.Object, values map[string]string) (changed bool) {
	for _, name := range sortedKeys(values) {
		old, _ := o.Get(name)
		if s, ok := rawjson.String(old); !ok || s != values[name] {
			o.Set(name, rawjson.AppendString(nil, values[name]))
			changed = true
		}
	}
	return changed
}

// deleteAll removes properties and says whether there were any to remove.
func deleteAll(o *rawjson.Object, names []string) (changed bool) {
	for _, name := range names {
		changed = o.Delete(name) || changed
	}
	return changed
}

// property is one of a document's properties.
func property(top *rawjson.Object, name string) (value string, ok bool) {
	props, _ := top.Get("properties")
	if rawjson.IsNull(props) {
		return "", false
	}
	raw, ok, err := rawjson.Member(props, name)
	if err != nil || !ok {
		return "", false
	}
	return rawjson.String(raw)
}

// properties is all of them that are strings.
func properties(top *rawjson.Object) map[string]string {
	all := map[string]string{}
	raw, _ := top.Get("properties")
	props, err := rawjson.ParseObject(raw)
	if err != nil {
		return all
	}
	for k, v := range props.All() {
		if s, ok := rawjson.String(v); ok {
			all[k] = s
		}
	}
	return all
}
