package native

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"piedmont/mounts"
)

// objectType is what a name stands for.
type objectType string

const (
	typeTable objectType = "table"
	typeView  objectType = "view"
)

func (t objectType) title() string {
	if t == typeView {
		return "View"
	}
	return "Table"
}

// pointer is the record of a table or view. It is read on every load, so it has a form of
// its own, which decodes in a tenth of the time that JSON takes: fields of a tag byte, a length and
// bytes.
type pointer struct {
	Type objectType
	// Object tells this table from any other that ever had its name or location.
	Object string
	UUID   string
	// Location and Metadata are verbatim.
	Location string
	Metadata string
	// later are the fields that this version doesn't know, as they came.
	later []byte
}

// The tags of a pointer's fields. They are never used again for anything else.
const (
	tagType byte = iota + 1
	tagObject
	tagUUID
	tagLocation
	tagMetadata
)

func (p pointer) encode() ([]byte, error) {
	var b []byte
	for _, f := range []struct {
		tag   byte
		value string
	}{{tagType, string(p.Type)}, {tagObject, p.Object}, {tagUUID, p.UUID}, {tagLocation, p.Location}, {tagMetadata, p.Metadata}} {
		b = append(b, f.tag)
		b = binary.AppendUvarint(b, uint64(len(f.value)))
		b = append(b, f.value...)
	}
	if b = append(b, p.later...); len(b) > MaxValueBytes {
		return nil, errRecordTooLarge
	}
	return b, nil
}

func decodePointer(r Record) (pointer, error) {
	var p pointer
	text := string(r.Value) // once: the fields are parts of it
	for rest := r.Value; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return pointer{}, damaged(r, errors.New("a field ends behind the record"))
		}
		end := 1 + n + int(size)
		at := len(text) - len(rest)
		value := text[at+1+n : at+end]
		switch rest[0] {
		case tagType:
			p.Type = objectType(value)
		case tagObject:
			p.Object = value
		case tagUUID:
			p.UUID = value
		case tagLocation:
			p.Location = value
		case tagMetadata:
			p.Metadata = value
		default:
			p.later = append(p.later, rest[:end]...)
		}
		rest = rest[end:]
	}
	if p.Type == "" || p.Metadata == "" {
		return pointer{}, damaged(r, errors.New("it says neither what it is nor where"))
	}
	return p, nil
}

// namespace is the record of a namespace.
type namespace struct {
	Properties map[string]string `json:"properties"`
}

// place is the record of a location.
type place struct {
	UUID string `json:"uuid"`
}

func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a registry record: %w", err)
	}
	if len(b) > MaxValueBytes {
		return nil, errRecordTooLarge
	}
	return b, nil
}

var errRecordTooLarge = &mounts.Error{Kind: mounts.BadRequest, Detail: "The properties are larger than a record may be (1 MiB)"}

func damaged(r Record, err error) error {
	return &mounts.Error{Kind: mounts.Internal, Detail: "The registry holds a damaged record", Err: fmt.Errorf("decode record %q: %w", r.Key, err)}
}

func decode[T any](r Record) (T, error) {
	var v T
	if err := json.Unmarshal(r.Value, &v); err != nil {
		return v, damaged(r, err)
	}
	return v, nil
}

func put(k Key, value []byte) Change { return Change{Key: k, Value: value, Version: NewVersion()} }

func remove(k Key) Change { return Change{Key: k, Delete: true} }
