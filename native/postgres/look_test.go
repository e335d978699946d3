//go:build e2e

package postgres

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"piedmont/native"
)

// tables counts what is in the schema of the URL.
func tables(t *testing.T, url string) int {
	t.Helper()
	r, err := connect(t.Context(), url, Options{}, beginReadCommitted)
	if err != nil {
		t.Fatal(err)
	}
	defer r.pool.Close()
	return count(t, r, "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace")
}

// TestLook opens databases in every state, and none of them is changed.
func TestLook(t *testing.T) {
	for name, c := range map[string]struct {
		made bool
		sql  string
		want error
	}{
		"empty":              {false, "", ErrNoSchema},
		"interrupted":        {false, createSchemaSQL + ";" + insertSchemaSQL, ErrNoSchema},
		"of this release":    {true, "", nil},
		"newer":              {true, "UPDATE piedmont_schema SET version = 1000", ErrNewerSchema},
		"version lost":       {true, "UPDATE piedmont_schema SET version = 0", ErrDamaged},
		"version table gone": {true, "DROP TABLE piedmont_schema", ErrDamaged},
		"no records":         {true, "DROP TABLE piedmont_records", ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			url := newSchema(t)
			if c.made {
				openTest(t, url)
			}
			execute(t, url, c.sql)
			before := tables(t, url)
			r, err := Look(t.Context(), withOption(t, url, "default_transaction_read_only", "on"), Options{})
			if !errors.Is(err, c.want) {
				t.Fatalf("error is %v, want %v", err, c.want)
			}
			if n := tables(t, url); n != before {
				t.Fatalf("%d tables and indexes became %d", before, n)
			}
			if err != nil {
				return
			}
			if _, err := r.Scan(t.Context(), "", "", 0); err != nil {
				t.Error(err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLookIntoAnOlderSchema takes a release that has one version more than this one.
func TestLookIntoAnOlderSchema(t *testing.T) {
	r := openTest(t, newSchema(t))
	err := r.judge(t.Context(), lastVersion(t), lastVersion(t)+1)
	if !errors.Is(err, ErrOlderSchema) || !strings.Contains(err.Error(), fmt.Sprintf("version %d, this release has %d", lastVersion(t), lastVersion(t)+1)) {
		t.Fatalf("error is %v, want ErrOlderSchema with both versions", err)
	}
}

// TestLookKeepsReceipts: who only looks doesn't clean up, and serves reads all the same.
func TestLookKeepsReceipts(t *testing.T) {
	url := newSchema(t)
	if err := openTest(t, url).Commit(t.Context(), nil, []native.Change{put("a", "")}); err != nil {
		t.Fatal(err)
	}
	r, err := Look(t.Context(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	select {
	case <-r.swept:
	default:
		t.Fatal("old receipts are removed")
	}
	if _, ok, err := r.Get(t.Context(), "a"); !ok || err != nil {
		t.Fatal(ok, err)
	}
}
