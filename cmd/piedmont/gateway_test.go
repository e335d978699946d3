package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/authz"
)

func TestStartRefusesAnUnknownID(t *testing.T) {
	config, data := localConfig(t, "")
	g := mustOpen(t, config)
	assert.Equal(t, 200, send(g.router, "POST", "/v1/namespaces", g.generated, `{"namespace":["sales"]}`).Code)
	require.NoError(t, g.close())

	text, err := os.ReadFile(config)
	require.NoError(t, err)
	renamed := strings.Replace(string(text), "id: main", "id: other", 1)
	dir := filepath.Dir(config)
	_, err = open(t, write(t, dir, "renamed.yaml", renamed))
	require.ErrorContains(t, err, "the registry holds the catalog 'main', which no mount names")
	lock, err := lockData(data)
	require.NoError(t, err, "a start that failed holds nothing")
	require.NoError(t, lock.release())

	g = mustOpen(t, write(t, dir, "detached.yaml", renamed+"detached: [main]\n"))
	require.NoError(t, g.close())
	g = mustOpen(t, config)
	assert.Equal(t, 204, send(g.router, "HEAD", "/v1/namespaces/sales", g.generated, "").Code, "nothing was lost")
}

func TestStartRefuses(t *testing.T) {
	for _, c := range []struct {
		name, more string
		files      map[string]string
		want       string
	}{
		{"a policy that doesn't parse", "auth: {policies: [p.cedar]}", map[string]string{"p.cedar": "\nallow();"}, "p.cedar"},
		{"a policy with a typo", "auth: {policies: ['p/*.cedar']}", map[string]string{"p/a.cedar": "", "p/b.cedar": "\npermit(principal, action == Action::\"loadTabel\", resource);"}, "b.cedar, line 2"},
		{"a pattern without a file", "auth: {policies: ['p/*.cedar']}", nil, "auth.policies[0]: no file matches p/*.cedar"},
		{"a broken pattern", "auth: {policies: ['[']}", nil, "auth.policies[0]"},
		{"a directory of policies", "auth: {policies: [p]}", map[string]string{"p/a.cedar": ""}, "auth.policies[0]"},
		{"a bad key id", "auth: {keys: [{id: 'a b', sha256: " + authz.HashSecret("x") + ", principal: p}]}", nil, "line 6: auth.keys[0].id: a key's id is"},
		{"a mount at a word of the API", "  - {at: tables, rest: {uri: 'http://127.0.0.1:1'}}\n", nil, "line 6: mounts[1].at: mount at 'tables'"},
		{"the tree's name", "  - {at: piedmont, rest: {uri: 'http://127.0.0.1:1'}}\n", nil, "line 6: mounts[1].at: the tree's name"},
		{"a warehouse outside its profile", "  - {at: x, native: {id: x, warehouse: 'file:///elsewhere/'}, storage: [disk]}\n", nil, "line 6: mounts[1].native.warehouse: it lies under none"},
		{"a bad native id", "  - {at: x, native: {id: 'a b', warehouse: 'file:///elsewhere/'}, storage: [disk]}\n", nil, "line 6: mounts[1].native.id: a native mount's id"},
		{"a mount below one that spells otherwise", "  - {at: low, rest: {uri: 'http://127.0.0.1:1'}, case: lower}\n  - {at: low.Up, rest: {uri: 'http://127.0.0.1:1'}}\n", nil, "line 5: mounts: mount at 'low.Up'"},
		{"a source that is no namespace", "  - {at: x, rest: {uri: 'http://127.0.0.1:1'}, source: [\"a\\u001fb\"]}\n", nil, "line 6: mounts[1].source: Invalid namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, data := localConfig(t, c.more)
			for name, text := range c.files {
				write(t, filepath.Dir(config), name, text)
			}
			_, err := open(t, config)
			require.ErrorContains(t, err, c.want)
			assert.NoFileExists(t, filepath.Join(data, "registry.db"))
			lock, err := lockData(data)
			require.NoError(t, err, "a start that failed holds nothing")
			require.NoError(t, lock.release())
		})
	}
}

// brokenConfig has a fault of each kind that the text alone doesn't show, beside good parts.
func brokenConfig(t *testing.T) (config, data string) {
	t.Helper()
	t.Setenv("AWS_PROFILE", "none")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	config, data = localConfig(t, `  - {at: twins, native: {id: twins, warehouse: "file://DIR/warehouse/t"}, storage: [disk, twin]}
  - {at: hive, hive: {uris: ["thrift://127.0.0.1:1"], tls: {ca: /none.pem}, timeout: 1s}}
  - {at: needy, rest: {uri: "http://127.0.0.1:1", timeout: 1s}, storage: [role]}
  - {at: down, rest: {uri: "http://127.0.0.1:1", timeout: 1s}}
auth: {policies: [none.cedar, "p/*.cedar", "["]}
`)
	dir := filepath.Dir(config)
	text, err := os.ReadFile(config)
	require.NoError(t, err)
	write(t, dir, "piedmont.yaml", strings.Replace(string(text), "mounts:\n", `  - {name: twin, location: "file://`+dir+`/warehouse/", local: {}}
  - {name: gone, location: "file://`+dir+`/gone/", local: {}}
  - {name: role, location: "s3://b/", s3: {region: r}}
mounts:
`, 1))
	write(t, dir, "p/a.cedar", "permit(principal, action == Action::\"loadTabel\", resource);\n\npermit(principal in Gruop::\"g\", action, resource);")
	write(t, dir, "p/b.cedar", "\nallow();")
	return config, data
}

// TestStartNamesAllFaults, and makes nothing while there is one.
func TestStartNamesAllFaults(t *testing.T) {
	config, data := brokenConfig(t)
	_, err := open(t, config)
	require.Error(t, err)
	for _, want := range []string{
		"\nauth.policies[0]: no file matches none.cedar\n", "\nauth.policies[2]: ", "/p/a.cedar, line 1: ", "/p/a.cedar, line 3: ", "/p/b.cedar: ",
		"\nstorage[3]: ", "\nmounts[1]: ", "\nmounts[2]: ",
	} {
		assert.Contains(t, err.Error(), want)
	}
	for _, not := range []string{"mounts[0]", "mounts[3]", "mounts[4]", "storage[2]"} {
		assert.NotContains(t, err.Error(), not, "it isn't its fault")
	}
	assert.NoDirExists(t, data)
}

// TestMissingDirectory: a disk that isn't mounted stops no start, and nothing but what is on it; a
// check says so. Nothing is written in its place, and what is on it is served once it is back.
func TestMissingDirectory(t *testing.T) {
	config, _ := localConfig(t, "")
	dir := filepath.Dir(config)
	text, err := os.ReadFile(config)
	require.NoError(t, err)
	write(t, dir, "piedmont.yaml", strings.NewReplacer(
		"storage:\n", "storage:\n  - {name: other, location: 'file://"+dir+"/unmounted/disk/', local: {}}\n",
		"mounts:\n", "mounts:\n  - {at: away, native: {id: away, warehouse: 'file://"+dir+"/unmounted/disk/'}, storage: [other]}\n",
	).Replace(string(text)))
	code, out, _ := piedmont(t, "check", "--config", config)
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "failed  storage        other: its directory doesn't exist: mount its disk, or make it")

	g, log := openLogged(t, config)
	assert.Contains(t, log, "storage=other")
	assert.NotContains(t, log, "storage=disk")
	for _, namespace := range []string{`["db"]`, `["away","db"]`} {
		require.Equal(t, 200, send(g.router, "POST", "/v1/namespaces", g.generated, `{"namespace":`+namespace+`}`).Code)
	}
	create := func(namespace string) *httptest.ResponseRecorder {
		return send(g.router, "POST", "/v1/namespaces/"+namespace+"/tables", g.generated, `{"name":"t","schema":{"type":"struct","fields":[]}}`)
	}
	assert.Equal(t, 200, create("db").Code)
	refused := create("away%1Fdb")
	assert.Equal(t, 503, refused.Code)
	assert.Contains(t, refused.Body.String(), "storage profile 'other' has no directory at its prefix")
	require.NoDirExists(t, filepath.Join(dir, "unmounted"))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "unmounted", "disk"), 0o700))
	assert.Equal(t, 200, create("away%1Fdb").Code)
}

// TestNoDirectory: a start and a check refuse the same, and neither makes anything.
func TestNoDirectory(t *testing.T) {
	for _, c := range []struct{ what, want string }{
		{"a file", "storage disk: its location is no directory"},
		{"below a file", "storage disk: its location is no directory"},
	} {
		t.Run(c.what, func(t *testing.T) {
			config, data := localConfig(t, "")
			dir := filepath.Dir(config)
			warehouse := filepath.Join(dir, "warehouse")
			require.NoError(t, os.Remove(warehouse))
			switch c.what {
			case "a file":
				write(t, dir, "warehouse", "")
			case "below a file":
				write(t, dir, "file", "")
				require.NoError(t, os.Symlink("file/inside", warehouse))
			}
			code, out, _ := piedmont(t, "check", "--config", config)
			assert.Equal(t, 1, code)
			assert.Contains(t, out, "failed  storage        "+strings.TrimPrefix(c.want, "storage "))
			_, err := open(t, config)
			require.ErrorContains(t, err, strings.Replace(c.want, "storage disk", "storage[0]", 1))
			assert.NoFileExists(t, filepath.Join(data, "registry.db"))
			require.NoError(t, os.Remove(warehouse))
			require.NoError(t, os.Mkdir(warehouse, 0o700))
			mustOpen(t, config)
		})
	}
}

func TestStartRefusesADamagedRegistry(t *testing.T) {
	config, data := localConfig(t, "")
	write(t, data, "registry.db", strings.Repeat("no registry ", 10_000))
	_, err := open(t, config)
	require.ErrorContains(t, err, "registry.db")
	lock, err := lockData(data)
	require.NoError(t, err)
	require.NoError(t, lock.release())
}

func TestStartMakesAncestorsAndHidesNothing(t *testing.T) {
	config, _ := localConfig(t, "  - {at: far.away, rest: {uri: 'http://127.0.0.1:1', timeout: 1s}}\n")
	g := mustOpen(t, config)
	assert.Equal(t, 204, send(g.router, "HEAD", "/v1/namespaces/far", g.generated, "").Code)
	assert.Equal(t, 409, send(g.router, "DELETE", "/v1/namespaces/far", g.generated, "").Code)
	assert.Equal(t, 200, send(g.router, "POST", "/v1/namespaces", g.generated, `{"namespace":["taken"]}`).Code)
	require.NoError(t, g.close())

	text, err := os.ReadFile(config)
	require.NoError(t, err)
	_, err = open(t, write(t, filepath.Dir(config), "hides.yaml", strings.Replace(string(text), "far.away", "taken", 1)))
	require.ErrorContains(t, err, "The mount at 'taken' would hide a namespace")
}

func TestConfiguredKeysReplaceTheGeneratedOne(t *testing.T) {
	config, data := localConfig(t, `auth:
  keys:
    - {id: a, sha256: `+authz.HashSecret("secret-a")+`, principal: ops}
    - {id: b, sha256: `+authz.HashSecret("secret-b")+`, principal: admin}
  admins: [ops]
`)
	write(t, data, adminKeyFile, "admin:"+strings.Repeat("s", 40))
	g, log := openLogged(t, config)
	require.NoError(t, g.close())
	assert.Equal(t, 1, strings.Count(log, "Its file may be removed"), log)
	assert.Contains(t, log, filepath.Join(data, adminKeyFile))
	assert.NotContains(t, log, strings.Repeat("s", 40))
	require.NoError(t, os.Remove(filepath.Join(data, adminKeyFile)))
	g, log = openLogged(t, config)
	assert.Empty(t, log)
	assert.NoFileExists(t, filepath.Join(data, adminKeyFile))
	assert.Equal(t, 200, send(g.router, "POST", "/v1/namespaces", "a:secret-a", `{"namespace":["n"]}`).Code)
	assert.Equal(t, 403, send(g.router, "POST", "/v1/namespaces", "b:secret-b", `{"namespace":["m"]}`).Code, "admin is no name of power here")
}
