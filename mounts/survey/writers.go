package survey

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Writer is who made snapshots of a table. What a snapshot's summary doesn't say is empty: some
// libraries don't name themselves.
type Writer struct {
	// Engine and Version are what the writer calls itself: "spark", "4.1.3".
	Engine  string `json:"engine,omitempty"`
	Version string `json:"version,omitempty"`
	// Application is the name that its owner gave it.
	Application string `json:"application,omitempty"`
	// Library is what wrote the metadata: "Apache Iceberg 1.12.0".
	Library string `json:"library,omitempty"`
	// Runs are the ids of the latest applications, jobs or queries, the last one first.
	Runs       []string       `json:"runs,omitempty"`
	Commits    int            `json:"commits"`
	Operations map[string]int `json:"operations,omitempty"`
	Last       time.Time      `json:"last"`
}

// Bounds of what is kept of one table's writers.
const (
	maxRuns    = 5
	maxWriters = 100
	maxText    = 200
)

type writerKey struct{ engine, version, application, library string }

type writers struct {
	known map[writerKey]*Writer
	runs  map[writerKey]map[string]time.Time
}

// add counts a snapshot with that summary.
func (w *writers) add(summary map[string]string, at time.Time) {
	if w.known == nil {
		w.known, w.runs = map[writerKey]*Writer{}, map[writerKey]map[string]time.Time{}
	}
	key := writerKey{engineOf(summary), clip(summary["engine-version"]), clip(summary["app-name"]), library(summary["iceberg-version"])}
	if w.known[key] == nil {
		if len(w.known) >= maxWriters {
			key = writerKey{engine: key.engine}
		}
		if w.known[key] == nil {
			w.known[key] = &Writer{Engine: key.engine, Version: key.version, Application: key.application, Library: key.library, Operations: map[string]int{}}
			w.runs[key] = map[string]time.Time{}
		}
	}
	known := w.known[key]
	known.Commits++
	switch op := summary["operation"]; op {
	case "append", "overwrite", "replace", "delete":
		known.Operations[op]++
	}
	if at.After(known.Last) {
		known.Last = at
	}
	if run := runOf(summary); run != "" && at.After(w.runs[key][run]) {
		w.runs[key][run] = at
	}
}

// list has who wrote most first.
func (w *writers) list() []Writer {
	var all []Writer
	for key, writer := range w.known {
		runs := w.runs[key]
		for run := range runs {
			writer.Runs = append(writer.Runs, run)
		}
		slices.SortFunc(writer.Runs, func(a, b string) int { return cmp.Or(runs[b].Compare(runs[a]), strings.Compare(a, b)) })
		writer.Runs = writer.Runs[:min(len(writer.Runs), maxRuns)]
		all = append(all, *writer)
	}
	slices.SortFunc(all, func(a, b Writer) int {
		return cmp.Or(cmp.Compare(b.Commits, a.Commits), a.key().compare(b.key()))
	})
	return all
}

func (w *Writer) key() writerKey { return writerKey{w.Engine, w.Version, w.Application, w.Library} }

func (k writerKey) compare(o writerKey) int {
	return cmp.Or(strings.Compare(k.engine, o.engine), strings.Compare(k.version, o.version),
		strings.Compare(k.application, o.application), strings.Compare(k.library, o.library))
}

// engineOf is who an engine says it is. Spark, Flink, Trino and Kafka Connect do so by engine-name in their
// newer releases, and long before by keys of their own.
func engineOf(summary map[string]string) string {
	if name := summary["engine-name"]; name != "" {
		return clip(name)
	}
	for _, known := range []struct{ key, engine string }{
		{"spark.app.id", "spark"}, {"flink.job-id", "flink"}, {"trino_query_id", "trino"}, {"kafka.connect.commit-id", "kafka-connect"},
	} {
		if summary[known.key] != "" {
			return known.engine
		}
	}
	return ""
}

// runOf is the id of the application, job or query. It differs from one to the next.
func runOf(summary map[string]string) string {
	for _, key := range []string{"app-id", "spark.app.id", "flink.job-id", "trino_query_id"} {
		if id := summary[key]; id != "" {
			return clip(id)
		}
	}
	return ""
}

// library is a library's version without the commit that it was built from: "Apache Iceberg
// 1.12.0 (commit 212aa…)".
func library(version string) string {
	version, _, _ = strings.Cut(version, " (commit")
	return clip(version)
}

// clip makes text from a catalog or a table short, and free of what a terminal obeys.
func clip(s string) string { return clipTo(s, maxText) }

func clipTo(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
