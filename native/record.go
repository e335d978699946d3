package native

import (
	"encoding/json"
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

// pointer is the record of a table or view. Members that a later version adds are lost
// when this version writes the record, so a registry carries a format number.
type pointer struct {
	Type objectType `json:"type"`
	// Object tells this table from any other that ever had its name or location.
	Object string `json:"object"`
	UUID   string `json:"uuid"`
	// Location and Metadata are verbatim.
	Location string `json:"location"`
	Metadata string `json:"metadata"`
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
		return nil, &mounts.Error{Kind: mounts.BadRequest, Detail: "The properties are larger than a record may be (1 MiB)"}
	}
	return b, nil
}

func decode[T any](r Record) (T, error) {
	var v T
	if err := json.Unmarshal(r.Value, &v); err != nil {
		return v, &mounts.Error{Kind: mounts.Internal, Detail: "The registry holds a damaged record", Err: fmt.Errorf("decode record %q: %w", r.Key, err)}
	}
	return v, nil
}

func put(k Key, value []byte) Change { return Change{Key: k, Value: value, Version: NewVersion()} }

func remove(k Key) Change { return Change{Key: k, Delete: true} }
