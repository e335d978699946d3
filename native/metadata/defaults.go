package metadata

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"
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
		// Java takes a number without fraction and exponent for an integer.
		return (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && bytes.ContainsAny(raw, ".eE")
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
		decoded, err := hex.DecodeString(s)
		n, _ := bracketed(t.text()[len("fixed"):])
		return err == nil && len(decoded) == n
	case "string":
		return true
	case "decimal":
		return validDecimalText(s, t.text())
	case "time":
		return parses(s, "15:04", 0, "")
	case "timestamp", "timestamp_ns":
		return parses(s, "2006-01-02T15:04", len("2006-01-02T"), "")
	case "timestamptz", "timestamptz_ns":
		return parses(s, "2006-01-02T15:04", len("2006-01-02T"), "Z07:00")
	}
	return false
}

// validDecimalText says whether a decimal has just as many digits behind its point as its
// type asks for.
func validDecimalText(s, typ string) bool {
	_, scale, _ := strings.Cut(strings.TrimSuffix(typ, ")"), ",")
	want, _ := digits(scale)
	whole, fraction, point := strings.Cut(strings.TrimLeft(s, "+-"), ".")
	if len(s)-len(strings.TrimLeft(s, "+-")) > 1 || whole == "" || point != (want > 0) || len(fraction) != want {
		return false
	}
	return strings.Trim(whole+fraction, "0123456789") == ""
}

// parses says whether a time is of the layout, with or without seconds and up to nine digits
// of their fraction, and in UTC where it has a zone. hour is where the hour's two digits stand.
func parses(s, layout string, hour int, zone string) bool {
	if len(s) < hour+len("15:04") || s[hour+2] != ':' || strings.ContainsRune(s, ',') {
		return false
	}
	_, fraction, _ := strings.Cut(s, ".")
	if rest := strings.TrimLeft(fraction, "0123456789"); len(fraction)-len(rest) > 9 {
		return false
	}
	for _, seconds := range []string{"", ":05.999999999"} {
		if at, err := time.Parse(layout+seconds+zone, s); err == nil {
			_, offset := at.Zone()
			return offset == 0
		}
	}
	return false
}
