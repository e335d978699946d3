//go:build e2e

package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"piedmont/native"
)

// seedSwaps writes n records and returns a swap of each.
func seedSwaps(t *testing.T, r *Registry, n int) (conditions [][]native.Condition, changes [][]native.Change) {
	t.Helper()
	var first []native.Change
	for i := range n {
		key := native.Key(fmt.Sprintf("s%03d", i))
		first = append(first, put(key, "before"))
		conditions = append(conditions, []native.Condition{{Kind: native.AtVersion, Key: key, Version: first[i].Version}})
		changes = append(changes, []native.Change{put(key, "after")})
	}
	if err := r.Commit(t.Context(), nil, first); err != nil {
		t.Fatal(err)
	}
	return conditions, changes
}

// sendTogether is sendGroup, for swaps that surely share a group.
func sendTogether(t *testing.T, r *Registry, conditions [][]native.Condition, changes [][]native.Change) []sent {
	t.Helper()
	var taken []*lone
	for i := range changes {
		taken = append(taken, newLone(newPlan(conditions[i], changes[i], false)))
	}
	conn, err := r.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.sendGroup(conn, taken)
	outcomes := make([]sent, len(taken))
	for i, s := range taken {
		outcomes[i] = <-s.done
	}
	return outcomes
}

// TestGroup: of swaps that share a transaction, each stands for itself.
func TestGroup(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	conditions, changes := seedSwaps(t, r, 6)
	conditions[1][0].Version = native.NewVersion() // was never there
	release := held(t, url, "s003")
	for i, o := range sendTogether(t, r, conditions, changes) {
		want, value := applied, "after"
		if i == 1 || i == 3 {
			want, value = passed, "before"
		}
		if o.result != want || o.err != nil || o.unclear {
			t.Errorf("swap %d: %+v", i, o)
		}
		if v := valueOf(t, r, changes[i][0].Key); v != value {
			t.Errorf("record %d is %q", i, v)
		}
	}
	if n := count(t, r, `SELECT count(*) FROM piedmont_receipts WHERE NOT fenced`); n != 1+4 {
		t.Errorf("%d receipts for 4 swaps and what was before them", n)
	}
	release()
	if err := r.Commit(t.Context(), conditions[3], changes[3]); err != nil {
		t.Error(err)
	}
	if err := r.Commit(t.Context(), conditions[1], changes[1]); !errors.Is(err, native.ErrConflict) {
		t.Errorf("a swap of a version that never was: %v", err)
	}
}

// TestGroupUndone: where the database refuses one statement of a group, the others are
// tried by themselves.
func TestGroupUndone(t *testing.T) {
	r := openTest(t, newSchema(t))
	conditions, changes := seedSwaps(t, r, 4)
	if _, err := r.pool.Exec(t.Context(), `ALTER TABLE piedmont_records ADD CHECK (value <> 'poison')`); err != nil {
		t.Fatal(err)
	}
	changes[2][0].Value = []byte("poison")
	for i, o := range sendTogether(t, r, conditions, changes) {
		if o.result != undone || o.unclear {
			t.Errorf("swap %d: %+v", i, o)
		}
	}
	for i := range changes {
		err := r.Commit(t.Context(), conditions[i], changes[i])
		if bad := errors.Is(err, native.ErrNotApplied); bad != (i == 2) || err != nil && !bad {
			t.Errorf("swap %d: %v", i, err)
		}
	}
}

// TestGroupAcross sends swaps at the same time, of which one can't be applied and one finds
// its record locked: nobody waits for that one, and all end as they would alone.
func TestGroupAcross(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	conditions, changes := seedSwaps(t, r, 40)
	conditions[7][0].Version = native.NewVersion()
	release := held(t, url, "s009")
	var waits []<-chan error
	for i := range changes {
		waits = append(waits, start(func() error { return r.Commit(t.Context(), conditions[i], changes[i]) }))
	}
	for i, done := range waits {
		if i == 9 {
			continue
		}
		if err := <-done; (i == 7) != errors.Is(err, native.ErrConflict) || i != 7 && err != nil {
			t.Errorf("swap %d: %v", i, err)
		}
	}
	if err, ok := finished(waits[9]); ok {
		t.Errorf("the swap of a locked record ended: %v", err)
	}
	release()
	if err := <-waits[9]; err != nil {
		t.Error(err)
	}
}

// TestGroupLost loses the answer to a whole group: each of it is found out.
func TestGroupLost(t *testing.T) {
	n, r, near := afar(t, Options{MaxConns: 1})
	conditions, changes := seedSwaps(t, near, 8)
	conditions[5][0].Version = native.NewVersion()
	conn, err := r.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var waits []<-chan error
	for i := range changes {
		waits = append(waits, start(func() error { return r.Commit(t.Context(), conditions[i], changes[i]) }))
	}
	for r.group.size() < len(changes) {
		time.Sleep(time.Millisecond)
	}
	heal := n.ails("timeout", "downstream", map[string]int{"timeout": 100})
	conn.Release()
	for i := range changes {
		for deadline := time.Now().Add(20 * time.Second); i != 5 && valueOf(t, near, changes[i][0].Key) != "after"; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("swap %d isn't applied", i)
			}
		}
	}
	heal()
	for i, done := range waits {
		if err := <-done; (i == 5) != errors.Is(err, native.ErrConflict) || i != 5 && err != nil {
			t.Errorf("swap %d: %v", i, err)
		}
	}
}

// size is how many swaps wait.
func (g *group) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// TestGroupWithdrawn: who waits for a connection may leave.
func TestGroupWithdrawn(t *testing.T) {
	url := newSchema(t)
	r, err := Open(t.Context(), url, Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	conditions, changes := seedSwaps(t, r, 2)
	conn, err := r.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leaves := start(func() error { return r.Commit(ctx, conditions[0], changes[0]) })
	stays := start(func() error { return r.Commit(t.Context(), conditions[1], changes[1]) })
	if err, ok := finished(leaves); ok {
		t.Fatalf("it had no connection: %v", err)
	}
	leave()
	if err := <-leaves; !errors.Is(err, native.ErrNotApplied) || !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	conn.Release()
	if err := <-stays; err != nil {
		t.Fatal(err)
	}
	if v := valueOf(t, r, "s000"); v != "before" {
		t.Fatalf("who left wrote %q", v)
	}
}

// TestGroupWaitsItsTurn: who waits for a connection waits for as long as a commit by itself
// would, no longer where many wait, and no shorter where others gave up.
func TestGroupWaitsItsTurn(t *testing.T) {
	const timeout, n = 3 * time.Second, 200
	r, err := Open(t.Context(), newSchema(t), Options{MaxConns: 1, StatementTimeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	conditions, changes := seedSwaps(t, r, n)
	conn, err := r.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	commit := func(i int) <-chan error {
		return start(func() error { return r.Commit(t.Context(), conditions[i], changes[i]) })
	}
	var early []<-chan error
	begun := time.Now()
	for i := range n - 1 {
		early = append(early, commit(i))
	}
	time.Sleep(timeout / 2)
	late := commit(n - 1)
	for i, done := range early {
		if err := <-done; !errors.Is(err, native.ErrNotApplied) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("swap %d: %v", i, err)
		}
	}
	if took := time.Since(begun); took < timeout-100*time.Millisecond || took > 3*timeout {
		t.Errorf("they waited %v, the timeout is %v", took, timeout)
	}
	conn.Release()
	if err := <-late; err != nil {
		t.Errorf("who came last wasn't waited for: %v", err)
	}
}

// TestGroupSeeksConnections: while one is waited for another is, too, up to the bound of the
// pool: some may be had sooner than others.
func TestGroupSeeksConnections(t *testing.T) {
	const most = 5
	r, err := Open(t.Context(), newSchema(t), Options{MaxConns: most})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	conditions, changes := seedSwaps(t, r, 3*most)
	var held []*pgxpool.Conn
	for range most {
		conn, err := r.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	var waits []<-chan error
	for i := range changes {
		waits = append(waits, start(func() error { return r.Commit(t.Context(), conditions[i], changes[i]) }))
	}
	for deadline := time.Now().Add(20 * time.Second); r.group.sending() < most; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d senders seek connections", r.group.sending())
		}
	}
	time.Sleep(10 * groupPatience)
	if n := r.group.sending(); n != most {
		t.Errorf("%d senders for %d connections", n, most)
	}
	for _, conn := range held {
		conn.Release()
	}
	for _, done := range waits {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for deadline := time.Now().Add(20 * time.Second); r.group.sending() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d senders are left", r.group.sending())
		}
	}
	if r.group.senders != 0 {
		t.Errorf("%d senders count as quick", r.group.senders)
	}
}

// sending is how many senders there are.
func (g *group) sending() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all
}

// TestGroupStalls: swaps don't wait for groups whose connections stall.
func TestGroupStalls(t *testing.T) {
	const n = maxSenders + 2
	network, r, _ := afar(t, Options{MinConns: n})
	conditions, changes := seedSwaps(t, r, n)
	for r.pool.Stat().IdleConns() < n {
		time.Sleep(time.Millisecond)
	}
	heal := network.ails("latency", "downstream", map[string]int{"latency": 3000})
	defer heal()
	var waits []<-chan error
	for i := range n {
		waits = append(waits, start(func() error { return r.Commit(t.Context(), conditions[i], changes[i]) }))
		for r.pool.Stat().AcquiredConns() <= int32(i) {
			select {
			case err := <-waits[0]:
				t.Fatalf("swap %d waited until the first had its answer, %v", i, err)
			case <-time.After(time.Millisecond):
			}
		}
	}
	for _, done := range waits {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
