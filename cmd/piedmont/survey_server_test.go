package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/configs"
	"piedmont/mounts/survey"
)

const surveyed = 30 // tables in the root of servedTables

// servedTables is a running server with two native mounts. One table of the first has a second
// name in the other.
func servedTables(t *testing.T) (config string, g *gateway, stop func()) {
	t.Helper()
	config, _ = localConfig(t, `  - {at: team, native: {id: team, warehouse: "file://DIR/warehouse/team"}, storage: [disk]}
listen: 127.0.0.1:0
`)
	g = mustOpen(t, config)
	catalog := catalogOf(t, g)
	catalog(http.MethodPost, "namespaces", `{"namespace":["a"]}`)
	catalog(http.MethodPost, "namespaces", `{"namespace":["team","b"]}`)
	for i := range surveyed {
		catalog(http.MethodPost, "namespaces/a/tables", fmt.Sprintf(`{"name":"t%02d","schema":%s}`, i, emptySchema))
	}
	loaded := send(g.router, http.MethodGet, "/v1/namespaces/a/tables/t07", g.generated, "")
	var first struct {
		Location string `json:"metadata-location"`
	}
	require.NoError(t, json.Unmarshal(loaded.Body.Bytes(), &first))
	catalog(http.MethodPost, "namespaces/team%1Fb/register", `{"name":"again","metadata-location":"`+first.Location+`"}`)
	return config, g, serve(t, g)
}

// serve runs a gateway; the function stops it and gives the registry back.
func serve(t *testing.T, g *gateway) (stop func()) {
	t.Helper()
	_, end, ended := serving(t, g)
	return func() {
		end()
		assert.NoError(t, <-ended)
		assert.NoError(t, g.close())
	}
}

// pausing is the output of a check that stands still at the first table of the root, of which many
// are left, until it is to go on.
type pausing struct {
	bytes.Buffer
	once          sync.Once
	reached, goOn chan struct{}
}

func (p *pausing) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte(`{"table":{"mount":"",`)) {
		p.once.Do(func() {
			close(p.reached)
			<-p.goOn
		})
	}
	return p.Buffer.Write(b)
}

// linesOf are the findings in the JSON that a check wrote.
func linesOf(t *testing.T, text string) (tables map[string]int, overlaps []survey.Overlap, mounts map[string]*survey.Summary) {
	t.Helper()
	tables, mounts = map[string]int{}, map[string]*survey.Summary{}
	for line := range strings.Lines(text) {
		var l survey.Line
		require.NoError(t, json.Unmarshal([]byte(line), &l), line)
		switch {
		case l.Table != nil && l.Table.State == survey.Loaded:
			tables[l.Table.Name]++
		case l.Overlap != nil:
			overlaps = append(overlaps, *l.Overlap)
		case l.Mount != nil:
			mounts[l.Mount.Mount] = l.Mount
		}
	}
	return tables, overlaps, mounts
}

// requireWhole: each table was found once, and the mounts are complete.
func requireWhole(t *testing.T, text string) {
	t.Helper()
	tables, overlaps, mounts := linesOf(t, text)
	require.Len(t, tables, surveyed+1)
	for name, times := range tables {
		require.Equal(t, 1, times, name)
	}
	require.Len(t, overlaps, 1, "of two mounts")
	require.Equal(t, []any{survey.SameTable, "team.b.again", "a.t07"}, []any{overlaps[0].Relation, overlaps[0].Table, overlaps[0].Other})
	require.Len(t, mounts, 2)
	for name, m := range mounts {
		require.Equal(t, survey.Complete, m.State, name)
	}
}

// TestDeepCheckOfARunningServer looks through its native mounts, and at what its registry holds.
func TestDeepCheckOfARunningServer(t *testing.T) {
	config, g, _ := servedTables(t)
	code, out, errs := piedmont(t, "check", "--config", config)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "ok      registry       asked of the running server\n")
	code, out, errs = piedmont(t, "check", "--config", config, "--deep", "--json", "--calls-per-second", "0")
	require.Zero(t, code, errs)
	requireWhole(t, out)
	assert.True(t, exists(g, "a"), "the server still serves")

	text, err := os.ReadFile(config)
	require.NoError(t, err)
	other := write(t, filepath.Dir(config), "other.yaml", strings.ReplaceAll(string(text), "id: team,", "id: renamed,"))
	code, out, _ = piedmont(t, "check", "--config", other)
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "failed  registry       asked of the running server: the registry holds the catalog 'team', which no mount names")
}

// deepCheckWhile runs a check in JSON that gives up after the patience, or the usual one for 0. When it has found a table, something
// happens before it goes on.
func deepCheckWhile(t *testing.T, config, journal string, patience time.Duration, happens func(interrupt func())) (string, error) {
	t.Helper()
	c, err := configs.Load(config)
	require.NoError(t, err)
	out := &pausing{reached: make(chan struct{}), goOn: make(chan struct{})}
	report := &reporter{w: out, json: true}
	d, err := newDeepCheck(c, deepFlags{on: true, json: true, journal: journal}, report, io.Discard)
	require.NoError(t, err)
	d.patience = patience
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- check(ctx, report, c, filepath.Dir(config), d) }()
	select {
	case <-out.reached:
	case err := <-ended:
		t.Fatalf("the check found no table: %v\n%s", err, out)
	}
	happens(cancel)
	close(out.goOn)
	err = <-ended
	return out.String(), err
}

// TestServerStopsDuringADeepCheck: the mounts have failed, and nobody takes a part for the whole.
// What was found isn't asked again, by whoever has the registry then.
func TestServerStopsDuringADeepCheck(t *testing.T) {
	config, _, stop := servedTables(t)
	journal := filepath.Join(t.TempDir(), "journal")
	out, err := deepCheckWhile(t, config, journal, 100*time.Millisecond, func(func()) { stop() })
	require.ErrorIs(t, err, errChecks, "%s", out)
	tables, _, mounts := linesOf(t, out)
	require.NotEmpty(t, tables)
	require.Less(t, len(tables), surveyed)
	require.Equal(t, survey.Failed, mounts[""].State)
	require.Contains(t, mounts[""].Detail, "given up: nothing was answered")
	require.Contains(t, mounts[""].Detail, "a server has the registry, or had it until it was stopped: that process takes no admin commands")

	out, err = deepCheckWhile(t, config, journal, 0, func(func()) {})
	require.NoError(t, err)
	requireWhole(t, out)
}

// TestServerRestartsDuringADeepCheck: the survey goes on with the next server.
func TestServerRestartsDuringADeepCheck(t *testing.T) {
	config, _, stop := servedTables(t)
	out, err := deepCheckWhile(t, config, "", 0, func(func()) {
		stop()
		serve(t, mustOpen(t, config))
	})
	require.NoError(t, err)
	requireWhole(t, out)
}

// TestDeepCheckOfARunningServerIsInterrupted, and goes on.
func TestDeepCheckOfARunningServerIsInterrupted(t *testing.T) {
	config, _, _ := servedTables(t)
	journal := filepath.Join(t.TempDir(), "journal")
	out, err := deepCheckWhile(t, config, journal, 0, func(interrupt func()) { interrupt() })
	require.ErrorContains(t, err, "interrupted: the same command goes on from "+journal)
	tables, overlaps, mounts := linesOf(t, out)
	require.NotEmpty(t, tables)
	require.Less(t, len(tables), surveyed)
	require.Empty(t, overlaps)
	require.Empty(t, mounts)
	out, err = deepCheckWhile(t, config, journal, 0, func(func()) {})
	require.NoError(t, err)
	requireWhole(t, out)
}

// TestDeepCheckBesideAnotherRelease: a server that doesn't know the question is told of.
func TestDeepCheckBesideAnotherRelease(t *testing.T) {
	config := withTables(t, "")
	g := mustOpen(t, config)
	controlled(t, g.config.Data, newControl(g), nil)
	code, out, errs := piedmont(t, "check", "--config", config, "--deep")
	assert.Equal(t, 1, code, errs)
	const why = "the running server doesn't know this command: it is of another release"
	assert.Contains(t, out, "ok      registry       in use by a server: not looked at: "+why+"\n")
	assert.Contains(t, out, "\n\n(root) native, not looked at: its registry is in use by a server: "+why+"\n")
}

// TestCheckBesideAFailingServer: a registry that the server can't read is no registry that was
// left alone.
func TestCheckBesideAFailingServer(t *testing.T) {
	config := withTables(t, "")
	g := mustOpen(t, config)
	controlled(t, g.config.Data, newControl(g), map[string]func(http.ResponseWriter, *http.Request) error{
		recordsPath: func(http.ResponseWriter, *http.Request) error { return errors.New("the disk is gone") },
	})
	for _, deep := range [][]string{nil, {"--deep"}} {
		code, out, errs := piedmont(t, append([]string{"check", "--config", config}, deep...)...)
		assert.Equal(t, 1, code, errs)
		assert.Contains(t, out, "failed  registry       state: ask the running server for its registry: the disk is gone\n")
	}
}
