//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"piedmont/native"
)

// ledger is what clients were told about their commits.
type ledger struct {
	mu       sync.Mutex
	outcomes map[string]error // nil, ErrNotApplied or ErrUnknown, by the commit's name
}

func (l *ledger) note(t *testing.T, name string, err error) {
	outcome := err
	for _, kind := range []error{native.ErrNotApplied, native.ErrUnknown, native.ErrConflict} {
		if errors.Is(err, kind) {
			outcome = kind
		}
	}
	if outcome != nil && errors.Unwrap(outcome) != nil {
		t.Errorf("commit %s: %v", name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[name] = outcome
}

// recordKeys are of the records that a commit writes besides its counter.
func recordKeys(name string) []native.Key {
	return []native.Key{native.Key("record/" + name + "/a"), native.Key("record/" + name + "/b"), native.Key("record/" + name + "/c")}
}

// commitUntil increments one of a few counters, again and again, each time with three
// records under a new name.
func (l *ledger) commitUntil(ctx context.Context, t *testing.T, r *Registry, client int) {
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("%d-%d", client, n)
		counter := native.Key(fmt.Sprint("counter/", rand.IntN(3)))
		rec, ok, err := r.Get(context.Background(), counter)
		if err != nil {
			continue // the database is away
		}
		count, condition := 0, native.Condition{Kind: native.Absent, Key: counter}
		if ok {
			count, _ = strconv.Atoi(string(rec.Value))
			condition = native.Condition{Kind: native.AtVersion, Key: counter, Version: rec.Version}
		}
		changes := []native.Change{put(counter, strconv.Itoa(count+1))}
		for _, key := range recordKeys(name) {
			changes = append(changes, put(key, string(counter)))
		}
		l.note(t, name, r.Commit(context.Background(), []native.Condition{condition}, changes))
	}
}

// check holds the database to what clients were told.
func (l *ledger) check(t *testing.T, r *Registry) {
	t.Helper()
	told := map[error]int{}
	applied := 0
	for name, outcome := range l.outcomes {
		told[outcome]++
		var there int
		for _, key := range recordKeys(name) {
			if _, ok, err := r.Get(t.Context(), key); err != nil {
				t.Fatal(err)
			} else if ok {
				there++
			}
		}
		switch {
		case there != 0 && there != 3:
			t.Errorf("commit %s is there by %d of 3", name, there)
		case outcome == nil && there == 0:
			t.Errorf("commit %s was acknowledged and isn't there", name)
		case (outcome == native.ErrNotApplied || outcome == native.ErrConflict) && there != 0: //nolint:errorlint // note unwrapped it
			t.Errorf("commit %s is there, though its outcome was: %v", name, outcome)
		}
		applied += there / 3
	}
	counted := 0
	for i := range 3 {
		n, _ := strconv.Atoi(valueOf(t, r, native.Key(fmt.Sprint("counter/", i))))
		counted += n
	}
	if counted != applied {
		t.Errorf("the counters count %d commits, %d are there", counted, applied)
	}
	t.Logf("acknowledged %d, conflict %d, not applied %d, unknown %d", told[nil], told[native.ErrConflict], told[native.ErrNotApplied], told[native.ErrUnknown])
	if told[nil] < 50 {
		t.Error("too few commits: nothing was tested")
	}
}

// trouble does harm of a random kind for a while.
func (n *network) trouble() {
	stream := []string{"upstream", "downstream"}[rand.IntN(2)]
	var heal func()
	switch rand.IntN(6) {
	case 0:
		heal = n.cut()
	case 1:
		heal = n.ails("reset_peer", stream, map[string]int{"timeout": rand.IntN(20)})
	case 2:
		heal = n.ails("timeout", stream, map[string]int{"timeout": 1 + rand.IntN(100)})
	case 3: // amid a batch or its answer
		heal = n.ails("limit_data", stream, map[string]int{"bytes": 500 + rand.IntN(6000)})
	case 4:
		heal = n.ails("latency", stream, map[string]int{"latency": 50, "jitter": 50})
	case 5:
		heal = n.ails("slicer", stream, map[string]int{"average_size": 60, "size_variation": 50, "delay": 2000})
	}
	time.Sleep(time.Duration(50+rand.IntN(150)) * time.Millisecond)
	heal()
	time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
}

// TestChaos lets clients of three replicas commit over networks in trouble.
func TestChaos(t *testing.T) {
	url := newSchema(t)
	near := openTest(t, url)
	l := &ledger{outcomes: map[string]error{}}
	ctx, stop := context.WithTimeout(t.Context(), 12*time.Second)
	defer stop()
	var clients, troubles sync.WaitGroup
	for i := range 3 {
		n, through := newNetwork(t, url)
		r, err := Open(t.Context(), through, Options{ConnectTimeout: time.Second, StatementTimeout: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		r.fenceTime = 3 * time.Second
		for c := range 3 {
			clients.Go(func() { l.commitUntil(ctx, t, r, 3*i+c) })
		}
		troubles.Go(func() {
			for ctx.Err() == nil {
				n.trouble()
			}
		})
	}
	troubles.Wait()
	clients.Wait()
	l.check(t, near)
}

// TestReplicas lets clients of three replicas increment one counter. None is lost, and
// no conflict shows what a later read doesn't.
func TestReplicas(t *testing.T) {
	_, list := replicas(t, 3)
	const clients, each = 9, 20
	var wg sync.WaitGroup
	values := make([][]int, clients)
	for i := range clients {
		wg.Go(func() {
			for range each {
				n, err := increment(t.Context(), list[(i+rand.IntN(3))%3], "n")
				if err != nil {
					t.Error(err)
					return
				}
				values[i] = append(values[i], n)
			}
		})
	}
	wg.Wait()
	all := slices.Concat(values...)
	slices.Sort(all)
	for i, n := range all {
		if n != i+1 {
			t.Fatalf("increment %d made it %d", i+1, n)
		}
	}
	for _, list := range values {
		if !slices.IsSorted(list) {
			t.Fatalf("a client saw the counter go back: %v", list)
		}
	}
}

func increment(ctx context.Context, r *Registry, key native.Key) (int, error) {
	for {
		rec, ok, err := r.Get(ctx, key)
		if err != nil {
			return 0, err
		}
		n, condition := 0, native.Condition{Kind: native.Absent, Key: key}
		if ok {
			n, _ = strconv.Atoi(string(rec.Value))
			condition = native.Condition{Kind: native.AtVersion, Key: key, Version: rec.Version}
		}
		err = r.Commit(ctx, []native.Condition{condition}, []native.Change{put(key, strconv.Itoa(n+1))})
		if err == nil {
			return n + 1, nil
		}
		if !errors.Is(err, native.ErrConflict) {
			return 0, err
		}
	}
}
