//go:build e2e

package e2e

import (
	"net/http"
	"testing"
)

// TestFederatedEngines: SQL engines join tables of all catalogs in one statement, with the
// settings of configs/README.md, and hear whose tables they can't change.
func TestFederatedEngines(t *testing.T) {
	f := newFederation(t)
	s := &scenario{piedmont: f.process, key: f.admin, storage: f.weed.S3, doc: readEngines(t)}
	hive, web := f.hive.content(), f.glueContent("web")
	f.must(http.MethodPost, "/v1/namespaces", f.admin, map[string]any{"namespace": []string{"own"}})

	t.Run("Spark", func(t *testing.T) {
		spark := s.driven(t, "Spark", "Spark", "spark", "run_spark.py", "JARS="+jars(t))
		spark.do(t, `CREATE TABLE piedmont.own.few AS SELECT id * 50 AS id, 'few' AS kind FROM range(20)`)
		spark.rows(t, `SELECT count(*), max(o.id), max(o.name), max(f.kind) FROM piedmont.legacy.sales.orders o JOIN piedmont.own.few f ON o.id = f.id`, "20|950|row 950|few")
		spark.rows(t, `SELECT f.id, o.name FROM piedmont.own.few f JOIN piedmont.legacy.sales.orders o ON o.id = f.id JOIN piedmont.cloud.web.clicks c ON c.id = f.id
			JOIN piedmont.old.shop.returns r ON r.id = f.id ORDER BY f.id`, "0|row 0", "50|row 50", "100|row 100", "150|row 150")
		spark.refuses(t, `INSERT INTO piedmont.legacy.sales.orders VALUES (1, 'no')`, "mount at 'legacy'")
		spark.refuses(t, `DROP TABLE piedmont.cloud.web.clicks`, "mount at 'cloud'")
	})
	t.Run("Trino", func(t *testing.T) {
		server, err := startTrino(t, s.settings(t, "Trino"))
		if err != nil {
			t.Fatal(err)
		}
		trino := engine{server, "Trino"}
		trino.rows(t, `SELECT count(*), max(r.id), max_by(o.name, r.id) FROM piedmont."old.shop".returns r JOIN piedmont."legacy.sales".orders o ON r.id = o.id`, "200|199|row 199")
		trino.rows(t, `SELECT f.id, o.name FROM piedmont.own.few f JOIN piedmont."legacy.sales".orders o ON o.id = f.id JOIN piedmont."cloud.web".clicks c ON c.id = f.id
			JOIN piedmont."old.shop".returns r ON r.id = f.id ORDER BY f.id`, "0|row 0", "50|row 50", "100|row 100", "150|row 150")
		trino.rows(t, `SHOW TABLES FROM piedmont."legacy.sales"`, "events", "lost", "orders")
		trino.refuses(t, `INSERT INTO piedmont."old.shop".returns VALUES (1, 'no')`, "mount at 'old'")
	})
	if f.hive.content() != hive || f.glueContent("web") != web {
		t.Error("the old catalogs' content changed")
	}
	if _, writes := f.rest.counts(); len(writes) > 0 {
		t.Errorf("the REST catalog saw %v", writes)
	}
}
