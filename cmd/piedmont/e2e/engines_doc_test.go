//go:build e2e

package e2e

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// section is what configs/README.md says of an engine.
type section struct {
	settings string
	limits   []string
}

var (
	headings = regexp.MustCompile(`(?m)^### (.+)$`)
	fenced   = regexp.MustCompile("(?s)```[a-z]*\n(.*?)```")
	limit    = regexp.MustCompile(`(?m)^- (.+: can't .+(?:\n  .+)*)`)
)

// readEngines reads the part Engines of configs/README.md.
func readEngines(t *testing.T) map[string]section {
	t.Helper()
	text, err := os.ReadFile("../../../configs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, engines, found := strings.Cut(string(text), "\n## Engines\n")
	if !found {
		t.Fatal("configs/README.md has no part Engines")
	}
	engines, _, _ = strings.Cut(engines, "\n## ")
	doc := map[string]section{}
	parts := headings.FindAllStringSubmatchIndex(engines, -1)
	for i, at := range parts {
		end := len(engines)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		body := engines[at[1]:end]
		var sec section
		if m := fenced.FindStringSubmatch(body); m != nil {
			sec.settings = m[1]
		}
		for _, m := range limit.FindAllStringSubmatch(body, -1) {
			sec.limits = append(sec.limits, strings.Join(strings.Fields(m[1]), " "))
		}
		doc[engines[at[2]:at[3]]] = sec
	}
	install, err := os.ReadFile(script("install"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"PYICEBERG", "POLARS", "DAFT", "DUCKDB", "CHDB", "TRINO", "SPARK", "SPARK_ICEBERG", "FLINK", "FLINK_ICEBERG"} {
		m := regexp.MustCompile(`(?m)^` + name + `=(.+)$`).FindSubmatch(install)
		if m == nil || !strings.Contains(engines, " "+string(m[1])) {
			t.Errorf("configs/README.md names another version of %s than is tested: %s", name, m)
		}
	}
	return doc
}

// settings are the ones to paste, with this scenario's addresses and keys in them.
func (s *scenario) settings(t *testing.T, of string) string {
	t.Helper()
	text := s.doc[of].settings
	if text == "" {
		t.Fatalf("configs/README.md has no settings for %s", of)
	}
	return strings.NewReplacer(
		"http://piedmont.internal:8181", s.piedmont.URI, "id:secret", s.key,
		"s3.internal:9000", strings.TrimPrefix(s.storage, "http://"), "LAKE_KEY", "admin", "LAKE_SECRET", "adminsecret", "'base-namespace' = 'sales'", "'base-namespace' = 'lab'",
	).Replace(text)
}

// cannot proves an entry of the list of what an engine can't do: what is how the entry
// begins.
func (s *scenario) cannot(t *testing.T, e engine, what, text, because string) {
	t.Helper()
	s.listed(t, what)
	e.refuses(t, text, because)
}

// listed is for an entry whose proof the caller has.
func (s *scenario) listed(t *testing.T, what string) {
	t.Helper()
	for _, sec := range s.doc {
		for _, l := range sec.limits {
			if strings.HasPrefix(l, what) {
				s.proven[l] = true
				return
			}
		}
	}
	t.Errorf("configs/README.md doesn't list: %s", what)
}

func (s *scenario) allProven(t *testing.T) {
	n := 0
	for _, sec := range s.doc {
		for _, l := range sec.limits {
			if n++; !s.proven[l] {
				t.Errorf("configs/README.md lists what nothing proves: %s", l)
			}
		}
	}
	if n == 0 {
		t.Error("configs/README.md lists nothing")
	}
}
