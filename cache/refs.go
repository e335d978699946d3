package cache

import (
	"encoding/json"
	"errors"
	"fmt"

	"piedmont/cache/rawjson"
)

// Refs is the document with only those snapshots that a branch or a tag or
// current-snapshot-id names, as a load with snapshots=refs has it. All else stays byte
// for byte. It is d itself where no snapshot goes. The error says that the document isn't
// a table's metadata; like the result it is kept.
func (d *Document) Refs() (*Document, error) {
	d.reduce.Do(func() { d.refs, d.refsErr = d.reduced() })
	return d.refs, d.refsErr
}

func (d *Document) reduced() (*Document, error) {
	o, err := rawjson.ParseObject(d.raw)
	if err != nil {
		return nil, fmt.Errorf("reduce snapshots to refs: %w", err)
	}
	snapshots, ok := o.Get("snapshots")
	if !ok || rawjson.IsNull(snapshots) {
		return d, nil
	}
	keep, err := referenced(&o)
	if err != nil {
		return nil, fmt.Errorf("reduce snapshots to refs: %w", err)
	}
	elements, err := rawjson.Elements(snapshots)
	if err != nil {
		return nil, fmt.Errorf("reduce snapshots to refs: split snapshots: %w", err)
	}
	kept, err := filter(elements, keep)
	if err != nil {
		return nil, fmt.Errorf("reduce snapshots to refs: %w", err)
	}
	if len(kept) == len(elements) {
		return d, nil
	}
	from := valueOffset(d.raw, &o, "snapshots")
	return &Document{raw: splice(d.raw, from, from+len(snapshots), kept)}, nil
}

var errNoID = errors.New("a snapshot-id is no 64-bit integer")

// referenced is the ids of the snapshots that branches, tags and the table itself name.
// They are integers of 64 bits, which no float can tell apart.
func referenced(o *rawjson.Object) (map[int64]bool, error) {
	keep := map[int64]bool{}
	if current, ok := o.Get("current-snapshot-id"); ok && !rawjson.IsNull(current) {
		id, ok := rawjson.Int(current)
		if !ok {
			return nil, errNoID
		}
		keep[id] = true
	}
	raw, ok := o.Get("refs")
	if !ok || rawjson.IsNull(raw) {
		return keep, nil
	}
	refs, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("split refs: %w", err)
	}
	for _, ref := range refs.All() {
		id, err := snapshotID(ref)
		if err != nil {
			return nil, err
		}
		keep[id] = true
	}
	return keep, nil
}

func filter(elements []json.RawMessage, keep map[int64]bool) ([]json.RawMessage, error) {
	var kept []json.RawMessage
	for _, e := range elements {
		id, err := snapshotID(e)
		if err != nil {
			return nil, err
		}
		if keep[id] {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

func snapshotID(raw []byte) (int64, error) {
	value, _, err := rawjson.Member(raw, "snapshot-id")
	if err != nil {
		return 0, fmt.Errorf("split a snapshot: %w", err)
	}
	id, ok := rawjson.Int(value)
	if !ok {
		return 0, errNoID
	}
	return id, nil
}

// splice is raw with an array of the elements in place of the bytes [from, to).
func splice(raw []byte, from, to int, elements []json.RawMessage) []byte {
	size := len(raw) - (to - from) + 2 + len(elements)
	for _, e := range elements {
		size += len(e)
	}
	out := append(make([]byte, 0, size), raw[:from]...)
	out = append(out, '[')
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	out = append(out, ']')
	return append(out, raw[to:]...)
}

// valueOffset is where the value of key begins in raw, the valid text that o was split
// from. It walks from member to member, since the value's bytes may occur elsewhere too.
func valueOffset(raw []byte, o *rawjson.Object, key string) int {
	i := skip(raw, 0)
	for k, v := range o.All() {
		i = endOfString(raw, skip(raw, i+1)) // behind the bracket, or the comma
		i = skip(raw, i)
		i = skip(raw, i+1) // behind the colon
		if k == key {
			return i
		}
		i = skip(raw, i+len(v))
	}
	return -1
}

// skip is the offset of what follows the white space at i.
func skip(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r' {
		i++
	}
	return i
}

// endOfString is the offset behind the string that begins at i.
func endOfString(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}
