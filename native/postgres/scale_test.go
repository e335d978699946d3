//go:build e2e

package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"piedmont/native"
)

// TestPlans makes the server plan each statement without knowing its arguments, as it
// does for a prepared one, on a table of some size. None may read a table as a whole.
func TestPlans(t *testing.T) {
	url := newSchema(t)
	openTest(t, url)
	execute(t, url, `INSERT INTO piedmont_records (key, version, value)
		SELECT convert_to('k' || i, 'UTF8'), decode(repeat('00', 16), 'hex'), '' FROM generate_series(1, 50000) AS i;
		INSERT INTO piedmont_receipts (minute, id, fenced)
		SELECT now() - interval '1 minute', decode(lpad(to_hex(i), 32, '0'), 'hex'), false FROM generate_series(1, 50000) AS i;
		ANALYZE piedmont_records; ANALYZE piedmont_receipts`)
	conn, err := pgx.Connect(t.Context(), withOption(t, url, "plan_cache_mode", "force_generic_plan"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for i, c := range []struct{ sql, args string }{
		{getSQL, `'\x00'`},
		{scanSQL, `'\x00', '\x00', '\x01', 10`},
		{findSQL, `'{}', '{}', '{}'`},
		{pageSQL, `'\x00', 10, 10`},
		{emptySQL, `'{}', '{}'`},
		{existsSQL, `'\x00'`},
		{atSQL, `'\x00', '\x00'`},
		{putSQL, `'\x00', '\x00', '\x00'`},
		{updateSQL, `'\x00', '\x00', '\x00'`},
		{swapSQL, `'\x00', '\x00', '\x00', '\x00'`},
		{loneSwapSQL, `'\x00', '\x00', '\x00', '\x00', now(), '\x00'`},
		{deleteSQL, `'\x00'`},
		{deleteOneSQL, `'\x00'`},
		{deleteAtSQL, `'\x00', '\x00'`},
		{sweepSQL, `'-infinity', 10`},
		{fenceSQL, `now(), '\x00'`},
	} {
		name := fmt.Sprintf("plan%d", i)
		if _, err := conn.Exec(t.Context(), "PREPARE "+name+" AS "+c.sql); err != nil {
			t.Fatal(c.sql, err)
		}
		rows, err := conn.Query(t.Context(), "EXPLAIN EXECUTE "+name+" ("+c.args+")", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(c.sql, err)
		}
		if plan := strings.Join(lines, "\n"); strings.Contains(plan, "Seq Scan on piedmont_records") || strings.Contains(plan, "Seq Scan on piedmont_receipts") || strings.Contains(plan, "Sort") {
			t.Errorf("%s\n%s", c.sql, plan)
		}
	}
}

// TestScanBytes reads more than one Scan may hold.
func TestScanBytes(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	execute(t, url, `INSERT INTO piedmont_records (key, version, value)
		SELECT convert_to('k' || lpad(i::text, 4, '0'), 'UTF8'), decode(repeat('00', 16), 'hex'), decode(repeat('00', 1 << 20), 'hex')
		FROM generate_series(1, 260) AS i`)
	if _, err := r.Scan(t.Context(), "k", "", 0); !errors.Is(err, errTooMuch) {
		t.Fatalf("error is %v, want that it is too much", err)
	}
	recs, err := r.Scan(t.Context(), "k", "k0010", 200)
	if err != nil || len(recs) != 200 || recs[0].Key != "k0011" {
		t.Fatal(len(recs), err)
	}
}

// TestTooManyBytes commits more than one Commit may hold.
func TestTooManyBytes(t *testing.T) {
	r := openTest(t, newSchema(t))
	value := make([]byte, native.MaxValueBytes)
	var changes []native.Change
	for i := range maxCommitBytes >> 20 {
		changes = append(changes, native.Change{Key: native.Key(fmt.Sprint(i)), Value: value})
	}
	if err := r.Commit(t.Context(), nil, changes); !errors.Is(err, native.ErrNotApplied) {
		t.Fatalf("error is %v, want ErrNotApplied", err)
	}
}

// TestLongKeys: an index entry has at most 2,704 bytes after compression, so the longest key
// fits, whatever it is made of.
func TestLongKeys(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	for n, fits := range map[int]bool{native.MaxKeyBytes: true, 2690: true, 2800: false} {
		key := make([]byte, n)
		if _, err := rand.Read(key); err != nil {
			t.Fatal(err)
		}
		_, err := r.pool.Exec(t.Context(), "INSERT INTO piedmont_records VALUES ($1, $2, '')", key, make([]byte, 16))
		if fits != (err == nil) {
			t.Errorf("a key of %d bytes: %v", n, err)
		}
	}
}
