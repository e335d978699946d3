package configs

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// strict refuses all that holds "bad", and says what.
func strict() Rules {
	text := func(s string) error {
		if strings.Contains(s, "bad") {
			return errors.New("'" + s + "' is bad")
		}
		return nil
	}
	return Rules{
		Location: text, NativeID: text, KeyID: text,
		Within: strings.HasPrefix,
		Source: func(levels []string) error { return text(strings.Join(levels, ".")) },
		Tree: func(name string, list []Mount) error {
			for _, m := range list {
				if m.At == name || len(list) > 1 && m.Case == "lower" {
					return errors.New("'" + m.At + "' is bad")
				}
				if err := text(m.At); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func TestRules(t *testing.T) {
	t.Setenv("SECRET", "bad")
	t.Setenv("LEVEL", "a")
	hash := strings.Repeat("0a", 32)
	hidden := "; why isn't said, since it would show what ${env:} or ${file:} gave"
	native := func(id, warehouse string) string {
		return mount("{at: a, native: {id: " + id + ", warehouse: '" + warehouse + "'}, storage: [disk]}")
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing wrong", native("x", "file:///w/x/"), ""},
		{"a storage location", profile("{name: x, location: 'file:///bad/', local: {}}"), "line 6: storage[1].location: 'file:///bad/' is bad"},
		{"one that is refused already", profile("{name: x, location: 'bad', local: {}}"), "line 6: storage[1].location: want a location that begins with file:"},
		{"a secret location", profile("{name: x, location: 'file:///${env:SECRET}/', local: {}}"), "line 6: storage[1].location: not a location" + hidden},
		{"a warehouse in a profile that is wrong itself", mount("{at: a, native: {id: x, warehouse: 'file:///y/'}, storage: [z]}") + "  - {name: z, location: 'file:///bad/', local: {}}\n", "line 6: storage[1].location: 'file:///bad/' is bad"},
		{"a native id", native("bad", "file:///w/"), "line 3: mounts[1].native.id: 'bad' is bad"},
		{"a warehouse", native("x", "file:///w/bad"), "line 3: mounts[1].native.warehouse: 'file:///w/bad' is bad"},
		{"a warehouse outside", native("x", "file:///elsewhere/"), "line 3: mounts[1].native.warehouse: it lies under none of the mount's storage profiles"},
		{"a warehouse in a profile that is another mount's", native("x", "file:///y/") + "  - {name: y, location: 'file:///y/', local: {}}\n", "line 3: mounts[1].native.warehouse: it lies under none of the mount's storage profiles"},
		{"a warehouse of an unknown profile", mount("{at: a, native: {id: x, warehouse: 'file:///e/'}, storage: [none]}"), "line 3: mounts[1].storage[0]: no storage profile has the name 'none'"},
		{"a mount's path", mount("{at: bad, rest: {uri: http://h}}"), "line 3: mounts[1].at: 'bad' is bad"},
		{"the tree's name", mount("{at: piedmont, rest: {uri: http://h}}"), "line 3: mounts[1].at: 'piedmont' is bad"},
		{"a secret path", mount("{at: '${env:SECRET}', rest: {uri: http://h}}"), "line 3: mounts[1].at: not a mount's path" + hidden},
		{"mounts together", mount("{at: a, rest: {uri: http://h}, case: lower}"), "line 2: mounts: 'a' is bad"},
		{"mounts together, one secret", mount("{at: '${env:LEVEL}', rest: {uri: http://h}, case: lower}"), "line 2: mounts: not a tree of mounts" + hidden},
		{"a source", mount("{at: a, rest: {uri: http://h}, source: [x, bad]}"), "line 3: mounts[1].source: 'x.bad' is bad"},
		{"a secret source", mount("{at: a, rest: {uri: http://h}, source: [x, '${env:SECRET}']}"), "line 3: mounts[1].source: not a namespace" + hidden},
		{"a key's id", key("{id: bad, sha256: " + hash + ", principal: p}"), "line 6: auth.keys[0].id: 'bad' is bad"},
		{
			"many", strings.Replace(native("bad", "file:///elsewhere/"), "at: a", "at: bad", 1) + "auth: {keys: [{id: bad, sha256: x, principal: p}]}\n",
			"line 3: mounts[1].native.id: 'bad' is bad\nline 3: mounts[1].native.warehouse: it lies under none of the mount's storage profiles\nline 3: mounts[1].at: 'bad' is bad\n" +
				"line 6: auth.keys[0].sha256: want the SHA-256 of the secret as 64 hexadecimal digits\nline 6: auth.keys[0].id: 'bad' is bad",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := strict().Parse([]byte(c.text), t.TempDir())
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, c.want)
			assert.Equal(t, Config{}, got)
		})
	}
}
