package metadata

import (
	"encoding/hex"
	"encoding/json"
	"time"

	"piedmont/cache/rawjson"
)

// validDefault says whether a default value is written as the spec has it for the type
// (spec, "JSON single-value serialization"). Java can't load a table with one that
// isn't. Nested types, unknown, variant and the geo types have no default but null.
func validDefault(t *fieldType, raw json.RawMessage) bool {
	switch t.base {
	case "boolean":
		return string(raw) == "true" || string(raw) == "false"
	case "int":
		_, ok := rawjson.Int32(raw)
		return ok
	case "long":
		_, ok := rawjson.Int(raw)
		return ok
	case "float", "double":
		return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	}
	s, ok := rawjson.String(raw)
	if !ok {
		return false
	}
	switch t.base {
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	case "uuid":
		return validUUID(s)
	case "binary":
		_, err := hex.DecodeString(s)
		return err == nil
	case "fixed":
		bytes, err := hex.DecodeString(s)
		n, _ := bracketed(t.text()[len("fixed"):])
		return err == nil && len(bytes) == n
	case "string", "decimal", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns":
		return true
	}
	return false
}
