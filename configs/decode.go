package configs

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// decoder fills structs from YAML nodes by their yaml tags. It does what the library's own
// strict mode does not: it goes on after a fault, names the path, and knows the nearest
// key to one that doesn't exist. It goes no deeper than the structs do.
type decoder struct {
	dir    string
	faults Faults
	lines  map[string]int  // by path
	secret map[string]bool // by path of each single value that stands there: whether it came from ${env:} or ${file:}
}

func (d *decoder) decode(n *yaml.Node, into any) { d.value("", n, reflect.ValueOf(into).Elem()) }

func (d *decoder) fault(path string, n *yaml.Node, format string, args ...any) {
	d.faults = append(d.faults, Fault{Path: path, Line: n.Line, Text: fmt.Sprintf(format, args...)})
}

var durationType = reflect.TypeFor[time.Duration]()

func (d *decoder) value(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind == yaml.AliasNode {
		d.fault(path, n, "aliases aren't supported")
		return
	}
	d.lines[path] = n.Line
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return // as if it weren't there
	}
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(path, n, v.Elem())
	case v.Kind() == reflect.Struct:
		d.mapping(path, n, v)
	case v.Kind() == reflect.Slice:
		d.sequence(path, n, v)
	default:
		d.scalar(path, n, v)
	}
}

func (d *decoder) mapping(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.fault(path, n, "want a mapping of keys to values")
		return
	}
	fields := map[string]reflect.Value{}
	for i := range v.NumField() {
		fields[v.Type().Field(i).Tag.Get("yaml")] = v.Field(i)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := join(path, key.Value)
		field, known := fields[key.Value]
		switch {
		case !known:
			d.fault(at, key, "unknown key%s", nearest(key.Value, fields))
		case seen[key.Value]:
			d.fault(at, key, "the key stands twice")
		default:
			seen[key.Value] = true
			d.value(at, n.Content[i+1], field)
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *decoder) sequence(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.fault(path, n, "want a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(fmt.Sprintf("%s[%d]", path, i), item, v.Index(i))
	}
}

func (d *decoder) scalar(path string, n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.ScalarNode {
		d.fault(path, n, "want a single value")
		return
	}
	text, err := interpolate(n.Value, d.dir)
	if err != nil {
		d.fault(path, n, "%s", err)
		return
	}
	d.secret[path] = text != n.Value
	switch {
	case v.Type() == durationType:
		t, ok := parseDuration(text)
		if !ok {
			d.fault(path, n, "want a duration like 30s, 5m or 7d")
			return
		}
		v.SetInt(int64(t))
	case v.Type() == reflect.TypeFor[Bytes]():
		b, ok := parseBytes(text)
		if !ok {
			d.fault(path, n, "want a size like 256MiB")
			return
		}
		v.SetInt(b)
	case v.Kind() == reflect.Int:
		i, err := strconv.Atoi(text)
		if err != nil {
			d.fault(path, n, "want a whole number")
			return
		}
		v.SetInt(int64(i))
	case v.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			d.fault(path, n, "want true or false")
			return
		}
		v.SetBool(text == "true")
	default:
		v.SetString(text)
	}
}

// parseDuration reads what time.ParseDuration does, and a number of days.
func parseDuration(s string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16) // 65,535 days fit
		return time.Duration(n) * 24 * time.Hour, err == nil
	}
	t, err := time.ParseDuration(s)
	return t, err == nil && t >= 0
}

var units = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"", 1}}

func parseBytes(s string) (int64, bool) {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		return n * u.factor, err == nil && n > 0 && n <= 1<<62/u.factor
	}
	return 0, false
}

// nearest suggests the known key that is the fewest edits away, if it is near.
func nearest(key string, fields map[string]reflect.Value) string {
	best, distance := "", len(key)/2+2
	for name := range fields {
		if n := edits(strings.ToLower(key), name); n < distance || n == distance && name < best {
			best, distance = name, n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
