package rawjson

import (
	"encoding/json"
	"unicode/utf8"
)

// Tree is a value with everything inside it split, for text that must be walked to its
// bottom, as schemas are: one pass, where splitting level by level would read the
// deepest part once a level.
type Tree struct {
	Raw      json.RawMessage // the text of this value
	Members  []TreeMember    // in order, if it is an object
	Elements []*Tree         // in order, if it is an array
}

// TreeMember is one member of an object in a Tree.
type TreeMember struct {
	Key   string
	Raw   json.RawMessage // the key with its quotes, as it came
	Value *Tree
}

// ParseTree splits b, which is exactly one JSON value of any kind in valid UTF-8 with
// at most maxDepth levels of brackets. A key that occurs twice in an object is an error
// at any level. The error is an *Error.
func ParseTree(b []byte, maxDepth int) (*Tree, error) {
	if !utf8.Valid(b) {
		return nil, &Error{Offset: invalidUTF8(b), Reason: "not valid UTF-8"}
	}
	s := &scanner{b: b, maxDepth: maxDepth, unique: true}
	t, i, err := s.tree(s.space(0), 0)
	if err == nil {
		err = s.end(i)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (s *scanner) tree(i, depth int) (t *Tree, to int, err error) {
	t = &Tree{}
	var child *Tree
	read := func(i, depth int) (to int, err error) {
		child, to, err = s.tree(i, depth)
		return to, err
	}
	switch {
	case i < len(s.b) && s.b[i] == '{':
		to, err = s.object(i, depth+1, read, func(key, _ span) error {
			rawKey := json.RawMessage(s.b[key.from:key.to:key.to])
			name, _ := String(rawKey)
			t.Members = append(t.Members, TreeMember{Key: name, Raw: rawKey, Value: child})
			return nil
		})
	case i < len(s.b) && s.b[i] == '[':
		to, err = s.array(i, depth+1, read, func(span) { t.Elements = append(t.Elements, child) })
	default:
		to, err = s.value(i, depth)
	}
	if err != nil {
		return nil, to, err
	}
	t.Raw = json.RawMessage(s.b[i:to:to])
	return t, to, nil
}

// IsObject says whether the value is an object.
func (t *Tree) IsObject() bool { return t.Raw[0] == '{' }

// IsArray says whether the value is an array.
func (t *Tree) IsArray() bool { return t.Raw[0] == '[' }

// Get is the member of that key, nil where there is none or the value is no object.
func (t *Tree) Get(key string) *Tree {
	for i := range t.Members {
		if t.Members[i].Key == key {
			return t.Members[i].Value
		}
	}
	return nil
}
