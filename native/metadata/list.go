package metadata

import (
	"encoding/json"

	"piedmont/cache/rawjson"
)

// list is one of a document's small arrays of objects that have an id: schemas, specs,
// sort orders, statistics. Its elements stay raw.
type list struct {
	ids     []int64
	raws    []json.RawMessage
	changed bool
}

// readList splits the top-level array of that name, whose elements have their id in
// idKey. An absent array is an empty list.
func readList(r *reader, top *rawjson.Object, name, idKey string) *list {
	l := &list{}
	raw, _ := top.Get(name)
	if rawjson.IsNull(raw) {
		return l
	}
	for i, e := range r.elements(raw, name) {
		l.push(r.object(e, name+"["+itoa(i)+"]").long(idKey), e)
	}
	return l
}

func (l *list) push(id int64, raw json.RawMessage) {
	l.ids = append(l.ids, id)
	l.raws = append(l.raws, raw)
}

func (l *list) add(id int64, raw json.RawMessage) {
	l.push(id, raw)
	l.changed = true
}

func (l *list) find(id int64) int {
	for i, have := range l.ids {
		if have == id {
			return i
		}
	}
	return -1
}

// get is the element of that id, nil where there is none.
func (l *list) get(id int64) json.RawMessage {
	if i := l.find(id); i >= 0 {
		return l.raws[i]
	}
	return nil
}

// put replaces the elements of that id by one; an equal one is left alone.
func (l *list) put(id int64, raw json.RawMessage) {
	if i := l.find(id); i >= 0 {
		if string(l.raws[i]) == string(raw) {
			return
		}
		l.remove(map[int64]bool{id: true})
	}
	l.add(id, raw)
}

// remove takes out the elements of those ids and says whether there were any.
func (l *list) remove(ids map[int64]bool) bool {
	kept := &list{}
	for i, id := range l.ids {
		if !ids[id] {
			kept.push(id, l.raws[i])
		}
	}
	if len(kept.ids) == len(l.ids) {
		return false
	}
	kept.changed = true
	*l = *kept
	return true
}

// nextID is one more than the highest id, first where there is none.
func (l *list) nextID(first int64) int64 {
	next := first
	for _, id := range l.ids {
		next = max(next, id+1)
	}
	return next
}

func (l *list) text() json.RawMessage { return joinArray(l.raws) }

// joinArray is an array of these elements.
func joinArray(elements []json.RawMessage) json.RawMessage {
	size := 2
	for _, e := range elements {
		size += len(e) + 1
	}
	text := append(make([]byte, 0, size), '[')
	for i, e := range elements {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, e...)
	}
	return append(text, ']')
}
