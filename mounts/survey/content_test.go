package survey

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// Summaries as engines wrote them.
func TestWritersOfRealTables(t *testing.T) {
	summaries := func(file string) []string {
		text, err := os.ReadFile("../../native/metadata/testdata/requests/" + file)
		require.NoError(t, err)
		found := regexp.MustCompile(`"summary": ?(\{[^}]*\})`).FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, found)
		var all []string
		for _, f := range found {
			all = append(all, f[1])
		}
		return all
	}
	read := func(file string) Content {
		var snapshots []string
		for i, s := range summaries(file) {
			snapshots = append(snapshots, fmt.Sprintf(`{"snapshot-id":%d,"timestamp-ms":%d,"summary":%s}`, i, 1_700_000_000_000+i, s))
		}
		c, err := readTable([]byte(`{"format-version":2,"location":"s3://b/t","snapshots":[`+strings.Join(snapshots, ",")+`]}`), time.UnixMilli(1_700_000_000_000))
		require.NoError(t, err)
		return c
	}
	spark := read("spark.txtar").Writers[0]
	require.Equal(t, []string{"spark", "4.1.3", "pyspark-shell", "Apache Iceberg 1.12.0", "local-1"},
		[]string{spark.Engine, spark.Version, spark.Application, spark.Library, strings.Join(spark.Runs, " ")})
	require.Positive(t, spark.Operations["append"])
	require.Positive(t, spark.Operations["overwrite"])
	java := read("java.txtar")
	require.Equal(t, "Apache Iceberg 1.12.0", java.Writers[0].Library)
	require.Empty(t, java.Writers[0].Engine)
	python := read("pyiceberg.txtar")
	require.Len(t, python.Writers, 1, "it doesn't name itself")
	require.Equal(t, writerKey{}, python.Writers[0].key())
	require.Equal(t, python.Snapshots, python.Writers[0].Commits)
}

func TestEnginesByTheirKeys(t *testing.T) {
	for want, summary := range map[string]map[string]string{
		"spark 4.1.3 local-1":   {"engine-name": "spark", "engine-version": "4.1.3", "app-id": "local-1", "spark.app.id": "local-1"},
		"spark  app_1":          {"spark.app.id": "app_1"},
		"flink  e5a3":           {"flink.job-id": "e5a3"},
		"trino 476 2026_1":      {"engine-name": "trino", "engine-version": "476", "trino_query_id": "2026_1"},
		"trino  2026_2":         {"trino_query_id": "2026_2"},
		"kafka-connect  ":       {"kafka.connect.commit-id": "c"},
		"  ":                    {"operation": "append"},
		"a\ufffd[2Jb\ufffd 1 x": {"engine-name": "a\x1b[2Jb\u009b", "engine-version": "1", "app-id": "x"},
	} {
		var w writers
		w.add(summary, time.UnixMilli(1))
		got := w.list()[0]
		require.Equal(t, want, got.Engine+" "+got.Version+" "+strings.Join(got.Runs, ","))
	}
}

// One table can't take more memory than some hundred writers do.
func TestWritersAreBounded(t *testing.T) {
	var w writers
	for i := range 10_000 {
		w.add(map[string]string{"engine-name": "spark", "app-name": fmt.Sprint(i), "app-id": fmt.Sprint(i), "operation": fmt.Sprint(i)}, time.UnixMilli(int64(i+1)))
	}
	all := w.list()
	require.Len(t, all, maxWriters+1)
	require.Equal(t, 10_000-maxWriters, all[0].Commits)
	require.Equal(t, []string{"9999", "9998", "9997", "9996", "9995"}, all[0].Runs)
	require.Empty(t, all[0].Operations)
	s := newSummary("m", "hive")
	for i := range 2 * maxAll {
		s.addWriter(&Writer{Engine: "spark", Application: fmt.Sprint(i), Commits: 1})
		addTo(s.Dialects, fmt.Sprint(i), 1)
		s.problem(NoStorageProfile, "t", "", fmt.Sprintf("s3://b%d/t", i))
	}
	s.finish()
	require.Len(t, s.Writers, maxAll+1)
	require.Equal(t, maxAll, s.Writers[0].Tables)
	require.Len(t, s.Dialects, maxKinds+1)
	require.Len(t, s.Problems[NoStorageProfile].Places, maxPlaces+1)
	require.Len(t, s.Problems[NoStorageProfile].Names, maxExamples)
	require.Equal(t, 2*maxAll, s.Problems[NoStorageProfile].Count)
}

func TestTablesThatAreNone(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{}`, `{"format-version":2}`, `{"location":"s3://b/t"}`, `{"format-version":"2","location":"s3://b/t"}`, `{"format-version":2,"location":1}`,
		`{"format-version":2,"location":"s3://b/t","snapshots":{}}`, `{"format-version":2,"location":"s3://b/t","snapshots":[1]}`,
		`{"format-version":2,"location":"s3://b/t","snapshots":[{"timestamp-ms":5000,"summary":[]}]}`, `{"format-version":2,"location":"s3://b/t","properties":[]}`,
		`{"format-version":2,"location":"s3://b/t","encryption-keys":{}}`, `{"format-version":2,"format-version":2,"location":"s3://b/t"}`,
	} {
		_, err := readTable([]byte(text), time.UnixMilli(0))
		require.Error(t, err, text)
	}
	for _, text := range []string{`{}`, `[]`, `{"current-version-id":1,"versions":[]}`, `{"current-version-id":1,"versions":[{"version-id":1,"representations":{}}]}`} {
		_, err := readView([]byte(text))
		require.Error(t, err, text)
	}
}

func TestTablesThatSayLittle(t *testing.T) {
	for text, want := range map[string]Content{
		`{"format-version":1,"location":"s3://b/t","snapshots":null,"properties":null,"encryption-keys":null,"current-snapshot-id":-1}`:                                                                       {},
		`{"format-version":1,"location":"s3://b/t","encryption-keys":[],"properties":{"encryption.key-id":""}}`:                                                                                               {},
		`{"format-version":1,"location":"s3://b/t","encryption-keys":[{"key-id":"a"}]}`:                                                                                                                       {Encrypted: true},
		`{"format-version":1,"location":"s3://b/t","current-snapshot-id":7,"snapshots":[{"snapshot-id":7,"key-id":"a"}]}`:                                                                                     {Encrypted: true, Snapshots: 1},
		`{"format-version":1,"location":"s3://b/t","current-snapshot-id":7,"snapshots":[{"snapshot-id":7,"timestamp-ms":99,"summary":{"total-records":"-1","total-files-size":"1e3","total-data-files":5}}]}`: {Snapshots: 1},
		`{"format-version":1,"location":"s3://b/t","last-updated-ms":9223372036854775807}`:                                                                                                                    {},
	} {
		want.FormatVersion, want.Location = 1, "s3://b/t"
		got, err := readTable([]byte(text), time.UnixMilli(100))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestBeginningOfALocation(t *testing.T) {
	for location, want := range map[string]string{
		"s3://b/t": "s3://b/", "hdfs://u:p@nn:8020/x": "hdfs://nn:8020/", "abfss://c@account.dfs.core.windows.net/x": "abfss://c@account.dfs.core.windows.net/",
		"file:/x": "file:", "file:///x/y": "file:///", "/wh/t": "/wh/t:", "gs://b": "gs://b/",
	} {
		require.Equal(t, want, beginning(location))
	}
}

func TestPath(t *testing.T) {
	require.Equal(t, "a.b%2Ec.d%25", Path("a", "b.c", "d%"))
	require.Empty(t, Path())
	require.Equal(t, "a.b%2Ec", parent(Path("a", "b.c", "d")))
}

// What is shown holds nothing that a terminal obeys, and isn't long.
func TestClip(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for range 10_000 {
		b := make([]byte, random.IntN(600))
		for i := range b {
			b[i] = byte(random.UintN(256))
		}
		for _, s := range []string{clip(string(b)), explain(fmt.Errorf("%s", b))} {
			require.LessOrEqual(t, len(s), 503)
			require.False(t, strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' }), "%q", s)
		}
	}
}

// The names of a namespace that is complete are forgotten.
func TestMemoryOfAJournal(t *testing.T) {
	j, err := OpenJournal(filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	o := Options{Mounts: []Mount{{Point: &mounts.Point{}}}, Now: time.Now, Journal: j}
	require.NoError(t, o.fill())
	begun := func() *recorder {
		_, err := j.file.Seek(0, io.SeekStart)
		require.NoError(t, err)
		j.size = 0
		r := &recorder{o: &o, names: map[string]*Summary{}, known: map[string]*memory{}}
		require.NoError(t, r.begin())
		return r
	}
	r := begun()
	for _, in := range []string{"a", "a.b", "c"} {
		require.NoError(t, r.record(Line{Table: &Table{Name: in + ".t", State: Loaded}}))
		require.NoError(t, r.record(Line{View: &View{Name: in + ".v", State: Broken}}))
		require.NoError(t, r.record(Line{Table: &Table{Name: in + ".u", State: Unknown}}))
	}
	require.NoError(t, r.record(Line{Namespace: &Namespace{Name: "a", State: Complete, Children: 1}}))
	require.NoError(t, r.record(Line{Namespace: &Namespace{Name: "c", State: Incomplete}}))
	k := begun().known[""]
	require.Equal(t, map[string]int{"a": 1}, k.complete)
	require.Equal(t, map[string]map[string]bool{"a.b": {"a.b.t": true, "a.b.v": true}, "c": {"c.t": true, "c.v": true}}, k.objects)
}
