//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"piedmont/native"
)

// keepsVersions makes the server write down each version that a record gets, also of those
// that are overwritten.
const keepsVersions = `
CREATE TABLE versions (version bytea);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO versions VALUES (new.version); RETURN NULL; END $$;
CREATE TRIGGER keep AFTER UPDATE ON piedmont_records FOR EACH ROW EXECUTE FUNCTION keep();`

// swaps are what clients were told about theirs, by the version that each was to make.
type swaps struct {
	mu   sync.Mutex
	told map[native.Version]error
}

// swapUntil swaps one of a few records again and again, and now and then doesn't wait for it.
func (s *swaps) swapUntil(ctx context.Context, t *testing.T, near, r *Registry, keys []native.Key) {
	for ctx.Err() == nil {
		key := keys[rand.IntN(len(keys))]
		rec, _, err := near.Get(context.Background(), key)
		if err != nil {
			t.Error(err)
			return
		}
		patience := time.Minute
		if rand.IntN(4) == 0 {
			patience = time.Duration(rand.IntN(8000)) * time.Microsecond
		}
		within, leave := context.WithTimeout(context.Background(), patience)
		change := put(key, "next")
		err = r.Commit(within, []native.Condition{{Kind: native.AtVersion, Key: key, Version: rec.Version}}, []native.Change{change})
		leave()
		if err != nil && !errors.Is(err, native.ErrConflict) && !errors.Is(err, native.ErrNotApplied) && !errors.Is(err, native.ErrUnknown) {
			t.Error(err)
		}
		s.mu.Lock()
		s.told[change.Version] = err
		s.mu.Unlock()
	}
}

// check holds the database to what clients were told: what was acknowledged is there once, what
// wasn't applied never was.
func (s *swaps) check(t *testing.T, r *Registry) {
	t.Helper()
	rows, err := r.pool.Query(t.Context(), `SELECT version FROM versions`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	applied := map[native.Version]int{}
	for rows.Next() {
		var version []byte
		if err := rows.Scan(&version); err != nil {
			t.Fatal(err)
		}
		applied[native.Version(version)]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	acknowledged, unknown := 0, 0
	for version, err := range s.told {
		n := applied[version]
		switch {
		case err == nil:
			acknowledged++
			if n != 1 {
				t.Errorf("an acknowledged swap was applied %d times", n)
			}
		case errors.Is(err, native.ErrUnknown):
			unknown++
			if n > 1 {
				t.Errorf("a swap of unknown outcome was applied %d times", n)
			}
		case n != 0:
			t.Errorf("a swap was applied, of which was said: %v", err)
		}
	}
	t.Logf("of %d swaps %d were acknowledged, %d are unknown", len(s.told), acknowledged, unknown)
	if acknowledged < 50 {
		t.Error("too few swaps: nothing was tested")
	}
}

// TestGroupChaos lets clients of three replicas swap records in groups, over networks in trouble.
func TestGroupChaos(t *testing.T) {
	url := newSchema(t)
	near := openTest(t, url)
	seedSwaps(t, near, 12)
	var keys []native.Key
	for i := range 12 {
		keys = append(keys, native.Key(fmt.Sprintf("s%03d", i)))
	}
	execute(t, url, keepsVersions)
	s := &swaps{told: map[native.Version]error{}}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	var clients, troubles sync.WaitGroup
	for range 3 {
		n, through := newNetwork(t, url)
		r, err := Open(t.Context(), through, Options{MaxConns: 4, ConnectTimeout: time.Second, StatementTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		r.fenceTime = 3 * time.Second
		for range 12 {
			clients.Go(func() { s.swapUntil(ctx, t, near, r, keys) })
		}
		troubles.Go(func() {
			for ctx.Err() == nil {
				n.trouble()
			}
		})
		t.Cleanup(func() {
			_ = r.Close()
			if r.group.size() != 0 || r.group.sending() != 0 {
				t.Errorf("%d swaps wait and %d senders are left", r.group.size(), r.group.sending())
			}
		})
	}
	troubles.Wait()
	clients.Wait()
	s.check(t, near)
}
