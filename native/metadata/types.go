package metadata

import (
	"strconv"
	"strings"
)

// Names of types that rules ask for.
const (
	typeStruct  = "struct"
	typeList    = "list"
	typeMap     = "map"
	typeUnknown = "unknown"
)

// primitiveBase is the name of a primitive type without its parameters ("decimal" of
// "decimal(9,2)"), empty where the text is no type of the spec. Upper case is refused:
// Java would read it and write it in lower case, but here text is kept, and other
// readers would fail on it.
func primitiveBase(text string) string {
	base := text
	if i := strings.IndexAny(text, "(["); i >= 0 {
		base = strings.TrimRight(text[:i], " ")
	}
	params := text[len(base):]
	switch base {
	case "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz",
		"timestamp_ns", "timestamptz_ns", "string", "uuid", "binary", typeUnknown, "variant":
		if params != "" {
			return ""
		}
	case "decimal":
		if !validDecimal(params) {
			return ""
		}
	case "fixed":
		if _, ok := bracketed(params); !ok {
			return ""
		}
	case "geometry", "geography":
		if params != "" && !strings.HasSuffix(params, ")") {
			return ""
		}
	default:
		return ""
	}
	return base
}

// validDecimal accepts "(precision, scale)" with a precision of at most 38 (spec,
// "Primitive Types").
func validDecimal(params string) bool {
	inner, ok := strings.CutPrefix(params, "(")
	if !ok {
		return false
	}
	if inner, ok = strings.CutSuffix(inner, ")"); !ok {
		return false
	}
	left, right, ok := strings.Cut(inner, ",")
	precision, okLeft := digits(left)
	_, okRight := digits(right)
	return ok && okLeft && okRight && precision <= 38
}

// digits is a number without sign, white space around it allowed.
func digits(s string) (int, bool) {
	s = strings.TrimSpace(s)
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err == nil
}

// bracketed is the number in "[16]".
func bracketed(s string) (n int, ok bool) {
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' {
		return 0, false
	}
	return digits(s[1 : len(s)-1])
}

// minVersion is the format version that a type came with.
func minVersion(base string) int {
	switch base {
	case "timestamp_ns", "timestamptz_ns", typeUnknown, "variant", "geometry", "geography":
		return 3
	}
	return 1
}

// isPrimitive says whether a type can be a source of a transform at all. Variant is
// semi-structured, neither primitive nor nested.
func isPrimitive(base string) bool {
	return base != "variant" && !isNested(base)
}

func isNested(base string) bool { return base == typeStruct || base == typeList || base == typeMap }

// transform is a parsed transform: its name, and the width of a bucket or truncate.
type transform struct {
	name  string
	width int
}

// parseTransform reads the transforms of the spec, in any case as Java does; ok is
// false for any other text.
func parseTransform(text string) (t transform, ok bool) {
	lower := strings.ToLower(text)
	for _, name := range []string{"bucket", "truncate"} {
		if rest, found := strings.CutPrefix(lower, name); found {
			width, ok := bracketed(rest)
			return transform{name, width}, ok && width > 0
		}
	}
	switch lower {
	case "identity", "year", "month", "day", "hour", "void":
		return transform{name: lower}, true
	}
	return transform{}, false
}

// accepts says whether the transform can be applied to a primitive type (spec,
// "Partition Transforms").
func (t transform) accepts(base string) bool {
	switch t.name {
	case "void":
		return true
	case "identity":
		return base != "geometry" && base != "geography" && base != "variant"
	case "bucket":
		switch base {
		case "int", "long", "decimal", "date", "time", "timestamp", "timestamptz", "timestamp_ns",
			"timestamptz_ns", "string", "uuid", "fixed", "binary":
			return true
		}
	case "truncate":
		switch base {
		case "int", "long", "decimal", "string", "binary":
			return true
		}
	case "year", "month", "day":
		return base == "date" || strings.HasPrefix(base, "timestamp")
	case "hour":
		return strings.HasPrefix(base, "timestamp")
	}
	return false
}
