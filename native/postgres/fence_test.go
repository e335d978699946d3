//go:build e2e

package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"piedmont/native"
)

// lateCommit is a transaction that has put its receipt and isn't over.
func lateCommit(t *testing.T, url string, id receipt) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), receiptSQL, id.minute, id.id[:])
	}
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// TestFence asks about a commit that is still running: the answer waits for its end.
func TestFence(t *testing.T) {
	for name, applies := range map[string]bool{"applied": true, "not applied": false} {
		t.Run(name, func(t *testing.T) {
			url := newSchema(t)
			r := openTest(t, url)
			id := r.newReceipt()
			tx := lateCommit(t, url, id)
			var never bool
			asked := start(func() (err error) {
				never, err = r.fence(t.Context(), id)
				return err
			})
			if err, ok := finished(asked); ok {
				t.Fatalf("the answer came, %v, before the commit was over", err)
			}
			end := tx.Rollback
			if applies {
				end = tx.Commit
			}
			if err := errors.Join(end(t.Context()), <-asked); err != nil {
				t.Fatal(err)
			}
			if never == applies {
				t.Fatalf("the commit was applied: %v, the fence says that it never will be: %v", applies, never)
			}
			// Who doesn't get the answer asks again, and gets the same.
			if again, err := r.fence(t.Context(), id); again != never || err != nil {
				t.Fatalf("asked again: %v, %v", again, err)
			}
		})
	}
}

// TestFenceHolds lets a commit come after it was asked about.
func TestFenceHolds(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	id := r.newReceipt()
	if never, err := r.fence(t.Context(), id); !never || err != nil {
		t.Fatal(never, err)
	}
	conn, err := r.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	p := newPlan(nil, []native.Change{put("a", "")}, false)
	steps, sure := r.statements(p, id)
	if _, at, err := send(t.Context(), conn, steps, sure); at != 1 || code(err) != codeUniqueViolation {
		t.Fatalf("a late commit fails at statement %d with %v, want at its receipt", at, err)
	}
}

// TestFenceWaitsBounded asks about a commit that doesn't end.
func TestFenceWaitsBounded(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	r.fenceTime = 600 * time.Millisecond
	id := r.newReceipt()
	tx := lateCommit(t, url, id)
	defer func() { _ = tx.Rollback(context.Background()) }()
	begun := time.Now()
	result, err := r.findOut(t.Context(), id, context.DeadlineExceeded)
	if result != failed || !errors.Is(err, native.ErrUnknown) || time.Since(begun) > 5*time.Second {
		t.Fatalf("%v, %v after %v, want ErrUnknown", result, err, time.Since(begun))
	}
}

// TestOldReceipts: neither a commit nor a question is taken so late that the other's row
// may be gone.
func TestOldReceipts(t *testing.T) {
	r := openTest(t, newSchema(t))
	id := r.newReceipt()
	id.minute = id.minute.Add(-6 * time.Minute)
	if result, err := r.findOut(t.Context(), id, context.DeadlineExceeded); result != failed || !errors.Is(err, native.ErrUnknown) {
		t.Fatalf("%v, %v, want ErrUnknown", result, err)
	}
	for range 2 {
		r.clock.ahead.Add(-int64(6 * time.Minute)) // as after a long sleep of this machine
		if err := r.Commit(t.Context(), nil, []native.Change{put("a", "")}); err != nil {
			t.Fatal(err)
		}
		r.clock.ahead.Add(-int64(6 * time.Minute)) // and for a commit of one statement
		if err := r.Commit(t.Context(), shapes(t, r)["one statement"], []native.Change{put("a", "")}); err != nil {
			t.Fatal(err)
		}
		if off := time.Since(r.clock.now()).Abs(); off > time.Minute {
			t.Fatalf("the clock is still off by %v", off)
		}
	}
}

// TestSweep removes old receipts and leaves the others.
func TestSweep(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	execute(t, url, `INSERT INTO piedmont_receipts (minute, id, fenced)
		SELECT now() - interval '16 minutes', decode(lpad(to_hex(i), 32, '0'), 'hex'), false FROM generate_series(1, 12000) AS i;
		INSERT INTO piedmont_receipts (minute, id, fenced)
		SELECT now() - interval '14 minutes', decode(lpad(to_hex(i), 32, '0'), 'hex'), false FROM generate_series(1, 10) AS i`)
	from := r.sweep(t.Context(), time.Time{})
	if n := count(t, r, "SELECT count(*) FROM piedmont_receipts"); n != 10 {
		t.Fatalf("%d receipts are left, want 10", n)
	}
	if ago := time.Since(from); ago < 30*time.Minute || ago > 2*time.Hour {
		t.Fatalf("the next sweep begins %v ago", ago)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := r.sweep(ended, from); got != from {
		t.Fatal("a sweep that failed is taken for done")
	}
}

func count(t *testing.T, r *Registry, sql string) (n int) {
	t.Helper()
	if err := r.pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
