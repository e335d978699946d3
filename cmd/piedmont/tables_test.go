package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/native"
)

// catalogOf makes requests to a gateway as its admin; each must succeed.
func catalogOf(t *testing.T, g *gateway) func(method, path, body string) {
	t.Helper()
	return func(method, path, body string) {
		t.Helper()
		w := send(g.router, method, "/v1/"+path, g.generated, body)
		require.Less(t, w.Code, 300, "%s %s: %s", method, path, w.Body)
	}
}

const emptySchema = `{"type":"struct","fields":[]}`

// TestTables drops and restores through a running server and beside none.
func TestTables(t *testing.T) {
	config, _ := localConfig(t, `  - {at: "team.eu", native: {id: team, warehouse: "file://DIR/warehouse/team"}, storage: [disk]}
  - {at: old, rest: {uri: "http://127.0.0.1:9"}}
listen: 127.0.0.1:0
`)
	g := mustOpen(t, config)
	catalog := catalogOf(t, g)
	_, stop, ended := serving(t, g)
	code, out, _ := piedmont(t, "tables", "dropped", "--config", config)
	require.Equal(t, 0, code)
	require.Equal(t, "no dropped tables\n", out)

	catalog(http.MethodPost, "namespaces", `{"namespace":["a.b"]}`)
	catalog(http.MethodPost, "namespaces", `{"namespace":["team","eu","x"]}`)
	catalog(http.MethodPost, "namespaces/a.b/tables", `{"name":"t 1%","schema":`+emptySchema+`}`)
	catalog(http.MethodPost, "namespaces/team%1Feu%1Fx/tables", `{"name":"u","schema":`+emptySchema+`}`)
	catalog(http.MethodDelete, "namespaces/a.b/tables/t%201%25?purgeRequested=true", "")
	catalog(http.MethodDelete, "namespaces/team%1Feu%1Fx/tables/u", "")
	catalog(http.MethodPost, "namespaces/team%1Feu%1Fx/tables", `{"name":"taken","schema":`+emptySchema+`}`)

	code, out, _ = piedmont(t, "tables", "dropped", "--config", config)
	require.Equal(t, 0, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3)
	assert.Regexp(t, `^NAME +DROPPED +BY +STATE +ID$`, lines[0])
	assert.Regexp(t, `^a%2Eb\.t 1%25 .* admin +restorable until .*, then purged +[0-9a-f-]{36}$`, lines[1])
	assert.Regexp(t, `^team\.eu\.x\.u .* admin +restorable until [^,]* +[0-9a-f-]{36}$`, lines[2])

	for _, refused := range []struct{ args, says string }{
		{"team.eu.x.gone", "No dropped table team.eu.x.gone can be restored"},
		{"team.eu.x.u --as other.u", "lies in another mount"},
		{"team.eu.x.u --as team.eu.y.u", "create the namespace of team.eu.y.u first, or give another name with --as"},
		{"team.eu.x.u --as team.eu.x.taken", "--as restores team.eu.x.u under another name"},
		{"old.x.u", "which is read-only"},
		{"u", "needs a namespace"},
		{"a..u", "empty level"},
		{"team.eu.x.u --id nonsense", `No dropped table team.eu.x.u with the id nonsense can be restored; "piedmont tables dropped" lists`},
		{"", "name one table to restore"},
	} {
		code, _, errs := piedmont(t, append([]string{"tables", "restore", "--config", config}, strings.Fields(refused.args)...)...)
		require.Equal(t, 1, code)
		require.Contains(t, errs, refused.says)
	}
	code, out, _ = piedmont(t, "tables", "restore", "a%2Eb.t 1%25", "--config", config)
	require.Equal(t, 0, code)
	require.Regexp(t, `^restored a%2Eb\.t 1%25 at file:///.*\.metadata\.json\n$`, out)
	catalog(http.MethodHead, "namespaces/a.b/tables/t%201%25", "")

	stop()
	require.NoError(t, <-ended)
	require.NoError(t, g.close())
	code, out, _ = piedmont(t, "tables", "dropped", "team", "--json", "--config", config)
	require.Equal(t, 0, code)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &line))
	require.Equal(t, "team.eu.x.u", line["name"])
	require.Equal(t, "restorable", line["state"])
	code, _, errs := piedmont(t, "tables", "restore", "team.eu.x.u", "--as", "team.eu.x.v", "--config", config)
	require.Equal(t, 0, code, errs)
	code, out, _ = piedmont(t, "tables", "dropped", "--config", config)
	require.Equal(t, 0, code)
	require.Equal(t, "no dropped tables\n", out)
	catalogOf(t, mustOpen(t, config))(http.MethodHead, "namespaces/team%1Feu%1Fx/tables/v", "")
}

// TestPurgeWhileServing: without an undrop_window the files go soon, and what went is told.
func TestPurgeWhileServing(t *testing.T) {
	config, _ := localConfig(t, "listen: 127.0.0.1:0\n")
	text, err := os.ReadFile(config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(config, []byte(strings.Replace(string(text), "{id: main,", "{id: main, undrop_window: 0s,", 1)), 0o600))
	g := mustOpen(t, config)
	catalog := catalogOf(t, g)
	serving(t, g)
	catalog(http.MethodPost, "namespaces", `{"namespace":["ns"]}`)
	catalog(http.MethodPost, "namespaces/ns/tables", `{"name":"t","schema":`+emptySchema+`}`)
	pattern := filepath.Join(filepath.Dir(config), "warehouse", "ns", "*", "metadata", "*.json")
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.Len(t, files, 1)
	catalog(http.MethodDelete, "namespaces/ns/tables/t?purgeRequested=true", "")
	require.Eventually(t, func() bool {
		files, err := filepath.Glob(pattern)
		return err == nil && len(files) == 0
	}, 4*tendEvery, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		_, out, _ := piedmont(t, "tables", "dropped", "--config", config)
		return strings.Contains(out, "purged, files removed: 1")
	}, tendEvery, 10*time.Millisecond)
}

func TestDescribeDropped(t *testing.T) {
	now := time.Now()
	over, later := now.Add(-time.Second), now.Add(time.Hour)
	require.Equal(t, "no longer restorable", describeDropped(native.Dropped{State: native.Restorable, Purge: true, RestorableUntil: over, Keeps: "why"}, now))
	for want, d := range map[string]native.Dropped{
		"no longer restorable, waits to be purged":                {State: native.Restorable, Purge: true, RestorableUntil: now},
		"no longer restorable":                                    {State: native.Restorable, RestorableUntil: over},
		"restorable until " + moment(later) + ", then purged":     {State: native.Restorable, Purge: true, RestorableUntil: later},
		"restorable until " + moment(later) + ", then kept (why)": {State: native.Restorable, Purge: true, RestorableUntil: later, Keeps: "why"},
		"restorable until " + moment(later):                       {State: native.Restorable, RestorableUntil: later},
		"files are being removed":                                 {State: native.Purging, Purge: true, RestorableUntil: over},
		"kept, files removed: 0 (gc.enabled is not true)":         {State: native.Kept, Report: &native.PurgeReport{Reason: "gc.enabled is not true"}},
		"purged, files removed: 3, outside its location: 1":       {State: native.Purged, Report: &native.PurgeReport{Removed: 3, Outside: 1}},
		"its record in the registry is damaged":                   {State: native.Damaged},
	} {
		require.Equal(t, want, describeDropped(d, now))
	}
}
