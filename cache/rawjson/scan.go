package rawjson

import (
	"fmt"
	"unicode/utf8"
)

// MaxDepth is the nesting that Check, ParseObject, Elements and Member accept, brackets
// of both kinds counted. It is what Jackson accepts, so nothing a Java writer produced
// is refused.
const MaxDepth = 1000

// Error says why a text was refused and where.
type Error struct {
	Offset int    // the byte at which the text stops making sense
	Reason string // a few words, never bytes of the text
}

// Error is "invalid JSON at byte 12: reason".
func (e *Error) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
}

// Check verifies that b is exactly one JSON object, perhaps with white space around
// it: valid grammar, valid UTF-8, at most MaxDepth levels. Keys may repeat; see
// CheckUnique. The error is an *Error.
func Check(b []byte) error { return CheckObject(b, MaxDepth) }

// CheckObject is Check with another bound on the nesting. The object itself is level 1.
func CheckObject(b []byte, maxDepth int) error {
	return checkObject(b, scanner{b: b, maxDepth: maxDepth})
}

// CheckUnique is CheckObject, and no object at any level may hold a key twice: parsers
// differ on which of two they take, so one reader could see what another didn't check.
func CheckUnique(b []byte, maxDepth int) error {
	return checkObject(b, scanner{b: b, maxDepth: maxDepth, unique: true})
}

func checkObject(b []byte, s scanner) error {
	if !utf8.Valid(b) {
		return &Error{Offset: invalidUTF8(b), Reason: "not valid UTF-8"}
	}
	i := s.space(0)
	if i == len(b) || b[i] != '{' {
		return s.fail(i, "expected an object")
	}
	i, err := s.value(i, 0)
	if err != nil {
		return err
	}
	return s.end(i)
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// scanner walks over text and holds no position, so that callers can branch: each
// method takes the offset to start at and returns the one behind what it read.
type scanner struct {
	b        []byte
	maxDepth int
	unique   bool
}

func (s *scanner) fail(i int, reason string) error {
	if i >= len(s.b) {
		return &Error{Offset: len(s.b), Reason: "unexpected end"}
	}
	return &Error{Offset: i, Reason: reason}
}

// end verifies that nothing but white space follows.
func (s *scanner) end(i int) error {
	if i = s.space(i); i != len(s.b) {
		return s.fail(i, "more text after the value")
	}
	return nil
}

func (s *scanner) space(i int) int {
	for i < len(s.b) {
		switch s.b[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// value reads the value that starts at i, which lies inside depth brackets.
func (s *scanner) value(i, depth int) (int, error) {
	if i >= len(s.b) {
		return i, s.fail(i, "")
	}
	switch c := s.b[i]; {
	case c == '"':
		return s.str(i)
	case c == '{':
		return s.object(i, depth+1, s.value, nil)
	case c == '[':
		return s.array(i, depth+1, s.value, nil)
	case c == '-' || c >= '0' && c <= '9':
		return s.number(i)
	case c == 't':
		return s.word(i, "true")
	case c == 'f':
		return s.word(i, "false")
	case c == 'n':
		return s.word(i, "null")
	}
	return i, s.fail(i, "expected a value")
}

// reader reads one value, as scanner.value does.
type reader func(i, depth int) (int, error)

// object reads an object, its values by read, and calls visit, if there is one, with
// the offsets of each key (quotes included) and value.
func (s *scanner) object(i, depth int, read reader, visit func(key, value span) error) (int, error) {
	if depth > s.maxDepth {
		return i, s.fail(i, "nested too deeply")
	}
	var keys keySet
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == '}' {
		return i + 1, nil
	}
	for {
		key, value, err := s.member(i, depth, read)
		if err != nil {
			return i, err
		}
		if s.unique && !keys.add(s.b[key.from:key.to]) {
			return i, s.fail(key.from, "duplicate key")
		}
		if visit != nil {
			if err := visit(key, value); err != nil {
				return i, err
			}
		}
		more, next, err := s.separator(value.to, '}')
		if err != nil || !more {
			return next, err
		}
		i = next
	}
}

// span is the part [from, to) of a text.
type span struct{ from, to int }

// member reads `"key" : value` at i.
func (s *scanner) member(i, depth int, read reader) (key, value span, err error) {
	if i >= len(s.b) || s.b[i] != '"' {
		return key, value, s.fail(i, "expected a key")
	}
	key.from = i
	if key.to, err = s.str(i); err != nil {
		return key, value, err
	}
	i = s.space(key.to)
	if i >= len(s.b) || s.b[i] != ':' {
		return key, value, s.fail(i, "expected a colon")
	}
	value.from = s.space(i + 1)
	value.to, err = read(value.from, depth)
	return key, value, err
}

// array reads an array, its elements by read, and calls visit, if there is one, with
// each element's offsets.
func (s *scanner) array(i, depth int, read reader, visit func(span)) (int, error) {
	if depth > s.maxDepth {
		return i, s.fail(i, "nested too deeply")
	}
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == ']' {
		return i + 1, nil
	}
	for {
		to, err := read(i, depth)
		if err != nil {
			return i, err
		}
		if visit != nil {
			visit(span{i, to})
		}
		more, next, err := s.separator(to, ']')
		if err != nil || !more {
			return next, err
		}
		i = next
	}
}

// separator reads the comma before another item, or the closing bracket.
func (s *scanner) separator(i int, closing byte) (more bool, next int, err error) {
	i = s.space(i)
	switch {
	case i < len(s.b) && s.b[i] == ',':
		return true, s.space(i + 1), nil
	case i < len(s.b) && s.b[i] == closing:
		return false, i + 1, nil
	}
	return false, i, s.fail(i, "expected a comma or a closing bracket")
}
