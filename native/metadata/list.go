package metadata

import (
	"encoding/json"

	"piedmont/cache/rawjson"
)

// list is one of a document's arrays of objects that have an id: schemas, specs, sort
// orders, statistics, encryption keys. Its elements stay raw. Commits may hold tens of
// thousands of updates, so nothing done for one of them walks the list.
type list struct {
	raws    []json.RawMessage // nil where removed
	ids     []int64
	at      map[int64]int // of the last element with that id
	live    int
	next    int64 // one more than the highest id; 0 if it must be looked for
	twice   bool  // an id occurs more than once
	changed bool
}

// readList splits the top-level array of that name, whose elements have their id in
// idKey. An absent array is an empty list.
func readList(r *reader, top *rawjson.Object, name, idKey string) *list {
	l := &list{at: map[int64]int{}}
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
	if _, ok := l.at[id]; ok {
		l.twice = true
	}
	if id >= l.next && (l.next > 0 || l.live == 0) {
		l.next = id + 1
	}
	l.at[id] = len(l.ids)
	l.ids = append(l.ids, id)
	l.raws = append(l.raws, raw)
	l.live++
}

func (l *list) add(id int64, raw json.RawMessage) {
	l.push(id, raw)
	l.changed = true
}

func (l *list) has(id int64) bool {
	_, ok := l.at[id]
	return ok
}

// get is the element of that id, nil where there is none.
func (l *list) get(id int64) json.RawMessage {
	if i, ok := l.at[id]; ok {
		return l.raws[i]
	}
	return nil
}

// put replaces the elements of that id by one; an equal one is left alone.
func (l *list) put(id int64, raw json.RawMessage) {
	i, ok := l.at[id]
	switch {
	case ok && !l.twice && string(l.raws[i]) == string(raw):
	case ok && !l.twice:
		l.raws[i], l.changed = raw, true
	default:
		l.remove(id)
		l.add(id, raw)
	}
}

// remove takes out the elements of an id and says whether there were any.
func (l *list) remove(id int64) bool {
	i, ok := l.at[id]
	if !ok {
		return false
	}
	delete(l.at, id)
	l.changed, l.next = true, 0
	if !l.twice {
		l.raws[i] = nil
		l.live--
		return true
	}
	for i := range l.ids {
		if l.ids[i] == id && l.raws[i] != nil {
			l.raws[i] = nil
			l.live--
		}
	}
	return true
}

// removeAll is remove for many.
func (l *list) removeAll(ids []int64) bool {
	found := false
	for _, id := range ids {
		found = l.remove(id) || found
	}
	return found
}

// nextID is one more than the highest id, at least first.
func (l *list) nextID(first int64) int64 {
	if l.next == 0 {
		for id := range l.at {
			l.next = max(l.next, id+1)
		}
	}
	return max(first, l.next)
}

// elements is what is there, in order.
func (l *list) elements() []json.RawMessage {
	all := make([]json.RawMessage, 0, l.live)
	for _, raw := range l.raws {
		if raw != nil {
			all = append(all, raw)
		}
	}
	return all
}

func (l *list) text() json.RawMessage { return joinArray(l.elements()) }

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
