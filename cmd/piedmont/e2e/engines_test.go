//go:build e2e

package e2e

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
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

	python, duckdb, clickhouse, trino, spark, flink engine // python is PyIceberg, Polars and Daft
}

// TestEngines runs what each engine can do through one Piedmont, one after the other: each
// reads what those before it wrote. What an engine can't do is listed in configs/README.md,
// and each entry of the list is proven here. The settings come from there, too.
func TestEngines(t *testing.T) {
	s := startScenario(t)
	s.python = s.driven(t, "PyIceberg", "PyIceberg, Polars and Daft", "engines", "run_python.py")
	s.duckdb = s.driven(t, "DuckDB", "DuckDB", "engines", "run_duckdb.py")
	s.clickhouse = s.driven(t, "ClickHouse", "ClickHouse", "engines", "run_chdb.py")
	s.python.do(t, `catalog.create_namespace("lab")`)
	t.Run("pyiceberg", s.runPyIceberg)
	t.Run("polars", s.runPolars)
	t.Run("daft", s.runDaft)
	t.Run("duckdb", s.runDuckDB)
	t.Run("conflict", s.runConflict)
	t.Run("clickhouse", s.runClickHouse)

	trino := s.settings(t, "Trino")
	s.trino = engine{&lazy{start: func() (session, error) { return startTrino(t, trino) }}, "Trino"}
	t.Run("trino", s.runTrino)
	s.spark = s.driven(t, "Spark", "Spark", "spark", "run_spark.py", "JARS="+jars(t))
	t.Run("spark", s.runSpark)
	s.flink = s.driven(t, "Flink", "Flink", "flink", "run_flink.py", "JAVA_TOOL_OPTIONS=-Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1")
	t.Run("flink", s.runFlink)

	t.Run("everything", s.everything)
	t.Run("equality deletes", s.equalityDeletes)
	t.Run("sort orders", s.sortOrders)
	t.Run("deletion vectors", s.deletionVectors)
	t.Run("views of another dialect", s.dialects)
	t.Run("limits", s.allProven)
}

// driven starts an engine's driver with the settings of a part of configs/README.md.
func (s *scenario) driven(t *testing.T, name, part, venv, script string, env ...string) engine {
	t.Helper()
	env = append(env, "SETTINGS="+s.settings(t, part))
	return engine{&lazy{start: func() (session, error) { return startDriver(t, venv, script, env...) }}, name}
}

func startScenario(t *testing.T) *scenario {
	t.Helper()
	dir := t.TempDir()
	w, err := startWeed(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.stop)
	s := &scenario{storage: w.S3, doc: readEngines(t), proven: map[string]bool{}, trips: map[string][]string{}}
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
