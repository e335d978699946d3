package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/survey"
)

// withTables is a configuration whose native mount has the tables demo.first and demo.lost, the
// latter without its file.
func withTables(t *testing.T, more string) string {
	t.Helper()
	config, _ := localConfig(t, more)
	g := mustOpen(t, config)
	defer func() { require.NoError(t, g.close()) }()
	tree, err := g.tree(t.Context())
	require.NoError(t, err)
	defer tree.Release()
	caller := mounts.Caller{Principal: adminPrincipal}
	m, ok := tree.Points()[0].Mount.(interface {
		mounts.NamespaceWriter
		mounts.TableWriter
	})
	require.True(t, ok)
	_, err = m.CreateNamespace(t.Context(), caller, mounts.Namespace{"demo"}, nil)
	require.NoError(t, err)
	for _, name := range []string{"first", "lost"} {
		table, err := m.CreateTable(t.Context(), caller, mounts.Namespace{"demo"}.Table(name), []byte(`{"name":"`+name+
			`","schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]}}`))
		require.NoError(t, err)
		if name == "lost" {
			require.NoError(t, os.Remove(strings.TrimPrefix(table.MetadataLocation, "file://")))
		}
	}
	return config
}

func TestDeepCheck(t *testing.T) {
	config := withTables(t, "")
	journal := filepath.Join(t.TempDir(), "journal")
	for again := range 2 { // the second time by the journal
		code, out, errs := piedmont(t, "check", "--config", config, "--deep", "--journal", journal)
		require.Zero(t, code, "a broken table is no failure: %s", errs)
		_, found, ok := strings.Cut(out, "ok      mount          (root) native main, format versions 1, 2, 3\n")
		require.True(t, ok, out)
		found = regexp.MustCompile(`file://\S+`).ReplaceAllString(found, "FILE")
		found = regexp.MustCompile(`/\S+\.json`).ReplaceAllString(found, "PATH")
		found = regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(found, "DAY")
		assert.Equal(t, `
(root) native, complete
  namespaces       1
  Iceberg tables   2: 1 can be loaded, 1 can't
  format versions  v2 1
  in snapshots     0 B, 0 records in 0 files
  can't be loaded: the metadata file is gone: 1
    demo.lost
    the first: read file: not found: Failed to open input stream for file: FILE stat PATH: no such file or directory
  written          by nobody since DAY
`, found)
		want := `^surveyed 1 namespaces and 2 tables with \d+ calls in \d+\.\d s, \d+\.\d/s\n`
		if again > 0 {
			want += "what " + journal + ` has since \d{4}-\S+ \S+ \S+ was not looked at again: remove it to begin anew\n`
		}
		assert.Regexp(t, want+"$", errs)
	}
}

func TestDeepCheckInJSON(t *testing.T) {
	config := withTables(t, "")
	code, out, _ := piedmont(t, "check", "--config", config, "--deep", "--json")
	require.Zero(t, code)
	kinds := map[string]int{}
	for line := range strings.Lines(out) {
		var object map[string]map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object), line)
		require.Len(t, object, 1)
		for kind, value := range object {
			kinds[kind]++
			if kind == "table" && value["name"] == "demo.lost" {
				assert.Equal(t, []any{"broken", "file-gone"}, []any{value["state"], value["reason"]})
			}
		}
	}
	assert.Equal(t, map[string]int{"check": 5, "survey": 1, "namespace": 1, "table": 2, "mount": 1}, kinds)
}

// TestDeepCheckBesideAServer: one that takes no admin commands is left alone.
func TestDeepCheckBesideAServer(t *testing.T) {
	config := withTables(t, "")
	g := mustOpen(t, config)
	code, out, errs := piedmont(t, "check", "--config", config, "--deep")
	assert.Equal(t, 1, code, errs)
	assert.Contains(t, out, "\nfailed  survey         (root): not looked at: its registry is in use by a server: ")
	assert.Contains(t, out, "\n\n(root) native, not looked at: its registry is in use by a server: a server has the registry, or had it until it was stopped: that process takes no admin commands: ")
	require.NoError(t, g.close())
	fresh, _ := localConfig(t, "")
	code, out, _ = piedmont(t, "check", "--config", fresh, "--deep")
	assert.Zero(t, code)
	assert.Contains(t, out, "ok      registry       to be made at the first start\n")
	assert.Contains(t, out, "(root) native, complete\n  namespaces       0\n")
}

// TestDeepCheckOfSickMounts: one that fails its check isn't surveyed, one that fails later fails the
// command, and the others are looked through.
func TestDeepCheckOfSickMounts(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	defer dead.Close()
	config := withTables(t, "  - {at: legacy, rest: {uri: '"+dead.URL+"', timeout: 1s}}\n")
	code, out, _ := piedmont(t, "check", "--config", config, "--deep")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "\nlegacy rest, not looked at: it failed its check\n")
	assert.Contains(t, out, "\n(root) native, complete\n")
	code, out, errs := piedmont(t, "check", "--config", config, "--deep", "--mount", "")
	assert.Equal(t, 1, code, "the check of the other mount failed")
	assert.NotContains(t, out, "legacy rest, ")
	assert.Contains(t, errs, "some checks failed")

	for _, asJSON := range []bool{false, true} {
		for state, want := range map[survey.State]string{
			survey.Complete: "", survey.Failed: "failed: why", survey.Skipped: "not looked at: why", survey.Incomplete: "incomplete: some of it couldn't be asked",
		} {
			var out bytes.Buffer
			d := &deepCheck{flags: deepFlags{json: asJSON}, report: &reporter{w: &out, json: asJSON}}
			require.NoError(t, d.tell(&survey.Report{Mounts: []*survey.Summary{{Mount: "a", State: state, Detail: "why"}}}, nil))
			assert.Equal(t, state != survey.Complete, d.report.failed, state)
			line := "failed  survey         a: " + want + "\n"
			if asJSON {
				line = `{"check":{"what":"survey","name":"a","ok":false,"error":"` + want + `"}}` + "\n"
			}
			assert.Equal(t, state != survey.Complete, strings.HasSuffix(out.String(), line), "%s: %s", state, out.String())
		}
	}
}

// TestDeepCheckOfOneFailure: a single table that couldn't be asked is told of, and fails the command.
func TestDeepCheckOfOneFailure(t *testing.T) {
	const namespaces, tables = `{"namespaces":[["db"]]}`, `{"identifiers":[{"namespace":["db"],"name":"t"},{"namespace":["db"],"name":"u"}]}`
	legacy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text, found := map[string]string{
			"/v1/config": `{"defaults":{},"overrides":{}}`, "/v1/namespaces": namespaces, "/v1/namespaces/db": `{"namespace":["db"],"properties":{}}`,
			"/v1/namespaces/db/tables":   tables,
			"/v1/namespaces/db/tables/u": `{"metadata-location":"s3://b/u/metadata/1.json","metadata":{"format-version":2,"table-uuid":"5b1ab2b9-0000-4000-8000-000000000001","location":"s3://b/u","snapshots":[]}}`,
			"/v1/namespaces/db/views":    `{"identifiers":[]}`,
		}[r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusTeapot) // no absence, and not asked again
		}
		_, _ = io.WriteString(w, text)
	}))
	defer legacy.Close()
	config := withTables(t, "  - {at: legacy, rest: {uri: '"+legacy.URL+"', timeout: 5s}}\n")
	code, out, errs := piedmont(t, "check", "--config", config, "--deep", "--calls-per-second", "0")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "\nlegacy rest, incomplete\n")
	assert.Contains(t, out, "\n(root) native, complete\n")
	assert.Equal(t, 1, strings.Count(out, "failed  "), out)
	assert.True(t, strings.HasSuffix(out, "\nfailed  survey         legacy: incomplete: some of it couldn't be asked\n"), out)
	assert.Contains(t, errs, "some checks failed")
}

func TestDeepCheckFlags(t *testing.T) {
	config := withTables(t, "")
	for _, c := range []struct{ want, args string }{
		{"--journal goes with --deep", "--journal x"},
		{"--mount goes with --deep", "--mount="},
		{"--calls-per-second goes with --deep", "--calls-per-second 1"},
		{"--calls-per-second: want a number from 0 up", "--deep --calls-per-second -1"},
		{"--calls-per-second: want a number from 0 up", "--deep --calls-per-second NaN"},
		{"--mount: no mount is at 'x', only at ''", "--deep --mount x"},
		{"is none of a journal's", "--deep --journal " + config},
		{"open the journal", "--deep --journal " + config + "/x"},
	} {
		code, _, errs := piedmont(t, append([]string{"check", "--config", config}, strings.Fields(c.args)...)...)
		assert.Equal(t, 1, code, c.args)
		assert.Contains(t, errs, c.want)
	}
}

// TestDeepCheckIsInterrupted: what was found is told, and how to go on.
func TestDeepCheckIsInterrupted(t *testing.T) {
	config := withTables(t, "")
	journal := filepath.Join(t.TempDir(), "journal")
	ended, end := context.WithCancel(t.Context())
	end()
	var out, errs bytes.Buffer
	code := run(ended, []string{"check", "--config", config, "--deep", "--journal", journal}, &out, &errs)
	assert.Equal(t, 1, code)
	assert.Contains(t, out.String(), "(root) native, ")
	assert.Contains(t, errs.String(), "interrupted: the same command goes on from "+journal)
	code, _, text := piedmont(t, "check", "--config", config, "--deep", "--journal", journal)
	assert.Zero(t, code, text)
}

func TestSurveyText(t *testing.T) {
	since := time.Date(2026, 10, 31, 12, 0, 0, 0, time.Local)
	last := time.Date(2026, 11, 30, 9, 30, 0, 0, time.Local)
	writers := []survey.Total{
		{Engine: "spark", Version: "4.1.3", Application: "nightly", Library: "Apache Iceberg 1.12.0", Tables: 12, Commits: 340, Last: last},
		{Tables: 2, Commits: 5, Last: last},
	}
	for range 25 {
		writers = append(writers, survey.Total{Engine: "flink", Tables: 1, Commits: 1, Last: last})
	}
	report := &survey.Report{
		Since: since,
		Mounts: []*survey.Summary{{
			Mount: "legacy", Kind: "hive", State: survey.Incomplete,
			Namespaces: survey.Counts{Loaded: 40, Unknown: 1}, Tables: survey.Counts{Loaded: 1180, Broken: 15, Unknown: 5}, Views: survey.Counts{Loaded: 12},
			Encrypted: 3, FormatVersions: map[int64]int{2: 1160, 1: 20}, Dialects: map[string]int{"spark": 10, "trino": 2},
			Others:    map[string]int{"a Hive view": 1390, "a table that isn't Iceberg's (EXTERNAL_TABLE)": 2000},
			DataFiles: 123456, Records: 12345678, Bytes: 4 << 40, Untold: 12,
			Problems: map[string]*survey.Problem{
				survey.FileGone:         {Count: 2, Names: []string{"legacy.db.a", "legacy.db.b"}, Detail: "gone"},
				survey.NoStorageProfile: {Count: 13, Names: []string{"legacy.db.c"}, Detail: "nowhere", Places: map[string]int{"s3://other/": 3, "hdfs://nn:8020/": 10}},
				"timeout":               {Count: 6, Names: []string{"legacy.sick"}, Detail: "slow"},
			},
			Biggest: []survey.Big{{Table: "legacy.db.big", Bytes: 3 << 40}, {Table: "legacy.db.s\u009b2J", Bytes: 100}},
			Writers: writers,
		}, {Kind: "native", State: survey.Failed, Detail: "given up"}},
		Overlaps: map[survey.Relation]int{survey.SameTable: 1, survey.Inside: 12},
		Examples: map[survey.Relation][]survey.Overlap{
			survey.SameTable: {{Relation: survey.SameTable, Table: "main.t", Location: "s3://b/t", Other: "legacy.db.t", OtherLocation: "s3://b/t"}},
			survey.Inside:    {{Relation: survey.Inside, Table: "legacy.db.x", Location: "s3://b/t/x", Other: "legacy.db.t", OtherLocation: "s3://b/t"}},
		},
	}
	var out bytes.Buffer
	require.NoError(t, writeSurvey(&out, report))
	lines := slices.DeleteFunc(strings.SplitAfter(out.String(), "\n"), func(l string) bool { return strings.HasPrefix(l, "    flink") })
	assert.Equal(t, strings.NewReplacer("ESC", "\ufffd", "WHEN", moment(last)).Replace(`
legacy hive, incomplete
  namespaces       41: 40 listed, 1 couldn't be asked
  Iceberg tables   1200: 1180 can be loaded, 15 can't, 5 couldn't be asked
  format versions  v1 20, v2 1160
  encrypted        3
  in snapshots     4.0 TiB, 12345678 records in 123456 files; not told by 12
  Iceberg views    12; dialects spark 10, trino 2
  other objects    a table that isn't Iceberg's (EXTERNAL_TABLE) 2000
                   a Hive view 1390
  can't be loaded: the metadata file is gone: 2
    legacy.db.a, legacy.db.b
    the first: gone
  can't be loaded: no storage profile of the mount reaches the metadata: 13
    at hdfs://nn:8020/ 10, s3://other/ 3
    legacy.db.c and 12 more
    the first: nowhere
  couldn't be asked: timeout: 6
    legacy.sick and 5 more
    the first: slow
  written since 2026-10-31 by
    ENGINE      VERSION  APPLICATION  LIBRARY                TABLES  COMMITS  LAST
    spark       4.1.3    nightly      Apache Iceberg 1.12.0  12      340      WHEN
    (not told)  -        -            -                      2       5        WHEN
    and 7 more
  biggest tables
    legacy.db.big        3.0 TiB
    legacy.db.s%C2%9B2J  100 B

(root) native, failed: given up
  namespaces       0
  Iceberg tables   0

locations that overlap
  a table inside another's place: 12
    legacy.db.x at s3://b/t/x in legacy.db.t at s3://b/t
    and 11 more
  one table under two names: 1
    legacy.db.t and main.t at s3://b/t
`), strings.Join(lines, ""))
}

func TestSurveyProgress(t *testing.T) {
	p := &survey.Progress{}
	s := showSurvey(&bytes.Buffer{}, p)
	assert.False(t, s.terminal)
	assert.Equal(t, "surveying [....................] 0 of 0 namespaces, 0 tables, 0 calls, 0.0/s", s.line(0))
	p.Namespaces.Store(40)
	p.Done.Store(12)
	p.Tables.Store(1234)
	p.Calls.Store(2345)
	assert.Equal(t, "surveying [######..............] 12 of 40 namespaces, 1234 tables, 2345 calls, 20.0/s", s.line(117250*time.Millisecond))
	s.end(nil)

	var out bytes.Buffer
	s = &surveyProgress{progress: &progress{w: &out, what: "surveying", terminal: true, start: time.Now()}, counts: p, done: make(chan struct{})}
	s.shower.Go(s.run)
	time.Sleep(3 * progressEvery / 2)
	s.end(nil)
	assert.Regexp(t, "^\r\x1b\\[Ksurveying \\[#{6}\\.{14}\\] 12 of 40 .*\r\x1b\\[Ksurveyed 12 namespaces and 1234 tables with 2345 calls in ", out.String())
}

func TestIdentityHoldsNoSecret(t *testing.T) {
	config, _ := localConfig(t, `  - {at: r, rest: {uri: "https://old.internal/x", warehouse: w, credential: "id:hunter3"}, source: [a.b]}
  - {at: h, hive: {uris: ["thrift://a:9083", "thrift://b:9083"], catalog: spark, plain: {user: u, password: hunter4}}}
  - {at: g, glue: {region: eu-west-1, catalog_id: "111122223333", access_key_id: k, secret_access_key: hunter5}}
`)
	var flags serveFlags
	flags.config = config
	c, _, err := flags.load()
	require.NoError(t, err)
	var all []string
	for _, m := range c.Mounts {
		all = append(all, identityOf(m))
	}
	assert.Equal(t, []string{"main", "https://old.internal/x w a%2Eb", "thrift://a:9083 thrift://b:9083 spark", "eu-west-1 111122223333"}, all)
}
