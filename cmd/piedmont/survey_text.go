package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"piedmont/mounts/survey"
)

// shownWriters is how many writers are listed of a mount.
const shownWriters = 20

// writeSurvey writes a report for people.
func writeSurvey(w io.Writer, r *survey.Report) error {
	t := &surveyText{since: r.Since}
	for _, m := range r.Mounts {
		t.mount(m)
	}
	t.overlaps(r)
	_, err := t.WriteTo(w)
	return err
}

type surveyText struct {
	bytes.Buffer
	since time.Time
}

// line writes one. Its texts may be those of catalogs.
func (t *surveyText) line(format string, values ...any) {
	for i, v := range values {
		if text, ok := v.(string); ok {
			values[i] = printable(text)
		}
	}
	_, _ = fmt.Fprintf(t, format+"\n", values...)
}

func (t *surveyText) fact(name, format string, values ...any) {
	t.line("  %-16s %s", name, fmt.Sprintf(format, values...))
}

// mountStates say how far a survey came.
var mountStates = map[survey.State]string{
	survey.Complete: "complete", survey.Incomplete: "incomplete", survey.Skipped: "not looked at", survey.Failed: "failed",
}

// farOf says how far the survey of a mount came, and why no further.
func farOf(m *survey.Summary) string {
	if m.Detail == "" {
		return mountStates[m.State]
	}
	return mountStates[m.State] + ": " + m.Detail
}

func (t *surveyText) mount(m *survey.Summary) {
	t.line("\n%s %s, %s", orRoot(m.Mount), m.Kind, farOf(m))
	if m.State == survey.Skipped && m.Tables.All() == 0 {
		return
	}
	t.fact("namespaces", "%s", countsOf(m.Namespaces, "listed", ""))
	t.fact("Iceberg tables", "%s", countsOf(m.Tables, "can be loaded", "can't"))
	t.contents(m)
	t.problems(m)
	t.writers(m)
	if len(m.Biggest) > 0 {
		t.line("  biggest tables")
		var rows [][]string
		for _, b := range m.Biggest {
			rows = append(rows, []string{printableName(b.Table), byteSize(b.Bytes)})
		}
		t.table(rows)
	}
}

// countsOf is a count, and where not everything is well, what it is made of.
func countsOf(c survey.Counts, loaded, broken string) string {
	if c.Loaded == c.All() {
		return strconv.Itoa(c.All())
	}
	parts := []string{fmt.Sprintf("%d %s", c.Loaded, loaded)}
	if c.Broken > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", c.Broken, broken))
	}
	if c.Unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d couldn't be asked", c.Unknown))
	}
	return fmt.Sprintf("%d: %s", c.All(), strings.Join(parts, ", "))
}

func (t *surveyText) contents(m *survey.Summary) {
	if len(m.FormatVersions) > 0 {
		var parts []string
		for _, v := range slices.Sorted(maps.Keys(m.FormatVersions)) {
			parts = append(parts, fmt.Sprintf("v%d %d", v, m.FormatVersions[v]))
		}
		t.fact("format versions", "%s", strings.Join(parts, ", "))
	}
	if m.Encrypted > 0 {
		t.fact("encrypted", "%d", m.Encrypted)
	}
	if m.Tables.Loaded > 0 {
		untold := ""
		if m.Untold > 0 {
			untold = fmt.Sprintf("; not told by %d", m.Untold)
		}
		t.fact("in snapshots", "%s, %d records in %d files%s", byteSize(m.Bytes), m.Records, m.DataFiles, untold)
	}
	if m.Views.All() > 0 {
		views := countsOf(m.Views, "can be loaded", "can't")
		if d := byCount(m.Dialects); len(d) > 0 {
			views += "; dialects " + strings.Join(d, ", ")
		}
		t.fact("Iceberg views", "%s", views)
	}
	name := "other objects"
	for _, kind := range byCount(m.Others) {
		t.fact(name, "%s", kind)
		name = ""
	}
}

// byCount is "what number" of each, the most first.
func byCount(counts map[string]int) []string {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if d := counts[b] - counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, key := range keys {
		keys[i] = fmt.Sprintf("%s %d", key, counts[key])
	}
	return keys
}

// reasons are in the order in which they are told.
var reasons = []struct{ reason, text string }{
	{survey.FileGone, "can't be loaded: the metadata file is gone"},
	{survey.NoMetadataLocation, "can't be loaded: the catalog doesn't say where the metadata is"},
	{survey.NoStorageProfile, "can't be loaded: no storage profile of the mount reaches the metadata"},
	{survey.NotMetadata, "can't be loaded: what lies there is no metadata"},
}

func (t *surveyText) problems(m *survey.Summary) {
	told := map[string]bool{}
	for _, r := range reasons {
		told[r.reason] = true
		t.problem(r.text, m.Problems[r.reason])
	}
	for _, reason := range slices.Sorted(maps.Keys(m.Problems)) {
		if !told[reason] {
			t.problem("couldn't be asked: "+strings.ReplaceAll(reason, "-", " "), m.Problems[reason])
		}
	}
}

func (t *surveyText) problem(text string, p *survey.Problem) {
	if p == nil {
		return
	}
	t.line("  %s: %d", text, p.Count)
	if places := byCount(p.Places); len(places) > 0 {
		t.line("    at %s", strings.Join(places, ", "))
	}
	t.line("    %s%s", printableName(strings.Join(p.Names, ", ")), more(p.Count-len(p.Names)))
	t.line("    the first: %s", p.Detail)
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func (t *surveyText) writers(m *survey.Summary) {
	if m.Tables.Loaded == 0 {
		return
	}
	since := t.since.Local().Format("2006-01-02")
	if len(m.Writers) == 0 {
		t.fact("written", "by nobody since %s", since)
		return
	}
	t.line("  written since %s by", since)
	rows := [][]string{{"ENGINE", "VERSION", "APPLICATION", "LIBRARY", "TABLES", "COMMITS", "LAST"}}
	for _, a := range m.Writers[:min(len(m.Writers), shownWriters)] {
		engine := a.Engine
		if engine == "" {
			engine = "(not told)"
		}
		rows = append(rows, []string{
			engine, dash(a.Version), dash(a.Application), dash(a.Library), strconv.Itoa(a.Tables), strconv.Itoa(a.Commits), moment(a.Last),
		})
	}
	t.table(rows)
	if n := len(m.Writers) - shownWriters; n > 0 {
		t.line("   %s", more(n))
	}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// table aligns columns.
func (t *surveyText) table(rows [][]string) {
	w := tabwriter.NewWriter(t, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
		}
		_, _ = fmt.Fprintf(w, "    %s\n", strings.Join(row, "\t"))
	}
	_ = w.Flush() // into memory
}

// relations are in the order in which they are told.
var relations = []struct {
	relation survey.Relation
	text     string
}{
	{survey.SameLocation, "two tables in one place"},
	{survey.Inside, "a table inside another's place"},
	{survey.SameTable, "one table under two names"},
}

func (t *surveyText) overlaps(r *survey.Report) {
	if len(r.Overlaps) == 0 {
		return
	}
	t.line("\nlocations that overlap")
	for _, rel := range relations {
		examples := r.Examples[rel.relation]
		if len(examples) == 0 {
			continue
		}
		t.line("  %s: %d", rel.text, r.Overlaps[rel.relation])
		for _, o := range examples {
			o.Table, o.Other = printableName(o.Table), printableName(o.Other)
			if o.Location == o.OtherLocation {
				t.line("    %s and %s at %s", o.Other, o.Table, o.Location)
			} else {
				t.line("    %s at %s in %s at %s", o.Table, o.Location, o.Other, o.OtherLocation)
			}
		}
		if n := r.Overlaps[rel.relation] - len(examples); n > 0 {
			t.line("   %s", more(n))
		}
	}
}

// byteSize is bytes for people.
func byteSize(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}
