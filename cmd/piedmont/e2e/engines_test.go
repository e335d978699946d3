//go:build e2e

package e2e

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scenario is one Piedmont, on Postgres and S3, that all engines share.
type scenario struct {
	piedmont *process
	key      string
	storage  string // the S3 server
	doc      map[string]section
	proven   map[string]bool
	// trips holds the rows that each engine left in the table lab.ENGINE.trips.
	trips map[string][]string
	order []string
}

// section is what configs/README.md says of an engine.
type section struct {
	settings string
	limits   []string
}

// TestEngines runs what each engine can do through one Piedmont, one after the other: each
// reads what those before it wrote. What an engine can't do is listed in configs/README.md,
// and each entry of the list is proven here. The settings come from there, too.
func TestEngines(t *testing.T) {
	s := startScenario(t)
	python := engine{startDriver(t, "engines", "run_python.py", "SETTINGS="+s.settings(t, "PyIceberg, Polars and Daft")), "PyIceberg"}
	duckdb := engine{startDriver(t, "engines", "run_duckdb.py", "SETTINGS="+s.settings(t, "DuckDB")), "DuckDB"}
	clickhouse := engine{startDriver(t, "engines", "run_chdb.py", "SETTINGS="+s.settings(t, "ClickHouse")), "ClickHouse"}
	python.do(t, `catalog.create_namespace("lab")`)

	t.Run("pyiceberg", func(t *testing.T) { s.pyiceberg(t, python) })
	t.Run("polars", func(t *testing.T) { s.polars(t, python) })
	t.Run("daft", func(t *testing.T) { s.daft(t, python) })
	t.Run("duckdb", func(t *testing.T) { s.duckdb(t, duckdb) })
	t.Run("conflict", func(t *testing.T) { s.conflict(t, duckdb, python) })
	t.Run("clickhouse", func(t *testing.T) { s.clickhouse(t, clickhouse, python) })
	trino := engine{startTrino(t, s.settings(t, "Trino")), "Trino"}
	t.Run("trino", func(t *testing.T) { s.trino(t, trino) })
	spark := engine{startDriver(t, "spark", "run_spark.py", "SETTINGS="+s.settings(t, "Spark"), "JARS="+jars(t)), "Spark"}
	t.Run("spark", func(t *testing.T) { s.spark(t, spark) })
	flink := engine{startDriver(t, "flink", "run_flink.py", "SETTINGS="+s.settings(t, "Flink"), "JAVA_TOOL_OPTIONS=-Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1"), "Flink"}
	t.Run("flink", func(t *testing.T) { s.flink(t, flink, python) })
	t.Run("everything", func(t *testing.T) {
		t.Run("duckdb", func(t *testing.T) { s.readsAll(t, duckdb, duckdbTrips) })
		t.Run("pyiceberg", func(t *testing.T) { s.readsAll(t, python, pyicebergTrips) })
		t.Run("polars", func(t *testing.T) { s.readsAll(t, python, polarsTrips) })
		t.Run("daft", func(t *testing.T) { s.readsAll(t, python, daftTrips) })
		t.Run("clickhouse", func(t *testing.T) { s.readsAll(t, clickhouse, clickhouseTrips) })
		t.Run("trino", func(t *testing.T) { s.readsAll(t, trino, trinoTrips) })
		t.Run("spark", func(t *testing.T) { s.readsAll(t, spark, sparkTrips) })
	})
	t.Run("equality deletes", func(t *testing.T) {
		left := []string{"1|4.5", "2|2.5"}
		trino.rows(t, `SELECT id, fare FROM piedmont."lab.flink".upserts ORDER BY id`, left...)
		spark.rows(t, `SELECT id, fare FROM piedmont.lab.flink.upserts ORDER BY id`, left...)
		duckdb.rows(t, `SELECT id, fare FROM piedmont."lab.flink".upserts ORDER BY id`, left...)
		clickhouse.rows(t, "SELECT id, fare FROM piedmont.`lab.flink.upserts` ORDER BY id", left...)
		s.cannot(t, python, "PyIceberg: can't read equality deletes", `catalog.load_table("lab.flink.upserts").scan().to_arrow()`, "equality deletes")
		s.cannot(t, python, "Polars: can't read equality deletes", `pl.scan_iceberg(catalog.load_table("lab.flink.upserts"), storage_options=storage)`, "equality deletes")
		s.cannot(t, python, "Daft: can't read equality deletes", `daft_catalog.get_table("lab.flink.upserts").read()`, "equality deletes")
	})
	t.Run("sort orders", func(t *testing.T) {
		const sorted = "SELECT id FROM piedmont.`lab.spark.sorted` ORDER BY id"
		clickhouse.rows(t, sorted, "1", "2", "3", "4", "5")
		s.listed(t, "ClickHouse: can't sort a table that has a sort order")
		if wrong := clickhouse.query(t, sorted+" SETTINGS optimize_read_in_order = 1, max_threads = 1"); slices.IsSorted(wrong) {
			t.Errorf("ClickHouse sorts now: %q", wrong)
		}
	})
	t.Run("deletion vectors", func(t *testing.T) {
		left := []string{"1|Oslo", "4|Bonn"}
		spark.rows(t, `SELECT id, city FROM piedmont.lab.duckdb.v3 ORDER BY id`, left...)
		flink.rows(t, "SELECT id, city FROM piedmont.duckdb.v3 ORDER BY id", left...)
		duckdb.rows(t, `SELECT id, city FROM piedmont."lab.spark".v3 ORDER BY id`, "1|Oslo", "3|Kiel")
		s.cannot(t, trino, "Trino: can't read deletion vectors", `SELECT id, city FROM piedmont."lab.duckdb".v3`, "Unexpected PUFFIN file format")
		duckdb.rows(t, `SELECT id, city FROM piedmont."lab.duckdb".v3 ORDER BY id`, left...)
		python.rows(t, `catalog.load_table("lab.duckdb.v3").scan().to_arrow().sort_by("id")`, left...)
		python.rows(t, `pl.scan_iceberg(catalog.load_table("lab.duckdb.v3"), storage_options=storage).sort("id")`, left...)
		s.cannot(t, python, "Daft: can't read deletion vectors", `daft_catalog.get_table("lab.duckdb.v3").read().sort("id")`, "puffin is not a valid parquet file")
		s.cannot(t, clickhouse, "ClickHouse: can't read deletion vectors", "SELECT id FROM piedmont.`lab.duckdb.v3`", "Position deletes are supported only for parquet format")
	})
	t.Run("views of another dialect", func(t *testing.T) {
		s.cannot(t, trino, "Trino: can't read the views of Spark", `SELECT * FROM piedmont."lab.spark".cities`, "Cannot read unsupported dialect 'spark'")
		s.cannot(t, spark, "Spark: can't read the views of Trino", `SELECT * FROM piedmont.lab.trino.cities`, "Invalid view name: piedmont.lab.trino.cities")
	})
	t.Run("limits", s.allProven)
}

func startScenario(t *testing.T) *scenario {
	t.Helper()
	dir := t.TempDir()
	s := &scenario{storage: weed(t).S3, doc: readEngines(t), proven: map[string]bool{}, trips: map[string][]string{}}
	var entry string
	s.key, entry = newKey(t, "ops")
	config := writeFile(t, filepath.Join(dir, "piedmont.yaml"), `
registry: {postgres: {url: "`+postgresURL(t)+`"}}
storage:
  - {name: lake, location: "s3://lake/", s3: {endpoint: "`+s.storage+`", region: us-east-1, path_style: true, access_key_id: admin, secret_access_key: adminsecret}}
mounts: [{at: "", native: {id: main, warehouse: "s3://lake/engines/"}, storage: [lake]}]
auth: {admins: [ops], keys: [`+flow(entry)+`]}
`)
	s.piedmont = start(t, config, dir)
	return s
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

// wrote tells those who come later what an engine left in its table.
func (s *scenario) wrote(name string, rows ...string) {
	s.trips[name] = rows
	s.order = append(s.order, name)
}

// readsAll lets an engine read the trips of all that have written some, except of those
// whose tables it can't read.
func (s *scenario) readsAll(t *testing.T, e engine, query func(namespace string) string, except ...string) {
	t.Helper()
	if len(s.order) == 0 {
		t.Fatal("nobody wrote anything")
	}
	for _, name := range s.order {
		if !slices.Contains(except, name) {
			e.rows(t, query("lab."+name), s.trips[name]...)
		}
	}
}

// load loads a table as a client does; levels of its namespace are joined by 0x1F.
func (s *scenario) load(t *testing.T, namespace, table string, into any) {
	t.Helper()
	r := s.piedmont.must("GET", "/v1/namespaces/"+url.PathEscape(namespace)+"/tables/"+table, s.key, nil)
	if err := json.Unmarshal(r.body, into); err != nil {
		t.Fatal(err)
	}
}

// snapshots are the ids of a table's snapshots, the oldest first.
func (s *scenario) snapshots(t *testing.T, namespace, table string) []string {
	t.Helper()
	var loaded struct {
		Metadata struct {
			Snapshots []struct {
				ID json.Number `json:"snapshot-id"`
			}
		}
	}
	s.load(t, namespace, table, &loaded)
	if len(loaded.Metadata.Snapshots) == 0 {
		t.Fatalf("%s has no snapshots", table)
	}
	ids := make([]string, len(loaded.Metadata.Snapshots))
	for i, snapshot := range loaded.Metadata.Snapshots {
		ids[i] = snapshot.ID.String()
	}
	return ids
}

// jars are what Spark needs on its class path.
func jars(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.Getenv("PIEDMONT_TEST_CACHE"), "spark", "*.jar"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no jars for Spark: run make stage-engines (%v)", err)
	}
	return strings.Join(found, ",")
}
