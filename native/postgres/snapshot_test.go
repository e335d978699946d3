//go:build e2e

package postgres

import (
	"errors"
	"fmt"
	"testing"

	"piedmont/native"
	"piedmont/native/registrytest"
)

func TestSnapshot(t *testing.T) {
	for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			registrytest.RunSnapshot(t, func(t *testing.T) registrytest.SnapshotRegistry {
				return openTest(t, withOption(t, newSchema(t), "default_query_exec_mode", mode))
			})
		})
	}
}

// TestSnapshotBreaks ends the server's side of a snapshot under way: it is an error, never
// the end of the records.
func TestSnapshotBreaks(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	var changes []native.Change
	for i := range 3_500 {
		changes = append(changes, put(native.Key(fmt.Sprintf("%05d", i)), ""))
	}
	if err := r.Commit(t.Context(), nil, changes); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{1, 1_000, 3_000} {
		seen := 0
		err := r.Snapshot(t.Context(), func(native.Record) error {
			if seen++; seen == at {
				execute(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
					WHERE pid <> pg_backend_pid() AND state = 'idle in transaction'`)
			}
			return nil
		})
		if err == nil || seen == len(changes) {
			t.Fatalf("Snapshot = %v behind %d records, though its connection was ended at %d", err, seen, at)
		}
	}
	if err := r.Snapshot(t.Context(), func(native.Record) error { return nil }); err != nil {
		t.Fatalf("a snapshot afterwards: %v", err)
	}
}

// TestSnapshotBounded: a page ends where it has enough bytes, and a server that hangs ends it.
func TestSnapshotBounded(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	for i := range 8 {
		if err := r.Commit(t.Context(), nil, []native.Change{{
			Key: native.Key(fmt.Sprint(i)), Value: make([]byte, native.MaxValueBytes), Version: native.NewVersion(),
		}}); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := r.beginSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.page(t.Context(), tx, []byte{})
	r.endSnapshot(t.Context(), tx)
	if err != nil || len(page) != 4 {
		t.Fatalf("the first page has %d records, %v, want 4 of 1 MiB", len(page), err)
	}
	execute(t, url, "ALTER TABLE piedmont_records DROP CONSTRAINT piedmont_records_version_check")
	execute(t, url, "UPDATE piedmont_records SET version = '' WHERE key = '3'")
	err = r.Snapshot(t.Context(), func(native.Record) error { return nil })
	if !errors.Is(err, ErrDamaged) {
		t.Fatalf("Snapshot of a damaged row: %v", err)
	}
}
