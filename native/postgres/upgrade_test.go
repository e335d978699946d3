//go:build e2e

package postgres

import (
	"os"
	"path/filepath"
	"testing"

	"piedmont/native"
)

// TestEarlierSchemas opens a database of every schema version there ever was, each with
// the same records, and serves it.
func TestEarlierSchemas(t *testing.T) {
	files, err := filepath.Glob("testdata/schema-*.sql")
	if err != nil || len(files) != lastVersion(t) {
		t.Fatalf("%d databases for %d versions, %v", len(files), lastVersion(t), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			sql, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			url := newSchema(t)
			execute(t, url, string(sql))
			r := openTest(t, url)
			recs, err := r.Scan(t.Context(), "", "", 0)
			if err != nil || len(recs) != 2 || recs[0].Key != "a" || string(recs[0].Value) != "one" || recs[1].Key != "b\xff\x00" {
				t.Fatal(recs, err)
			}
			condition := native.Condition{Kind: native.AtVersion, Key: "a", Version: native.Version{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}
			if err := r.Commit(t.Context(), []native.Condition{condition}, []native.Change{put("a", "two"), put("c", "")}); err != nil {
				t.Fatal(err)
			}
			if v := count(t, r, "SELECT version FROM piedmont_schema"); v != lastVersion(t) {
				t.Fatalf("the schema has version %d", v)
			}
		})
	}
}
