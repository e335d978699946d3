package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts/survey"
	"piedmont/native"
)

// evil is what a name may hold that a terminal obeys, or that forges a line.
const evil = "e\x1b[2J\u009b2J\u202e\u2028\r\n\tok\x00\xff"

func TestPrintable(t *testing.T) {
	for text, want := range map[string][2]string{
		"": {"", ""}, "a b.\"c\\d\" é 表": {"a b.\"c\\d\" é 表", "a b.\"c\\d\" é 表"}, "\ufffd": {"\ufffd", "\ufffd"},
		evil: {
			`e\x1b[2J\u009b2J\u202e\u2028\r\n\tok\x00\xff`,
			"e%1B[2J%C2%9B2J%E2%80%AE%E2%80%A8%0D%0A%09ok%00%FF",
		},
	} {
		assert.Equal(t, want, [2]string{printable(text), printableName(text)})
	}
	assert.Equal(t, "a\nb\\x1b", printableLines("a\nb\x1b"))
	levels, err := levelsOf(printableName("a%2Eb." + evil + ".100%25"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a.b", evil, "100%"}, levels)
	_, err = levelsOf("a.100%")
	assert.ErrorContains(t, err, "a percent sign is written %25")
}

// requirePrintable checks that an output has so many lines, and nothing that a terminal obeys.
func requirePrintable(t *testing.T, lines int, out string) {
	t.Helper()
	require.Equal(t, lines, strings.Count(out, "\n"), out)
	require.True(t, utf8.ValidString(out), "%q", out)
	require.False(t, strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }), "%q", out)
}

// TestNamesOfOthersArePrintable: names that catalogs and principals have, and texts of errors.
func TestNamesOfOthersArePrintable(t *testing.T) {
	outputs := map[string]func(text string) string{
		"check": func(text string) string {
			var out bytes.Buffer
			r := &reporter{w: &out}
			r.line("mount", text, nil)
			r.line("mount", text, errors.New(text))
			return out.String()
		},
		"survey": func(text string) string {
			s := &survey.Summary{
				Mount: text, Kind: text, State: survey.Failed, Detail: text, Tables: survey.Counts{Loaded: 1}, Views: survey.Counts{Loaded: 1},
				Dialects: map[string]int{text: 1}, Others: map[string]int{text: 1},
				Problems: map[string]*survey.Problem{text: {Count: 1, Names: []string{text, text}, Detail: text, Places: map[string]int{text: 1}}},
				Biggest:  []survey.Big{{Table: text, Bytes: 1}}, Writers: []survey.Total{{Engine: text, Version: text, Application: text, Library: text}},
			}
			o := survey.Overlap{Relation: survey.Inside, Table: text, Location: text, Other: text, OtherLocation: "s3://b/t"}
			var out bytes.Buffer
			require.NoError(t, writeSurvey(&out, &survey.Report{
				Mounts: []*survey.Summary{s}, Overlaps: map[survey.Relation]int{survey.Inside: 1}, Examples: map[survey.Relation][]survey.Overlap{survey.Inside: {o}},
			}))
			return out.String()
		},
		"tables restore": func(text string) string {
			var out bytes.Buffer
			client := answeredBy(t, func(w http.ResponseWriter, _ *http.Request) {
				assert.NoError(t, json.NewEncoder(w).Encode(native.Dropped{MetadataLocation: text}))
			})
			require.NoError(t, restoreTable(t.Context(), &out, client, restoreOrder{Name: text, As: text}))
			return out.String()
		},
	}
	for name, output := range outputs {
		t.Run(name, func(t *testing.T) {
			requirePrintable(t, strings.Count(output("good"), "\n"), output(evil))
		})
	}
}

// answeredBy is a client of a control that answers so.
func answeredBy(t *testing.T, answer http.HandlerFunc) *controlClient {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return newControlClient(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
	}, func() error { return nil })
}

// TestOddNameIsRestored: what tables dropped shows of a name is what tables restore takes.
func TestOddNameIsRestored(t *testing.T) {
	config, _ := localConfig(t, "")
	g := mustOpen(t, config)
	catalog := catalogOf(t, g)
	catalog(http.MethodPost, "namespaces", `{"namespace":["ns"]}`)
	catalog(http.MethodPost, "namespaces/ns/tables", `{"name":"odd\u009b2J\u202e","schema":`+emptySchema+`}`)
	catalog(http.MethodDelete, "namespaces/ns/tables/odd%C2%9B2J%E2%80%AE", "")
	require.NoError(t, g.close())
	const shown = "ns.odd%C2%9B2J%E2%80%AE"
	for _, args := range [][]string{nil, {shown}, {"ns.odd\u009b2J\u202e"}} {
		code, out, _ := piedmont(t, append([]string{"tables", "dropped", "--config", config}, args...)...)
		require.Zero(t, code)
		requirePrintable(t, 2, out)
		require.Contains(t, out, "\n"+shown+" ")
	}
	code, _, errs := piedmont(t, "tables", "restore", shown, "--id", "none", "--config", config)
	require.Equal(t, 1, code)
	require.Contains(t, errs, `No dropped table ns.odd\u009b2J\u202e with the id none can be restored`)
	requirePrintable(t, 1, errs)
	code, out, errs := piedmont(t, "tables", "restore", shown, "--config", config)
	require.Zero(t, code, errs)
	requirePrintable(t, 1, out)
	require.True(t, strings.HasPrefix(out, "restored "+shown+" at file:///"), out)
}
