package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// base is a configuration without faults that others are made from.
const base = `
mounts: [{at: "", native: {id: main, warehouse: "file:///w/"}, storage: [disk]}]
storage: [{name: disk, location: "file:///w/", local: {}}]
`

func parse(t testing.TB, text string) (Config, []string) {
	t.Helper()
	c, err := Parse([]byte(text), t.TempDir())
	if err == nil {
		return c, nil
	}
	var faults Faults
	require.ErrorAs(t, err, &faults)
	require.NotEmpty(t, faults)
	require.Equal(t, Config{}, c, "nothing half read")
	return c, strings.Split(err.Error(), "\n")
}

func TestDefaults(t *testing.T) {
	c, faults := parse(t, base)
	require.Empty(t, faults)
	week := 7 * 24 * time.Hour
	assert.Equal(t, Config{
		Name: "piedmont", Listen: "127.0.0.1:8181", Data: "./piedmont-data",
		Registry: Registry{Bolt: &Bolt{Path: "registry.db"}}, Cache: Cache{Documents: 256 << 20},
		Storage: []Storage{{Name: "disk", Location: "file:///w/", Local: &Local{}}},
		Mounts:  []Mount{{Native: &Native{ID: "main", Warehouse: "file:///w/", UndropWindow: &week}, Storage: []string{"disk"}}},
	}, c)

	made := Default("/data")
	assert.Equal(t, "file:///data/warehouse/", made.Mounts[0].Native.Warehouse)
	d := decoder{lines: map[string]int{}}
	v := newValidator(&d)
	v.config(&made)
	assert.Empty(t, v.faults, "the configuration without a file has no faults either")
}

func TestEverything(t *testing.T) {
	c, faults := parse(t, `
name: lake
listen: "[::1]:80"
operator: :9090
data: /var/lib/piedmont
registry: {bolt: {path: /elsewhere/registry.db}}
cache: {documents: 1 GiB}
storage:
  - {name: a, location: "s3://lake/", s3: {endpoint: "http://s3:9000", region: us-east-1, path_style: true, access_key_id: k, secret_access_key: s}}
  - {name: b, location: "s3a://other/", s3: {region: eu-west-1}}
mounts:
  - at: legacy.eu
    rest: {uri: "https://h/base", warehouse: w, credential: "id:secret", oauth2_server_uri: "https://idp/token", scope: all, timeout: 1m30s}
    storage: [a, b]
    source: [sales, eu]
    case: lower
    fresh_for: 30s
  - {at: glue, rest: {uri: "https://h", sigv4: {region: r, service: glue, access_key_id: k, secret_access_key: s}}, case: exact}
  - {at: token, rest: {uri: "https://h", token: t}}
detached: [old]
auth:
  keys: [{id: etl, sha256: "`+strings.Repeat("0a", 32)+`", principal: p, groups: [g, h]}]
  admins: [ops]
  policies: ["policies/*.cedar"]
`)
	require.Empty(t, faults)
	assert.Equal(t, Bytes(1<<30), c.Cache.Documents)
	assert.True(t, c.Storage[0].S3.PathStyle)
	assert.Equal(t, 90*time.Second, c.Mounts[0].REST.Timeout)
	assert.Equal(t, 30*time.Second, c.Mounts[0].FreshFor)
	assert.Equal(t, []string{"sales", "eu"}, c.Mounts[0].Source)
	assert.Equal(t, &SigV4{Region: "r", Service: "glue", AccessKeyID: "k", SecretAccessKey: "s"}, c.Mounts[1].REST.SigV4)
	assert.Equal(t, []string{"g", "h"}, c.Auth.Keys[0].Groups)
	assert.Equal(t, []string{"old"}, c.Detached)
}

func TestAllFaultsInOneRun(t *testing.T) {
	_, faults := parse(t, `name: [a]
listn: x
cache: {documents: 5 MB}
storage:
  - {name: disk, location: "s3://b/", local: {}}
mounts:
  - {at: a, native: {id: main}}
  - {at: b, rest: {uri: ftp://h, timeout: soon}, fresh_for: -1s}
  - {at: c, rest: {uri: http://h, tokn: x}, storage: disk}
`)
	assert.Equal(t, []string{
		"line 1: name: want a single value",
		"line 2: listn: unknown key; did you mean listen?",
		"line 3: cache.documents: want a size like 256MiB",
		"line 5: storage[0].location: want a location that begins with file:",
		"line 7: mounts[0].native.warehouse: missing; it says where tables are put that name no location",
		"line 7: mounts[0].storage: missing; a native mount needs the profile that its warehouse lies in",
		"line 8: mounts[1].rest.timeout: want a duration like 30s, 5m or 7d",
		"line 8: mounts[1].fresh_for: want a duration like 30s, 5m or 7d",
		"line 8: mounts[1].rest.uri: want a URL like https://host/path",
		"line 9: mounts[2].rest.tokn: unknown key; did you mean token?",
		"line 9: mounts[2].storage: want a list",
	}, faults)
}

func TestYAML(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "mounts: no mount: name at least one catalog"},
		{"only a comment", "# nothing\n", "mounts: no mount: name at least one catalog"},
		{"null", "~", "mounts: no mount: name at least one catalog"},
		{"a list", "- a", "line 1: want a mapping of keys to values"},
		{"a word", "hello", "line 1: want a mapping of keys to values"},
		{"no YAML", "a: [", "the file: not YAML"},
		{"tabs", "a:\n\tb: c", "the file: not YAML"},
		{"a key twice", base + "name: a\nname: b", "line 5: name: the key stands twice"},
		{"an alias", "x: &x a\n" + base + "name: *x", "name: aliases aren't supported"},
		{"a merge", base + "auth: {<<: {admins: [a]}}", "auth.<<: unknown key"},
		{"two documents", base + "---\n" + base, "more than one YAML document"},
		{"broken second document", base + "---\na: [", "more than one YAML document"},
		{"a mapping for a value", base + "name: {a: b}", "name: want a single value"},
		{"a value for a mapping", base + "cache: 5", "cache: want a mapping of keys to values"},
		{"a mapping for a list", base + "detached: {a: b}", "detached: want a list"},
		{"a key that is a list", base + "? [a, b]\n: c", "unknown key"},
		{"deep nesting", base + "detached: " + strings.Repeat("[", 50) + strings.Repeat("]", 50), "detached[0]: want a single value"},
		{"nesting that the parser refuses", "a: " + strings.Repeat("[", 20000), "not YAML"},
		{"aliases that blow up", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n" + base, "unknown key"},
		{"a very long key", "? " + strings.Repeat("k", 1<<16) + "\n: 1\n" + base, "unknown key"},
		{"yes for true", base + "x: 1\n", "x: unknown key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, faults := parse(t, c.text)
			assert.Contains(t, strings.Join(faults, "\n"), c.want)
		})
	}
}

// YAML's guesses at types don't change what is written.
func TestScalarsAreText(t *testing.T) {
	for written, want := range map[string]string{"0123": "0123", "1e5": "1e5", "true": "true", "1.10": "1.10", "'~'": "~", "2026-01-02": "2026-01-02", "0x10": "0x10"} {
		c, faults := parse(t, base+"name: "+written)
		require.Empty(t, faults)
		assert.Equal(t, want, c.Name)
	}
	c, faults := parse(t, base+"name: ~\nlisten:\ncache:\n")
	require.Empty(t, faults)
	assert.Equal(t, "piedmont", c.Name, "nothing is as if the key weren't there")
}

func TestSizes(t *testing.T) {
	for written, want := range map[string]int64{"1": 1, "1024": 1024, "2KiB": 2 << 10, "3 MiB": 3 << 20, "4GiB": 4 << 30, "4194304GiB": 1 << 52} {
		got, ok := parseBytes(written)
		assert.True(t, ok, written)
		assert.Equal(t, want, got, written)
	}
	for _, written := range []string{"", "0", "-1", "1MB", "1.5GiB", "MiB", "1 TiB", "9999999999GiB", "99999999999999999999", "1KiB MiB", "0x10"} {
		_, ok := parseBytes(written)
		assert.False(t, ok, written)
	}
}

func TestNearestKey(t *testing.T) {
	for written, want := range map[string]string{
		"lisen": "; did you mean listen?", "Listen": "; did you mean listen?", "mount": "; did you mean mounts?",
		"stroage": "; did you mean storage?", "something_else_entirely": "", "q": "",
	} {
		_, faults := parse(t, base+written+": x")
		require.Len(t, faults, 1)
		assert.Equal(t, "line 4: "+written+": unknown key"+want, faults[0])
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "piedmont.yaml")
	require.NoError(t, os.WriteFile(path, []byte(base+"name: ${file:name.txt}"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "name.txt"), []byte("lake\r\n\n"), 0o600))
	c, err := Load(path)
	require.NoError(t, err)
	assert.Equal(t, "lake", c.Name, "a file is found beside the configuration")

	_, err = Load(filepath.Join(dir, "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Load(dir)
	require.ErrorContains(t, err, "read the configuration")
	huge := filepath.Join(dir, "huge.yaml")
	require.NoError(t, os.WriteFile(huge, make([]byte, MaxFileBytes+1), 0o600))
	_, err = Load(huge)
	require.ErrorContains(t, err, "larger than 4 MiB")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", base, "a: [", "- a", "name: ${env:X", "name: ${file:/}", "x: &x\n  *x", "a: &a [*a]", "? {a: b}\n: c", "<<: {name: x}",
		"mounts: [~]\nstorage: [~]\nauth: {keys: [~], admins: [~]}", "cache: {documents: 9223372036854775807GiB}", "%YAML 9", "\xff", "--- a\n--- b",
		"name: !!binary aGk=\nlisten: !x y", "mounts: [{at: a.b., source: [''], rest: {uri: '://'}, fresh_for: 9999999h}]",
	} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text, dir)
		if err == nil {
			require.NotEmpty(t, c.Mounts)
			require.NotEmpty(t, c.Name)
			return
		}
		var faults Faults
		require.ErrorAs(t, err, &faults)
		for _, fault := range faults {
			require.NotEmpty(t, fault.Text)
		}
	})
}
