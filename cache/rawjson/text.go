package rawjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// String decodes a JSON string; ok is false for any other value. Lone surrogates become
// U+FFFD, as encoding/json has it.
func String(raw []byte) (s string, ok bool) {
	n := len(raw)
	if n < 2 || raw[0] != '"' || raw[n-1] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : n-1]), true
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// Int decodes a JSON number that is written as an integer and fits 64 bits; ok is false
// for any other value, 1.0 and 1e3 included, which Iceberg's Java reader refuses too.
func Int(raw []byte) (n int64, ok bool) {
	if len(raw) == 0 || raw[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// Int32 is Int for numbers that fit 32 bits, as field ids and schema ids must.
func Int32(raw []byte) (n int, ok bool) {
	v, ok := Int(raw)
	return int(v), ok && v >= math.MinInt32 && v <= math.MaxInt32
}

// IsNull says whether raw is null or absent.
func IsNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// AppendInt appends n.
func AppendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// AppendString appends s as a JSON string, escaping no more than the grammar asks for.
// Bytes that aren't UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		switch {
		case plain(c):
			dst = append(dst, c)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
	}
	return append(dst, '"')
}
