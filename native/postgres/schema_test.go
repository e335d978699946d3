//go:build e2e

package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"piedmont/native"
)

// TestOpenedTogether lets many replicas meet an empty database at the same moment.
func TestOpenedTogether(t *testing.T) {
	for range 3 {
		url := newSchema(t)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				r, err := Open(t.Context(), url, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				defer r.Close()
				if err := r.Commit(t.Context(), nil, []native.Change{put(native.Key(fmt.Sprint(i)), "")}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		r := openTest(t, url)
		if n := count(t, r, "SELECT count(*) FROM piedmont_records"); n != 8 {
			t.Fatalf("%d of 8 records are there", n)
		}
		if v := count(t, r, "SELECT version FROM piedmont_schema"); v != lastVersion(t) {
			t.Fatalf("the schema has version %d", v)
		}
	}
}

// lastVersion is the number of migrations. Their names are numbered without a gap.
func lastVersion(t *testing.T) int {
	t.Helper()
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for i, file := range files {
		if !strings.HasPrefix(file, fmt.Sprintf("migrations/%04d_", i+1)) {
			t.Fatalf("migration %d is called %s", i+1, file)
		}
	}
	return len(files)
}

func TestNewerSchema(t *testing.T) {
	url := newSchema(t)
	openTest(t, url)
	execute(t, url, fmt.Sprintf("UPDATE piedmont_schema SET version = %d", lastVersion(t)+1))
	_, err := Open(t.Context(), url, Options{})
	if !errors.Is(err, ErrNewerSchema) || !strings.Contains(err.Error(), fmt.Sprintf("version %d", lastVersion(t)+1)) {
		t.Fatalf("error is %v, want ErrNewerSchema with both versions", err)
	}
}

// TestDamagedSchema opens databases of which something is gone.
func TestDamagedSchema(t *testing.T) {
	for name, sql := range map[string]string{
		"no records":         "DROP TABLE piedmont_records",
		"no receipts":        "DROP TABLE piedmont_receipts",
		"no guard":           "DROP TABLE piedmont_guard",
		"a column renamed":   "ALTER TABLE piedmont_records RENAME COLUMN version TO etag",
		"a guard row gone":   "DELETE FROM piedmont_guard WHERE class = 3 AND shard = 2",
		"version row gone":   "DELETE FROM piedmont_schema",
		"version impossible": "UPDATE piedmont_schema SET version = -1",
		"version table gone": "DROP TABLE piedmont_schema",
		"version lost":       "UPDATE piedmont_schema SET version = 0",
	} {
		t.Run(name, func(t *testing.T) {
			url := newSchema(t)
			openTest(t, url)
			execute(t, url, sql)
			for range 2 {
				r, err := Open(t.Context(), url, Options{})
				if err == nil {
					r.Close()
				}
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("error is %v, want ErrDamaged", err)
				}
			}
		})
	}
}

// TestDamagedWhileOpen takes away what commits and reads need.
func TestDamagedWhileOpen(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	if err := r.Commit(t.Context(), nil, []native.Change{put("a", "")}); err != nil {
		t.Fatal(err)
	}
	execute(t, url, "DELETE FROM piedmont_guard")
	if err := r.Commit(t.Context(), nil, []native.Change{put("b", "")}); !errors.Is(err, native.ErrNotApplied) || !errors.Is(err, ErrDamaged) {
		t.Errorf("error is %v, want ErrNotApplied and ErrDamaged", err)
	}
	execute(t, url, `ALTER TABLE piedmont_records DROP CONSTRAINT piedmont_records_version_check; UPDATE piedmont_records SET version = '\x00'`)
	if _, _, err := r.Get(t.Context(), "a"); !errors.Is(err, ErrDamaged) {
		t.Errorf("error is %v, want ErrDamaged", err)
	}
	if _, err := r.Scan(t.Context(), "", "", 0); !errors.Is(err, ErrDamaged) {
		t.Errorf("error is %v, want ErrDamaged", err)
	}
	execute(t, url, "DROP TABLE piedmont_records")
	if err := r.Commit(t.Context(), nil, []native.Change{put("a", "")}); !errors.Is(err, native.ErrNotApplied) {
		t.Errorf("error is %v, want ErrNotApplied", err)
	}
	if _, _, err := r.Get(t.Context(), "a"); err == nil {
		t.Error("Get answers without a table")
	}
}

// TestFewRights serves with a role that may neither create nor alter tables.
func TestFewRights(t *testing.T) {
	url := newSchema(t)
	openTest(t, url)
	role := "r" + randomName()
	execute(t, url, fmt.Sprintf(`CREATE ROLE %[1]s LOGIN PASSWORD 'few'; GRANT USAGE ON SCHEMA %[2]s TO %[1]s;
		GRANT SELECT ON piedmont_schema TO %[1]s;
		GRANT SELECT, INSERT, UPDATE, DELETE ON piedmont_records, piedmont_receipts, piedmont_guard TO %[1]s`, role, schemaOf(t, url)))
	t.Cleanup(func() { execute(t, url, fmt.Sprintf("DROP OWNED BY %[1]s; DROP ROLE %[1]s", role)) })
	r := openTest(t, withUser(t, url, role, "few"))
	if err := r.Commit(t.Context(), []native.Condition{{Kind: native.PrefixEmpty, Key: "a"}}, []native.Change{put("a", "")}); err != nil {
		t.Fatal(err)
	}
}

// TestReadOnlyServer commits where nothing can be written, as on a standby.
func TestReadOnlyServer(t *testing.T) {
	url := newSchema(t)
	openTest(t, url)
	r := openTest(t, withOption(t, url, "default_transaction_read_only", "on"))
	if err := r.Commit(t.Context(), nil, []native.Change{put("a", "")}); !errors.Is(err, native.ErrNotApplied) {
		t.Fatalf("error is %v, want ErrNotApplied", err)
	}
	if _, ok, err := r.Get(t.Context(), "a"); ok || err != nil {
		t.Fatal(ok, err)
	}
}
