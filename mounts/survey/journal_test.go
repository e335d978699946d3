package survey_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/survey"
)

// journaled is a survey with a journal, which ends when stop says so.
func journaled(t *testing.T, path string, stop func(survey.Line) bool, points ...*mounts.Point) (*survey.Report, []survey.Line, error) {
	t.Helper()
	j, err := survey.OpenJournal(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var lines []survey.Line
	report, _, err := run(t, ctx, func(o *survey.Options) {
		o.Journal = j
		o.Lines = func(l survey.Line) error {
			lines = append(lines, l)
			if stop != nil && stop(l) {
				cancel()
			}
			return nil
		}
	}, points...)
	return report, lines, err
}

// A survey that is interrupted again and again, and whose journal loses the end of its last line as by
// a kill, finds each table once and all of them, and tells the same as one that isn't.
func TestGoesOn(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	w, other := newWorld(t, "legacy"), newWorld(t, "second")
	w.tables(400, 37)
	other.tables(100, 50)
	w.source.Put("db3", "nowhere", metastore.Object{Kind: metastore.Table})
	w.source.Put("db3", "plain", metastore.Object{Is: "a plain table"})
	w.put("db4", "v", metastore.View, `{"current-version-id":1,"versions":[{"version-id":1,"representations":[{"type":"sql","dialect":"hive"}]}]}`)
	whole, wholeLines := surveyed(t, nil, w.point, other.point)

	path := filepath.Join(t.TempDir(), "journal")
	loads := w.source.Count("Object")
	for interrupts := 0; ; interrupts++ {
		left := random.IntN(80)
		report, lines, err := journaled(t, path, func(l survey.Line) bool {
			if left--; l.Mount != nil || l.Overlap != nil {
				t.Error("an interrupted survey told the end")
			}
			return left < 0
		}, w.point, other.point)
		require.ErrorIs(t, err, context.Canceled)
		require.NotNil(t, report)
		for name, table := range tablesOf(t, lines) { // each once
			require.NotEqual(t, survey.Unknown, table.State, "%s was under way, and isn't told of", name)
		}
		if random.IntN(2) == 0 {
			tear(t, path, random)
		}
		if len(lines) > 300 || interrupts > 200 {
			break
		}
		if random.IntN(3) == 0 { // let it come further
			_, _, err = journaled(t, path, func() func(survey.Line) bool {
				left := 150 + len(lines)
				return func(survey.Line) bool { left--; return left < 0 }
			}(), w.point, other.point)
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	report, lines, err := journaled(t, path, nil, w.point, other.point)
	require.NoError(t, err)
	require.Len(t, tablesOf(t, lines), 501)
	same(t, whole, report)
	require.Equal(t, written(t, wholeLines[1:]), written(t, lines[1:]))
	require.Less(t, w.source.Count("Object")-loads, 2*402+200, "what was known wasn't asked again, but for what was torn off")

	// Once more, there is nothing to ask but which databases there are.
	calls := len(w.source.Calls())
	report, lines, err = journaled(t, path, nil, w.point, other.point)
	require.NoError(t, err)
	same(t, whole, report)
	require.Equal(t, written(t, wholeLines[1:]), written(t, lines[1:]))
	require.Len(t, w.source.Calls(), calls+1)
}

// same compares reports, which were made at other times.
func same(t *testing.T, want, got *survey.Report) {
	t.Helper()
	require.Equal(t, len(want.Mounts), len(got.Mounts))
	for i, s := range want.Mounts {
		require.Equal(t, written(t, []survey.Line{{Mount: s}}), written(t, []survey.Line{{Mount: got.Mounts[i]}}))
	}
	require.Equal(t, want.Overlaps, got.Overlaps)
}

// tear takes some bytes off the end of a file.
func tear(t *testing.T, path string, random *rand.Rand) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, max(0, info.Size()-1-random.Int64N(300))))
}

// A torn line is gone for good, however little comes behind it.
func TestTornLineIsCutOff(t *testing.T) {
	w := newWorld(t, "legacy")
	w.tables(10, 5)
	path := filepath.Join(t.TempDir(), "journal")
	_, _, err := journaled(t, path, nil, w.point)
	require.NoError(t, err)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(slices.Clone(whole), `{"table":{"mount":"legacy"`...), 0o600))
	report, _, err := journaled(t, path, nil, w.point)
	require.NoError(t, err)
	require.Equal(t, 10, report.Mounts[0].Tables.Loaded)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(whole), string(after))
}

// A survey that goes on later tells of the same time.
func TestSinceIsTheJournals(t *testing.T) {
	w := newWorld(t, "legacy")
	w.tables(1, 1)
	path := filepath.Join(t.TempDir(), "journal")
	first, _, err := journaled(t, path, nil, w.point)
	require.NoError(t, err)
	j, err := survey.OpenJournal(path)
	require.NoError(t, err)
	defer j.Close()
	later, _ := surveyed(t, func(o *survey.Options) {
		o.Journal, o.Now = j, func() time.Time { return time.Now().Add(40 * 24 * time.Hour) }
	}, w.point)
	require.Equal(t, first.Since, later.Since)
	require.WithinDuration(t, time.Now().Add(-30*24*time.Hour), first.Since, time.Minute)
}

// What was unknown is asked again, and counts as what it is then.
func TestUnknownIsAskedAgain(t *testing.T) {
	w := newWorld(t, "legacy")
	w.tables(10, 5)
	var mu sync.Mutex
	sick := true
	w.source.Intercept(func(_ context.Context, c metastoretest.Call) error {
		mu.Lock()
		defer mu.Unlock()
		if sick && (c.Name == "t00003" || c.Database == "db1" && c.Method == "Objects") {
			return &mounts.Error{Kind: mounts.BadGateway}
		}
		return nil
	})
	path := filepath.Join(t.TempDir(), "journal")
	report, _, err := journaled(t, path, nil, w.point)
	require.NoError(t, err)
	require.Equal(t, survey.Incomplete, report.Mounts[0].State)
	require.Equal(t, survey.Counts{Loaded: 4, Unknown: 1}, report.Mounts[0].Tables)
	require.Equal(t, survey.Counts{Loaded: 1, Unknown: 1}, report.Mounts[0].Namespaces)
	mu.Lock()
	sick = false
	mu.Unlock()
	calls := w.source.Count("Object")
	report, lines, err := journaled(t, path, nil, w.point)
	require.NoError(t, err)
	require.Equal(t, survey.Complete, report.Mounts[0].State)
	require.Equal(t, survey.Counts{Loaded: 10}, report.Mounts[0].Tables)
	require.Equal(t, survey.Counts{Loaded: 2}, report.Mounts[0].Namespaces)
	require.Empty(t, report.Mounts[0].Problems)
	require.Len(t, tablesOf(t, lines), 10)
	require.Equal(t, calls+6, w.source.Count("Object"))
}

func TestJournalIsRefused(t *testing.T) {
	w, other := newWorld(t, "legacy"), newWorld(t, "other")
	w.tables(3, 3)
	path := filepath.Join(t.TempDir(), "journal")
	_, _, err := journaled(t, path, nil, w.point)
	require.NoError(t, err)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	_, _, err = journaled(t, path, nil, other.point)
	require.EqualError(t, err, "the journal "+path+" is of a survey of legacy (hive of legacy), and this one is of other (hive of other): name another file")
	_, _, err = journaled(t, path, nil, w.point, other.point)
	require.ErrorContains(t, err, "name another file")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(good), string(after), "a refused journal is left as it is")
	for name, text := range map[string]string{
		"another file":    "mounts:\n  - at: legacy\n",
		"no header":       `{"table":{"mount":"legacy","name":"legacy.a.b","state":"loaded"}}` + "\n",
		"two headers":     string(good) + strings.SplitAfter(string(good), "\n")[0],
		"a broken line":   strings.Replace(string(good), `{"table"`, `{"ta`, 1),
		"zeros":           string(good) + "\x00\x00\x00\n",
		"another version": strings.Replace(string(good), `"version":1`, `"version":9`, 1),
		"another mount":   strings.Replace(string(good), `{"table":{"mount":"legacy"`, `{"table":{"mount":"x"`, 1),
		"an endless line": string(good) + strings.Repeat(" ", 5<<20) + "\n",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, _, err := journaled(t, path, nil, w.point)
		require.Error(t, err, name)
		require.Contains(t, err.Error(), path, name)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(after), name)
	}
}

func TestJournalIsOnes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := survey.OpenJournal(path)
	require.NoError(t, err)
	_, err = survey.OpenJournal(path)
	require.ErrorContains(t, err, "another process writes it")
	require.NoError(t, j.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, err = survey.OpenJournal(filepath.Join(path, "below"))
	require.Error(t, err)
}

// A journal that can't be written, or a reader that went away, ends the survey with that error.
func TestJournalFails(t *testing.T) {
	w := newWorld(t, "legacy")
	w.tables(100, 10)
	j, err := survey.OpenJournal(filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	require.NoError(t, j.Close())
	_, _, err = run(t, t.Context(), func(o *survey.Options) { o.Journal = j }, w.point)
	require.ErrorIs(t, err, os.ErrClosed)
	lost := fmt.Errorf("nobody reads")
	n := 0
	_, _, err = run(t, t.Context(), func(o *survey.Options) {
		o.Lines = func(survey.Line) error {
			if n++; n > 20 {
				return lost
			}
			return nil
		}
	}, w.point)
	require.ErrorIs(t, err, lost)
}

// A line that is longer than what is read at once is one line.
func TestLongLinesAreRead(t *testing.T) {
	w := newWorld(t, "legacy")
	w.source.PutDatabase("db", nil)
	var writers bytes.Buffer
	for i := range 100 {
		fmt.Fprintf(&writers, `,{"snapshot-id":%d,"timestamp-ms":%d,"summary":{"engine-name":"e%d","app-name":"%s"}}`, i, time.Now().UnixMilli(), i, strings.Repeat("x", 1000))
	}
	w.put("db", "t", metastore.Table, `{"format-version":2,"location":"s3://lake/t","snapshots":[`+writers.String()[1:]+`]}`)
	path := filepath.Join(t.TempDir(), "journal")
	want, _, err := journaled(t, path, nil, w.point)
	require.NoError(t, err)
	got, lines, err := journaled(t, path, nil, w.point)
	require.NoError(t, err)
	same(t, want, got)
	require.Len(t, tablesOf(t, lines)["legacy.db.t"].Writers, 100)
	require.Len(t, got.Mounts[0].Writers, 100)
}
