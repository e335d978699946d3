package configs

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// typesOf collects the keys of a type with the names that the reference gives their types.
func typesOf(path string, t reflect.Type, into map[string]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := join(path, f.Tag.Get("yaml"))
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case of == reflect.TypeFor[time.Duration]():
			into[at] = "duration"
		case of == reflect.TypeFor[Bytes]():
			into[at] = "size"
		case of.Kind() == reflect.Bool:
			into[at] = "true or false"
		case of.Kind() == reflect.String:
			into[at] = "text"
		case of.Kind() == reflect.Int:
			into[at] = "number"
		case of == reflect.TypeFor[[]string]():
			into[at] = "list of texts"
		case of == reflect.TypeFor[[]int]():
			into[at] = "list of numbers"
		case of.Kind() == reflect.Slice:
			into[at] = "list of mappings"
			typesOf(at+"[]", of.Elem(), into)
		default:
			into[at] = "mapping"
			typesOf(at, of, into)
		}
	}
}

// TestZero: a 0 is refused, unless the reference says what it means. What is left out is no 0.
func TestZero(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	said := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if m := row.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			said[m[1]] = strings.Contains(line, "`0`: ")
		}
	}
	with := map[string]string{ // what the key stands in
		"registry.postgres": "registry: {postgres: {url: postgres://h/d, KEY}}\nauth: {keys: [{id: a, sha256: " + strings.Repeat("0a", 32) + ", principal: p}]}\n" + base,
		"cache":             "cache: {KEY}\n" + base,
		"mounts[]":          mount("{at: a, rest: {uri: http://h}, KEY}"),
		"mounts[].native":   mount("{at: a, native: {id: x, warehouse: 'file:///w/', KEY}, storage: [disk]}"),
		"mounts[].rest":     mount("{at: a, rest: {uri: http://h, KEY}}"),
		"mounts[].glue":     mount("{at: a, glue: {region: r, KEY}}"),
		"mounts[].hive":     mount("{at: a, hive: {uris: ['thrift://h:1'], KEY}}"),
	}
	known := map[string]string{}
	typesOf("", reflect.TypeFor[Config](), known)
	tried := 0
	for key, kind := range known {
		if kind != "number" && kind != "duration" && kind != "size" {
			continue
		}
		tried++
		at := strings.LastIndex(key, ".")
		around, ok := with[key[:at]]
		require.True(t, ok, "what %s stands in", key)
		for _, value := range []string{"0", "~"} {
			_, err := Parse([]byte(strings.Replace(around, "KEY", key[at+1:]+": "+value, 1)), "")
			if value == "0" && !said[key] {
				require.ErrorContains(t, err, strings.Replace(key, "[]", "[1]", 1)+": want ", key)
			} else {
				require.NoError(t, err, key)
			}
		}
	}
	require.Greater(t, tried, 10)
}

var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]*) ?\\| [^|]+ \\|$")

func TestReferenceIsComplete(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	documented, defaults := map[string]string{}, map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		assert.NotContains(t, documented, m[1], "documented once")
		documented[m[1]], defaults[m[1]] = m[2], strings.TrimSpace(m[3])
	}
	known := map[string]string{}
	typesOf("", reflect.TypeFor[Config](), known)
	require.Greater(t, len(known), 40)
	assert.Equal(t, known, documented)

	var c Config
	c.fill()
	for key, want := range map[string]string{
		"name": c.Name, "listen": c.Listen, "data": c.Data, "registry.bolt.path": c.Registry.Bolt.Path, "cache.documents": "256MiB",
	} {
		assert.Equal(t, "`"+want+"`", defaults[key], key)
	}
	documents, ok := parseBytes("256MiB")
	assert.True(t, ok)
	assert.EqualValues(t, c.Cache.Documents, documents)
}
