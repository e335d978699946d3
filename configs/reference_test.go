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
