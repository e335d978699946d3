//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	hms "github.com/beltran/gohive/hive_metastore"

	"piedmont/mounts/hive/hivetest"
)

const (
	manyTables = 2000 // of Iceberg's, and as many of others, in one database
	manyFiles  = 10   // metadata files that they share, one for each last digit
	manyLoads  = 300
)

// What a Hive client would ask for, and the same in any case of letters, as we ask.
const (
	manyIceberg = `hive_filter_field_params__table_type like "ICEBERG"`
	manyAnyCase = `hive_filter_field_params__table_type like "(?i)iceberg"`
)

// TestFederatedSpeed reports, and judges nothing: a metastore with many tables, asked through
// Piedmont and directly.
func TestFederatedSpeed(t *testing.T) {
	folder := manyPrepared(t)
	dir := t.TempDir()
	if out, err := exec.Command("cp", "-R", filepath.Join(folder, "derby"), dir).CombinedOutput(); err != nil {
		t.Fatalf("copy the database: %v\n%s", err, out)
	}
	_, port, _ := strings.Cut(freeAddress(t), ":")
	writeFile(t, filepath.Join(dir, "env"), "PORT="+port+"\n") // it isn't new
	m := startMetastore(t, 3, dir)
	own := t.TempDir()
	hive := `hive: {uris: ["` + m.URI + `"]}, storage: [disk]`
	p := start(t, writeFile(t, filepath.Join(t.TempDir(), "piedmont.yaml"), `
storage:
  - {name: disk, location: "file://`+folder+`/", local: {}}
  - {name: own, location: "file://`+own+`/", local: {}}
mounts:
  - {at: "", native: {id: main, warehouse: "file://`+own+`/"}, storage: [own, disk]}
  - {at: legacy, `+hive+`}
  - {at: remembered, `+hive+`, fresh_for: 30s}
`), t.TempDir())
	key := p.key()
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"many"}})
	for i := range manyFiles { // the same documents, so that only the mounts differ
		var table struct {
			Location string `json:"metadata-location"`
		}
		name := fmt.Sprintf("ice%05d", i)
		if err := json.Unmarshal(p.must("GET", tablePath("legacy.many."+name), key, nil).body, &table); err != nil {
			t.Fatal(err)
		}
		p.must("POST", "/v1/namespaces/many/register", key, map[string]any{"name": name, "metadata-location": table.Location})
	}
	c := m.client()
	manyLists(t, m, p, c, key)
	manyLatencies(t, p, c, key)
	load := func(mount string) func(int, int64) error {
		return func(i int, _ int64) error {
			return expect(http.MethodGet, p.URI+tablePath(fmt.Sprintf("%smany.ice%05d", mount, i%manyFiles)), key, nil)
		}
	}
	remembered, native := alternate(load("remembered."), load(""))
	a, b := remembered(t), native(t)
	t.Logf("loads with fresh_for by %d clients: %.0f/s, of native tables %.0f/s: %.2f", speedWorkers, a, b, a/b)
}

// manyPrepared is a folder with the database of a metastore, and metadata files. It is made
// once and kept.
func manyPrepared(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(os.Getenv("PIEDMONT_TEST_CACHE"), "hive3-many")
	if _, err := os.Stat(filepath.Join(folder, "done")); err == nil {
		return folder
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o700)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c := &commits{dir: folder}
	if err := os.Mkdir(filepath.Join(folder, "metadata"), 0o700); err != nil {
		t.Fatal(err)
	}
	var shared []hivetest.Table
	for i := range manyFiles {
		table, err := c.table(i)
		if err != nil {
			t.Fatal(err)
		}
		shared = append(shared, table)
	}
	m := startMetastore(t, 3, folder)
	h := m.fill()
	err := h.CreateDatabase(t.Context(), "many", "file://"+folder+"/many", nil)
	if err == nil {
		err = h.CreateTables(t.Context(), "many", "plain", manyTables, func(string) hivetest.Table { return hivetest.Table{Location: "file://" + folder + "/many"} })
	}
	if err == nil {
		err = h.CreateTables(t.Context(), "many", "ice", manyTables, func(name string) hivetest.Table {
			return shared[int(name[len(name)-1]-'0')] // by its last digit
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(script("hive"), "stop", folder).CombinedOutput(); err != nil {
		t.Fatalf("stop the metastore: %v\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(folder, "env")); err != nil { // its process's number may become another's
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(folder, "done"), "")
	t.Logf("prepared %d tables in %v", 2*manyTables, time.Since(began).Round(time.Second))
	return folder
}

// manyLists lists the database in turns.
func manyLists(t *testing.T, m *metastoreServer, p *process, c *hms.ThriftHiveMetastoreClient, key string) {
	t.Helper()
	ask := func(c *hms.ThriftHiveMetastoreClient, filter string) time.Duration {
		began := time.Now()
		names, err := c.GetTableNamesByFilter(t.Context(), "many", filter, -1)
		if err != nil || len(names) != manyTables {
			t.Fatalf("the metastore listed %d tables: %v", len(names), err)
		}
		return time.Since(began)
	}
	var ours, plain, anyCase []time.Duration
	ask(c, manyIceberg)
	first := ask(m.client(), manyIceberg) // over a new connection, as our first will be
	for range 5 {
		began := time.Now()
		r := p.must("GET", "/v1/namespaces/legacy%1Fmany/tables", key, nil)
		ours = append(ours, time.Since(began))
		var list struct{ Identifiers []any }
		if err := json.Unmarshal(r.body, &list); err != nil || len(list.Identifiers) != manyTables {
			t.Fatalf("listed %d tables: %v", len(list.Identifiers), err)
		}
		plain, anyCase = append(plain, ask(c, manyIceberg)), append(anyCase, ask(c, manyAnyCase))
	}
	t.Logf("a list of %d Iceberg tables among %d over a new connection: %v, later %v; one question to the metastore over a new connection %v, later %v, in any case of letters %v",
		manyTables, 2*manyTables, ms(ours[0]), ms(median(ours[1:])), ms(first), ms(median(plain)), ms(median(anyCase)))
	var took []float64
	lastLine(t, federatedPython(t, "federated_list.py", "HIVE_URI="+m.URI, "PIEDMONT_URI="+p.URI, "PIEDMONT_KEY="+key, fmt.Sprint("TABLES=", manyTables)), &took)
	t.Logf("PyIceberg lists them in %.3fs through Piedmont, in %.3fs by its own Hive catalog", took[0], took[1])
}

// manyLatencies loads tables, each once, in turns.
func manyLatencies(t *testing.T, p *process, c *hms.ThriftHiveMetastoreClient, key string) {
	t.Helper()
	var ours, theirs []time.Duration
	for i := range 2 * manyLoads {
		name := fmt.Sprintf("ice%05d", i)
		began := time.Now()
		if i%2 == 0 {
			p.must("GET", tablePath("legacy.many."+name), key, nil)
			ours = append(ours, time.Since(began))
			continue
		}
		q := hms.NewGetTableRequest()
		q.DbName, q.TblName = "many", name
		if _, err := c.GetTableReq(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, time.Since(began))
	}
	t.Logf("a load takes %v (p99 %v), the metastore's get_table_req alone %v (p99 %v)", ms(median(ours)), ms(p99(ours)), ms(median(theirs)), ms(p99(theirs)))
}

func median(took []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(took))[len(took)/2]
}

func ms(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
