package rawjson

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"unicode/utf8"
)

// indexed is the number of members from which on an Object keeps a map of its keys.
const indexed = 24

// Object is the members of a JSON object in their order, each with its raw value. The
// zero Object is empty and ready to use. Readers may share one; writers may not.
type Object struct {
	members []member
	live    int            // members that aren't deleted
	index   map[string]int // from indexed members on
}

// member has a nil value once deleted: its place stays, so that deleting many of many
// costs no more than once through.
type member struct {
	key    string
	rawKey json.RawMessage // with quotes and escapes as they came
	value  json.RawMessage
}

// ParseObject splits b, which must be what Check accepts, into members. A key that
// occurs twice in the object is an error, compared after unescaping; inside the values
// keys may repeat. The error is an *Error.
func ParseObject(b []byte) (Object, error) {
	var o Object
	s, i, err := begin(b, '{')
	if err != nil {
		return o, err
	}
	i, err = s.object(i, 1, s.value, func(key, value span) error {
		rawKey := b[key.from:key.to:key.to]
		name, _ := String(rawKey)
		if o.find(name) >= 0 {
			return s.fail(key.from, "duplicate key")
		}
		o.push(member{name, rawKey, b[value.from:value.to:value.to]})
		return nil
	})
	if err != nil {
		return Object{}, err
	}
	return o, s.end(i)
}

// Member is the raw value of one member of the object b, which is checked as Check
// does: ok is false where no such key is. A key that occurs twice is an error if it is
// the one asked for.
func Member(b []byte, key string) (value json.RawMessage, ok bool, err error) {
	s, i, err := begin(b, '{')
	if err != nil {
		return nil, false, err
	}
	i, err = s.object(i, 1, s.value, func(k, v span) error {
		if name, _ := String(b[k.from:k.to]); name != key {
			return nil
		}
		if ok {
			return s.fail(k.from, "duplicate key")
		}
		value, ok = b[v.from:v.to:v.to], true
		return nil
	})
	if err == nil {
		err = s.end(i)
	}
	if err != nil {
		return nil, false, err
	}
	return value, ok, nil
}

// Elements splits a JSON array into its raw elements. Anything else is an *Error.
func Elements(b []byte) ([]json.RawMessage, error) {
	var all []json.RawMessage
	if err := visit(b, func(v span) { all = append(all, b[v.from:v.to:v.to]) }); err != nil {
		return nil, err
	}
	return all, nil
}

// Offsets is where each element of a JSON array begins. Anything else is an *Error.
func Offsets(b []byte) ([]int, error) {
	var all []int
	if err := visit(b, func(v span) { all = append(all, v.from) }); err != nil {
		return nil, err
	}
	return all, nil
}

// visit reads an array and nothing after it.
func visit(b []byte, element func(span)) error {
	s, i, err := begin(b, '[')
	if err != nil {
		return err
	}
	if i, err = s.array(i, 1, s.value, element); err != nil {
		return err
	}
	return s.end(i)
}

func begin(b []byte, opening byte) (*scanner, int, error) {
	s := &scanner{b: b, maxDepth: MaxDepth}
	if !utf8.Valid(b) {
		return s, 0, &Error{Offset: invalidUTF8(b), Reason: "not valid UTF-8"}
	}
	i := s.space(0)
	if i == len(b) || b[i] != opening {
		return s, i, s.fail(i, map[byte]string{'{': "expected an object", '[': "expected an array"}[opening])
	}
	return s, i, nil
}

func (o *Object) find(key string) int {
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range o.members {
		if o.members[i].value != nil && o.members[i].key == key {
			return i
		}
	}
	return -1
}

func (o *Object) push(m member) {
	o.members = append(o.members, m)
	o.live++
	switch {
	case o.index != nil:
		o.index[m.key] = len(o.members) - 1
	case len(o.members) >= indexed:
		o.index = make(map[string]int, 2*indexed)
		for i, m := range o.members {
			if m.value != nil {
				o.index[m.key] = i
			}
		}
	}
}

// Get is the raw value of key.
func (o *Object) Get(key string) (json.RawMessage, bool) {
	if i := o.find(key); i >= 0 {
		return o.members[i].value, true
	}
	return nil, false
}

// Set puts a value, which must be valid JSON and not empty, in the place of the one
// that key had, else at the end.
func (o *Object) Set(key string, raw json.RawMessage) {
	if i := o.find(key); i >= 0 {
		o.members[i].value = raw
		return
	}
	o.push(member{key, AppendString(nil, key), raw})
}

// Delete removes key and says whether it was there.
func (o *Object) Delete(key string) bool {
	i := o.find(key)
	if i < 0 {
		return false
	}
	o.members[i].value = nil
	o.live--
	delete(o.index, key)
	return true
}

// Len is the number of members.
func (o *Object) Len() int { return o.live }

// All yields keys and raw values in order. The Object must not change meanwhile.
func (o *Object) All() iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for _, m := range o.members {
			if m.value != nil && !yield(m.key, m.value) {
				return
			}
		}
	}
}

// Clone is an Object that can be changed without changing o. The values are shared.
func (o *Object) Clone() Object {
	return Object{members: slices.Clone(o.members), live: o.live, index: maps.Clone(o.index)}
}

// AppendTo appends the object's text: no white space between members, inside them what
// came in.
func (o *Object) AppendTo(dst []byte) []byte {
	dst = append(dst, '{')
	first := true
	for _, m := range o.members {
		if m.value == nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, m.rawKey...), ':'), m.value...)
	}
	return append(dst, '}')
}

// Render is AppendTo with a say in each value: value appends what key shall have to
// dst, most often raw as it is. It returns the text, which it expects to be about size
// bytes, and an Object of the same members whose values lie in that text and nowhere
// else, so that the memory behind o can go.
func (o *Object) Render(size int, value func(dst []byte, key string, raw json.RawMessage) []byte) ([]byte, Object) {
	text := make([]byte, 0, size)
	spans := make([]struct{ key, value span }, 0, o.live)
	for _, m := range o.members {
		if m.value == nil {
			continue
		}
		text = append(text, byte(','))
		key := span{len(text), len(text) + len(m.rawKey)}
		text = append(append(text, m.rawKey...), ':')
		from := len(text)
		text = value(text, m.key, m.value)
		spans = append(spans, struct{ key, value span }{key, span{from, len(text)}})
	}
	if len(spans) == 0 {
		text = append(text, '{')
	}
	text[0] = '{'
	text = append(text, '}')
	var same Object
	for _, at := range spans {
		rawKey := json.RawMessage(text[at.key.from:at.key.to:at.key.to])
		name, _ := String(rawKey)
		same.push(member{name, rawKey, text[at.value.from:at.value.to:at.value.to]})
	}
	return text, same
}

// Size is how many bytes AppendTo would append.
func (o *Object) Size() int {
	n := 2
	for _, m := range o.members {
		if m.value != nil {
			n += len(m.rawKey) + len(m.value) + 2
		}
	}
	return n
}

// keySet finds repeated keys: by looking at each for a few, by a map for many.
type keySet struct {
	few  []string
	many map[string]struct{}
}

// add says whether the key, raw with its quotes, is new.
func (k *keySet) add(raw []byte) bool {
	key, _ := String(raw)
	if k.many == nil {
		if slices.Contains(k.few, key) {
			return false
		}
		if k.few = append(k.few, key); len(k.few) < indexed {
			return true
		}
		k.many = make(map[string]struct{}, 2*indexed)
		for _, f := range k.few {
			k.many[f] = struct{}{}
		}
		return true
	}
	if _, ok := k.many[key]; ok {
		return false
	}
	k.many[key] = struct{}{}
	return true
}
