//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"piedmont/native"
)

// replicas are several registries on one database.
func replicas(t *testing.T, n int) (url string, list []*Registry) {
	t.Helper()
	url = newSchema(t)
	for range n {
		list = append(list, openTest(t, url))
	}
	return url, list
}

func put(key native.Key, value string) native.Change {
	return native.Change{Key: key, Value: []byte(value), Version: native.NewVersion()}
}

// TestOverlap lets replicas create locations in and around each other, without a row in
// common. No two that overlap may ever be there.
func TestOverlap(t *testing.T) {
	_, list := replicas(t, 3)
	const clients = 9
	var created, refusals [clients]int
	for range 25 {
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				location := randomLocation()
				var conditions []native.Condition
				for at := range location {
					if location[at] == '/' && at > 0 {
						conditions = append(conditions, native.Condition{Kind: native.PrefixEmpty, Key: native.Key("l" + location[:at] + "/\x00")})
					}
				}
				conditions = append(conditions, native.Condition{Kind: native.PrefixEmpty, Key: native.Key("l" + location + "/")})
				err := list[i%3].Commit(t.Context(), conditions, []native.Change{put(native.Key(fmt.Sprintf("l%s/\x00%d", location, i)), "")})
				switch {
				case err == nil:
					created[i]++
				case errors.Is(err, native.ErrConflict):
					refusals[i]++
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantNoOverlap(t, list[0])
	}
	t.Logf("created %v, refused %v", created, refusals)
}

func randomLocation() string {
	location := ""
	for range 1 + rand.IntN(3) {
		location += "/" + string(rune('a'+rand.IntN(2)))
	}
	return location
}

// wantNoOverlap looks at all locations, and deletes them.
func wantNoOverlap(t *testing.T, r *Registry) {
	t.Helper()
	recs, err := r.Scan(t.Context(), "l", "", 0)
	if err != nil || len(recs) == 0 {
		t.Fatal(len(recs), err)
	}
	var locations []string
	var changes []native.Change
	for _, rec := range recs {
		location, _, _ := strings.Cut(string(rec.Key), "\x00")
		for _, other := range locations {
			if strings.HasPrefix(location, other) || strings.HasPrefix(other, location) {
				t.Fatalf("%q and %q overlap", location, other)
			}
		}
		locations = append(locations, location)
		changes = append(changes, native.Change{Key: rec.Key, Delete: true})
	}
	if err := r.Commit(t.Context(), nil, changes); err != nil {
		t.Fatal(err)
	}
}

// held keeps a row locked until the test lets it go.
func held(t *testing.T, url string, key native.Key) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), `SELECT 1 FROM piedmont_records WHERE key = $1 FOR UPDATE`, []byte(key))
	}
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		_ = tx.Rollback(context.Background())
		_ = conn.Close(context.Background())
	})
	t.Cleanup(release)
	return release
}

// finished tells whether done comes soon, and what it brought.
func finished(done <-chan error) (err error, ok bool) {
	select {
	case err := <-done:
		return err, true
	case <-time.After(200 * time.Millisecond):
		return nil, false
	}
}

func start(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

// TestGapHolds stops a commit that relies on keys not existing between that check and
// its end. Whoever inserts such a key must wait: if it were acknowledged now, a read of
// what the first commit is about to write would show the two in the wrong order. A
// commit to an existing table isn't held up.
func TestGapHolds(t *testing.T) {
	for name, c := range map[string]struct {
		condition native.Condition
		change    native.Change
	}{
		"prefix empty":      {native.Condition{Kind: native.PrefixEmpty, Key: "p/"}, put("q", "")},
		"absent":            {native.Condition{Kind: native.Absent, Key: "p/x"}, put("q", "")},
		"nothing to delete": {native.Condition{Kind: native.Exists, Key: "q0"}, native.Change{Key: "p/x", Delete: true}},
		"everything":        {native.Condition{Kind: native.PrefixEmpty, Key: "p"}, put("q", "")},
	} {
		t.Run(name, func(t *testing.T) {
			url, list := replicas(t, 2)
			table, row := put("table", "1"), put("z", "1")
			if err := list[0].Commit(t.Context(), nil, []native.Change{table, row, put("q0", "")}); err != nil {
				t.Fatal(err)
			}
			release := held(t, url, "z")
			first := start(func() error {
				return list[0].Commit(t.Context(), []native.Condition{c.condition, {Kind: native.AtVersion, Key: "z", Version: row.Version}},
					[]native.Change{c.change, put("z", "2")})
			})
			if err, ok := finished(first); ok {
				t.Fatalf("the first commit isn't held up: %v", err)
			}
			second := start(func() error { return list[1].Commit(t.Context(), nil, []native.Change{put("p/x", "")}) })
			if err, ok := finished(second); ok {
				t.Fatalf("a key was inserted, %v, while another commit relies on its absence", err)
			}
			swap := []native.Condition{{Kind: native.AtVersion, Key: "table", Version: table.Version}}
			if err := list[1].Commit(t.Context(), swap, []native.Change{put("table", "2")}); err != nil {
				t.Fatal(err)
			}
			release()
			if err := errors.Join(<-first, <-second); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestBlindDeletes lets two commits write two keys in different ways, where neither is
// there before. Either order of the two leaves a state that no mix leaves.
func TestBlindDeletes(t *testing.T) {
	_, list := replicas(t, 2)
	for round := range 60 {
		x, y := native.Key(fmt.Sprintf("x%d", round)), native.Key(fmt.Sprintf("y%d", round))
		first := start(func() error {
			return list[0].Commit(t.Context(), nil, []native.Change{{Key: x, Delete: true}, put(y, "first")})
		})
		second := start(func() error {
			return list[1].Commit(t.Context(), nil, []native.Change{put(x, "second"), put(y, "second")})
		})
		if err := errors.Join(<-first, <-second); err != nil {
			t.Fatal(err)
		}
		_, exists, err := list[0].Get(t.Context(), x)
		rec, _, err2 := list[0].Get(t.Context(), y)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if exists != (string(rec.Value) == "second") {
			t.Fatalf("x exists: %v, y is of the %s", exists, rec.Value)
		}
	}
}

// TestCrossedLocks lets commits take many rows that others take in another order.
func TestCrossedLocks(t *testing.T) {
	_, list := replicas(t, 3)
	keys := make([]native.Key, 20)
	var changes []native.Change
	for i := range keys {
		keys[i] = native.Key(fmt.Sprintf("k%02d", i))
		changes = append(changes, put(keys[i], ""))
	}
	if err := list[0].Commit(t.Context(), nil, changes); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range 9 {
		wg.Go(func() {
			for range 15 {
				var conditions []native.Condition
				var changes []native.Change
				for n, k := range rand.Perm(len(keys)) {
					conditions = append(conditions, native.Condition{Kind: native.Exists, Key: keys[k]})
					if n%2 == 0 {
						changes = append(changes, put(keys[k], ""))
					}
				}
				if err := list[i%3].Commit(t.Context(), conditions, changes); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	// The server takes a second to find a deadlock.
	t.Logf("took %v", time.Since(begun))
}
