package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	config, _ := localConfig(t, "")
	code, out, errs := piedmont(t, "check", "--config", config)
	assert.Zero(t, code)
	assert.Equal(t, `ok      configuration  piedmont
ok      access         the generated admin key
ok      storage        disk
ok      registry       to be made at the first start
ok      mount          (root) native main, format versions 1, 2, 3
`, out)
	assert.Empty(t, errs)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(config), "warehouse", "*"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing stays behind")
	made, err := filepath.Glob(filepath.Join(filepath.Dir(config), "data", "*"))
	require.NoError(t, err)
	assert.Empty(t, made, "no key and no registry is made")
}

// TestCheckBesideAServer: one that doesn't answer keeps its registry, everything else is probed.
func TestCheckBesideAServer(t *testing.T) {
	config, _ := localConfig(t, "")
	g := mustOpen(t, config)
	code, out, _ := piedmont(t, "check", "--config", config)
	assert.Zero(t, code, out)
	assert.Contains(t, out, "ok      registry       in use by a server: not looked at: a server has the registry, or had it until it was stopped: that process takes no admin commands: ")
	assert.Contains(t, out, "ok      mount          (root) native main")
	require.NoError(t, g.close())
	code, out, _ = piedmont(t, "check", "--config", config)
	assert.Zero(t, code, out)
	assert.Contains(t, out, "registry.db\n")
}

func TestCheckFindsWhatFails(t *testing.T) {
	upstream := httptest.NewServer(http.NotFoundHandler())
	defer upstream.Close()
	config, _ := localConfig(t, "  - {at: legacy.eu, rest: {uri: '"+upstream.URL+"', timeout: 1s}}\nauth: {policies: [none.cedar]}\n")
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(config), "warehouse")))
	write(t, filepath.Dir(config), "warehouse", "a file where the directory should be")
	code, out, errs := piedmont(t, "check", "--config", config)
	assert.Equal(t, 1, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 6, "everything is probed, whatever fails: %s", out)
	for i, want := range []string{
		"ok      configuration  piedmont", "failed  access         the generated admin key: auth.policies[0]: no file matches", "failed  storage        disk: ",
		"ok      registry ", "ok      mount          (root) native main", "failed  mount          legacy.eu rest: ",
	} {
		assert.True(t, strings.HasPrefix(lines[i], want), lines[i])
	}
	assert.Equal(t, "piedmont: some checks failed\n", errs)
}

// TestCheckGoesOn: each profile and each mount has its line, whatever fails before it.
func TestCheckGoesOn(t *testing.T) {
	config, data := brokenConfig(t)
	write(t, data, "registry.db", strings.Repeat("no registry ", 10_000))
	code, out, errs := piedmont(t, "check", "--config", config)
	assert.Equal(t, 1, code)
	assert.Equal(t, "piedmont: some checks failed\n", errs)
	rest := out
	for _, want := range []string{
		"ok      configuration  piedmont\n",
		"failed  access         the generated admin key: auth.policies[0]: no file matches none.cedar\n", "failed  access         the generated admin key: auth.policies[2]: ",
		"/p/a.cedar, line 1: ", "/p/a.cedar, line 3: ", "/p/b.cedar: ",
		"ok      storage        disk\n", "ok      storage        twin\n", "failed  storage        gone (read only): ", "failed  storage        role (read only): ",
		"failed  registry       state: ",
		"failed  mount          (root) native main, format versions 1, 2, 3: its registry failed its check\n", "failed  mount          twins native twins, format versions 1, 2, 3: storage profiles of mount twins",
		"failed  mount          hive hive: ", "failed  mount          needy rest: it needs the storage profile 'role'\n", "failed  mount          down rest: ",
	} {
		_, after, found := strings.Cut(rest, want)
		require.True(t, found, "no %q in its place in\n%s", want, out)
		rest = after
	}
	_, out, _ = piedmont(t, "check", "--config", config, "--deep")
	assert.Contains(t, out, "\n(root) native, not looked at: it failed its check\n\ntwins native, not looked at: it failed its check\n")
}

// TestCheckOfReadOnlyStorage: what no native mount names is not written to.
func TestCheckOfReadOnlyStorage(t *testing.T) {
	var refuses, written atomic.Bool
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			written.Store(true)
		}
		status, code := http.StatusNotFound, "NoSuchKey"
		if refuses.Load() {
			status, code = http.StatusForbidden, "AccessDenied"
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
	}))
	defer store.Close()
	dir := t.TempDir()
	config := write(t, dir, "c.yaml", strings.ReplaceAll(`data: DIR/data
storage: [{name: lake, location: "s3://lake/", s3: {endpoint: "`+store.URL+`", path_style: true, region: r, access_key_id: k, secret_access_key: s}}]
mounts: [{at: legacy, rest: {uri: "`+store.URL+`", timeout: 1s}, storage: [lake]}]
`, "DIR", dir))
	_, out, _ := piedmont(t, "check", "--config", config)
	assert.Contains(t, out, "ok      storage        lake (read only)\n")
	refuses.Store(true)
	_, out, _ = piedmont(t, "check", "--config", config)
	assert.Contains(t, out, "failed  storage        lake (read only): ")
	assert.Contains(t, out, "s3:ListBucket")
	assert.False(t, written.Load())
}

func TestCheckOfFaults(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := piedmont(t, "check", "--config", write(t, dir, "c.yaml", `nam: x
mounts: [{at: tables, rest: {uri: h}}]
storage: [{name: s, location: "file://rel/x", local: {}}]
auth: {keys: [{id: a b, sha256: x, principal: p}]}
`))
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, `c.yaml can't be used:
line 1: nam: unknown key; did you mean name?
line 2: mounts[0].rest.uri: want a URL like https://host/path
line 2: mounts[0].at: mount at 'tables': the REST protocol uses this word in its paths
line 3: storage[0].location: Invalid location: a file location names no host: file:///path
line 4: auth.keys[0].sha256: want the SHA-256 of the secret as 64 hexadecimal digits
line 4: auth.keys[0].id: a key's id is 1 to 64 letters, digits, '-' and '_'
`)
	code, _, errs = piedmont(t, "check", "--config", filepath.Join(dir, "none.yaml"))
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "read the configuration")
}
