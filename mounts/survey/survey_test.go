package survey_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/survey"
)

// troubled is a metastore with a table of each kind of trouble.
func troubled(t *testing.T) *world {
	w := newWorld(t, "legacy")
	w.source.PutDatabase("db", nil)
	w.source.PutDatabase("sick", nil)
	w.source.PutDatabase("void", nil)
	now := time.Now()
	w.put("db", "good", metastore.Table, fmt.Sprintf(`{"format-version":2,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"s3a://lake/t/good/",
		"last-updated-ms":%[1]d,"current-snapshot-id":2,"snapshots":[
		{"snapshot-id":1,"timestamp-ms":%[2]d,"summary":{"operation":"append","engine-name":"flink","total-records":"1"}},
		{"snapshot-id":2,"timestamp-ms":%[1]d,"summary":{"operation":"overwrite","engine-name":"spark","engine-version":"4.1.3","app-id":"local-1",
			"app-name":"nightly","iceberg-version":"Apache Iceberg 1.12.0 (commit 212aa)","total-data-files":"2","total-records":"10","total-files-size":"4096"}}]}`,
		now.UnixMilli(), now.Add(-31*24*time.Hour).UnixMilli()))
	w.put("db", "keyed", metastore.Table, fmt.Sprintf(`{"format-version":3,"location":"s3://lake/t/keyed","properties":{"encryption.key-id":"k"},
		"current-snapshot-id":1,"snapshots":[{"snapshot-id":1,"timestamp-ms":%d,"summary":{"operation":"append"}}]}`, now.UnixMilli()))
	w.source.Put("db", "gone", metastore.Object{Kind: metastore.Table, MetadataLocation: "s3://lake/legacy/gone/00001-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json"})
	w.source.Put("db", "nowhere", metastore.Object{Kind: metastore.Table})
	w.source.Put("db", "folder", metastore.Object{Kind: metastore.Table, MetadataLocation: "s3://lake/legacy/"})
	w.source.Put("db", "outside", metastore.Object{Kind: metastore.Table, MetadataLocation: "s3://other/t/v1.metadata.json"})
	w.source.Put("db", "hdfs", metastore.Object{Kind: metastore.Table, MetadataLocation: "hdfs://user:pw@nn:8020/t/v1.metadata.json"})
	w.put("db", "notjson", metastore.Table, "not json")
	w.put("db", "nottable", metastore.Table, `{"view-uuid":"x"}`)
	w.table("db", "moved")
	w.table("db", "slow")
	w.put("db", "v", metastore.View, `{"current-version-id":2,"versions":[{"version-id":1,"representations":[{"type":"sql","dialect":"hive"}]},
		{"version-id":2,"representations":[{"type":"sql","dialect":"Trino"},{"type":"sql","dialect":"spark"}]}]}`)
	w.put("db", "badview", metastore.View, `{}`)
	w.source.Put("db", "plain", metastore.Object{Is: "a plain table"})
	w.source.Put("db", "hiveview", metastore.Object{Is: "a Hive view"})
	w.source.Put("db", "hiveview2", metastore.Object{Is: "a Hive view"})
	w.source.Intercept(func(ctx context.Context, c metastoretest.Call) error {
		switch {
		case c.Method == "Object" && c.Name == "moved":
			return &mounts.Error{Kind: mounts.NoSuchTable}
		case c.Method == "Object" && c.Name == "slow":
			<-ctx.Done()
			return ctx.Err()
		case c.Method == "Objects" && c.Database == "sick":
			return unavailable("is ill")
		}
		return nil
	})
	return w
}

func TestEveryReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := troubled(t)
		report, lines := surveyed(t, nil, w.point)
		tables := tablesOf(t, lines)
		for name, want := range map[string][2]string{
			"good": {"loaded"}, "keyed": {"loaded"}, "gone": {"broken", survey.FileGone}, "nowhere": {"broken", survey.NoMetadataLocation},
			"folder": {"broken", survey.NoMetadataLocation}, "outside": {"broken", survey.NoStorageProfile}, "hdfs": {"broken", survey.NoStorageProfile},
			"notjson": {"broken", survey.NotMetadata}, "nottable": {"broken", survey.NotMetadata}, "moved": {"gone", "no-such-table"}, "slow": {"unknown", "timeout"},
		} {
			got := tables["legacy.db."+name]
			require.NotNil(t, got, name)
			assert.Equal(t, want, [2]string{string(got.State), got.Reason}, "%s: %s", name, got.Detail)
			assert.Equal(t, want[0] == "loaded", got.Detail == "", name)
		}
		require.Len(t, tables, 11)
		require.Equal(t, "s3://other/t/v1.metadata.json", tables["legacy.db.outside"].MetadataLocation)
		good := tables["legacy.db.good"]
		require.Equal(t, "9c12d441-03fe-4693-9a96-a0705ddf69c1", good.UUID)
		require.Equal(t, []int64{2, 10, 4096}, []int64{*good.DataFiles, *good.Records, *good.Bytes})
		require.Len(t, good.Writers, 1, "Flink's was too long ago")
		require.Equal(t, survey.Writer{
			Engine: "spark", Version: "4.1.3", Application: "nightly", Library: "Apache Iceberg 1.12.0", Runs: []string{"local-1"},
			Commits: 1, Operations: map[string]int{"overwrite": 1}, Last: good.Writers[0].Last,
		}, good.Writers[0])
		require.True(t, tables["legacy.db.keyed"].Encrypted)

		s := report.Mounts[0]
		require.Equal(t, survey.Incomplete, s.State)
		require.Equal(t, survey.Counts{Loaded: 2, Unknown: 1}, s.Namespaces)
		require.Equal(t, survey.Counts{Loaded: 2, Broken: 7, Unknown: 1}, s.Tables)
		require.Equal(t, survey.Counts{Loaded: 1, Broken: 1}, s.Views)
		require.Equal(t, map[string]int{"spark": 1, "trino": 1}, s.Dialects)
		require.Equal(t, map[string]int{"a plain table": 1, "a Hive view": 2}, s.Others)
		require.Equal(t, map[int64]int{2: 1, 3: 1}, s.FormatVersions)
		require.Equal(t, 1, s.Encrypted)
		require.Equal(t, 1, s.Untold, "keyed has a snapshot without totals")
		require.Equal(t, map[string]int{"s3://other/": 1, "hdfs://nn:8020/": 1}, s.Problems[survey.NoStorageProfile].Places, "and no password")
		require.Equal(t, []string{"legacy.sick"}, s.Problems["unavailable"].Names)
		require.Len(t, s.Writers, 2)
		require.Equal(t, []survey.Big{{Table: "legacy.db.good", Bytes: 4096}}, s.Biggest)
	})
}

// Nobody is asked more often than allowed.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "legacy")
		w.tables(100, 100)
		began := time.Now()
		p := &survey.Progress{}
		surveyed(t, func(o *survey.Options) { o.CallsPerSecond, o.Progress = 20, p }, w.point)
		// The databases, what is in db0, its tables, views and others, and each table.
		require.EqualValues(t, 105, p.Calls.Load())
		require.Equal(t, 5200*time.Millisecond, time.Since(began).Round(10*time.Millisecond))
	})
}

// A mount that hangs ends by itself, and holds up no other.
func TestHangingMount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		well, hangs, late := newWorld(t, "well"), newWorld(t, "hangs"), newWorld(t, "late")
		well.tables(50, 10)
		hangs.tables(50, 10)
		late.tables(500, 100)
		hangs.source.Intercept(func(ctx context.Context, _ metastoretest.Call) error { <-ctx.Done(); return ctx.Err() })
		loads := 0
		late.source.Intercept(func(ctx context.Context, c metastoretest.Call) error {
			if c.Method != "Object" {
				return nil
			}
			if loads++; loads > 100 {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		began := time.Now()
		var wellDone time.Duration
		report, _ := surveyed(t, func(o *survey.Options) {
			o.Lines = func(l survey.Line) error {
				if l.Table != nil && l.Table.Mount == "well" {
					wellDone = time.Since(began)
				}
				return nil
			}
			o.Concurrency = 1
		}, well.point, hangs.point, late.point)
		require.Less(t, wellDone, time.Second)
		require.Less(t, time.Since(began), 10*time.Minute)
		require.Equal(t, survey.Complete, report.Mounts[0].State)
		require.Equal(t, 50, report.Mounts[0].Tables.Loaded)
		require.Equal(t, survey.Failed, report.Mounts[1].State)
		require.Contains(t, report.Mounts[1].Detail, "did not answer in time")
		require.Equal(t, survey.Failed, report.Mounts[2].State)
		require.Contains(t, report.Mounts[2].Detail, "given up: nothing was answered for 2m0s")
		require.Equal(t, survey.Counts{Loaded: 100, Unknown: 2}, report.Mounts[2].Tables, "those that nobody was asked about aren't told of")
	})
}

// A catalog that is away for a minute, and then again, costs those minutes and nothing else.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "legacy")
		w.tables(300, 100)
		began := time.Now()
		w.source.Intercept(func(context.Context, metastoretest.Call) error {
			d := time.Since(began)
			if d > 5*time.Second && d < 65*time.Second || d > 210*time.Second && d < 240*time.Second {
				return unavailable("is away")
			}
			return nil
		})
		report, lines := surveyed(t, func(o *survey.Options) { o.CallsPerSecond = 1 }, w.point)
		require.Equal(t, survey.Complete, report.Mounts[0].State, report.Mounts[0].Detail)
		require.Len(t, tablesOf(t, lines), 300)
		require.Equal(t, 300, report.Mounts[0].Tables.Loaded)
		require.Less(t, time.Since(began), 8*time.Minute)
	})
}

// A table that never answers is unknown, also where it is the last one, and the mount is no worse.
func TestOneTableHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "legacy")
		w.tables(5, 5)
		w.source.Intercept(func(ctx context.Context, c metastoretest.Call) error {
			if c.Name == "t00002" {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		report, lines := surveyed(t, nil, w.point)
		require.Equal(t, survey.Incomplete, report.Mounts[0].State)
		require.Equal(t, survey.Counts{Loaded: 4, Unknown: 1}, report.Mounts[0].Tables)
		require.Equal(t, "timeout", tablesOf(t, lines)["legacy.db0.t00002"].Reason)
	})
}

// A storage that fails makes its tables unknown, soon, and the catalog is looked through.
func TestSickStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "legacy")
		w.tables(1000, 100)
		w.source.Put("db0", "outside", metastore.Object{Kind: metastore.Table, MetadataLocation: "s3://other/t/v1.metadata.json"})
		w.files.sick = unavailable("storage profile 'lake' refused us")
		began := time.Now()
		report, lines := surveyed(t, nil, w.point)
		require.Less(t, time.Since(began), 5*time.Minute)
		require.Equal(t, survey.Counts{Broken: 1, Unknown: 1000}, report.Mounts[0].Tables)
		require.Equal(t, survey.Incomplete, report.Mounts[0].State)
		require.Contains(t, tablesOf(t, lines)["legacy.db9.t00999"].Detail, "storage profile 'lake' refused us")
		require.NotContains(t, report.Mounts[0].Problems, survey.NotMetadata)
	})
}

// Lists are followed page by page, and what stands in two pages counts once.
func TestPages(t *testing.T) {
	w := newWorld(t, "legacy")
	w.source.PageSize = 7
	w.tables(300, 100)
	for i := range 50 {
		w.source.Put("db1", fmt.Sprintf("plain%d", i), metastore.Object{Is: "a plain table"})
	}
	report, lines := surveyed(t, nil, w.point)
	require.Len(t, tablesOf(t, lines), 300)
	require.Equal(t, map[string]int{"a plain table": 50}, report.Mounts[0].Others)
	require.Equal(t, 3, report.Mounts[0].Namespaces.Loaded)
}

func TestManyTables(t *testing.T) {
	w := newWorld(t, "legacy")
	w.tables(5000, 500)
	began := time.Now()
	p := &survey.Progress{}
	report, _ := surveyed(t, func(o *survey.Options) { o.Progress = p }, w.point)
	require.Equal(t, 5000, report.Mounts[0].Tables.Loaded)
	require.EqualValues(t, 5000, p.Tables.Load())
	require.Equal(t, []int64{10, 10}, []int64{p.Namespaces.Load(), p.Done.Load()})
	require.Less(t, time.Since(began), 20*time.Second)
	t.Logf("5,000 tables in %s", time.Since(began))
}

func TestSkippedMount(t *testing.T) {
	w, other := newWorld(t, "legacy"), newWorld(t, "other")
	w.tables(3, 3)
	other.tables(3, 3)
	report, lines := surveyed(t, func(o *survey.Options) { o.Mounts[1].Skip = "in use by a server" }, w.point, other.point)
	require.Equal(t, survey.Skipped, report.Mounts[1].State)
	require.Equal(t, "in use by a server", report.Mounts[1].Detail)
	require.Empty(t, other.source.Calls())
	require.Len(t, tablesOf(t, lines), 3)
}

// repeating lists some of its tables on two pages, as catalogs do whose lists shift.
type repeating struct{ *metastore.Catalog }

func (m repeating) ListTables(ctx context.Context, c mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	all, _, err := m.Catalog.ListTables(ctx, c, n, mounts.Page{})
	if err != nil || len(all) < 3 {
		return all, "", err
	}
	if p.Token == "" {
		return all[:2], "more", nil
	}
	return all[1:], "", nil
}

func TestRepeatedNames(t *testing.T) {
	w := newWorld(t, "legacy")
	w.tables(30, 10)
	point := *w.point
	point.Mount = repeating{w.point.Mount.(*metastore.Catalog)}
	report, lines := surveyed(t, nil, &point)
	require.Len(t, tablesOf(t, lines), 30)
	require.Equal(t, 30, report.Mounts[0].Tables.Loaded)
	require.Equal(t, 30, w.source.Count("Object"))
}

// holding is a mount that asks to be left alone once, and notes whether it is.
type holding struct {
	*metastore.Catalog
	mu    sync.Mutex
	loads int
	told  time.Time
	late  []time.Duration // when it was asked after that
}

func (m *holding) LoadTable(ctx context.Context, c mounts.Caller, id mounts.Identifier, o mounts.LoadOptions) (*mounts.Table, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loads++; m.loads == 20 {
		m.told = time.Now()
		return nil, &mounts.Error{Kind: mounts.Unavailable, RetryAfter: 10 * time.Second}
	}
	if !m.told.IsZero() {
		m.late = append(m.late, time.Since(m.told))
	}
	return m.Catalog.LoadTable(ctx, c, id, o)
}

// A catalog that says how long to leave it alone is left alone.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "legacy")
		w.tables(100, 100)
		point := *w.point
		m := &holding{Catalog: w.point.Mount.(*metastore.Catalog)}
		point.Mount = m
		report, _ := surveyed(t, func(o *survey.Options) { o.CallsPerSecond = 100 }, &point)
		require.Equal(t, survey.Complete, report.Mounts[0].State)
		require.Equal(t, 100, report.Mounts[0].Tables.Loaded)
		require.Len(t, m.late, 81)
		soon := 0
		for _, d := range m.late {
			if d < 10*time.Second {
				soon++
			}
		}
		require.LessOrEqual(t, soon, 8, "but for those that had their turn already")
	})
}
