package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"piedmont/native"
)

// openHooked opens a registry whose transactions end with commit.
func openHooked(t *testing.T, path string, commit func(*bbolt.Tx) error) *Registry {
	t.Helper()
	r, err := open(path, Options{}, reservedBytes)
	if err != nil {
		t.Fatal(err)
	}
	r.commit = commit
	go r.write()
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// gate makes transactions wait: each announces itself and goes on when it is let.
type gate struct {
	arrived chan *bbolt.Tx
	proceed chan struct{}
	after   bool // wait with the meta page written, as if the last sync took long
}

func newGate(after bool) *gate {
	return &gate{arrived: make(chan *bbolt.Tx), proceed: make(chan struct{}), after: after}
}

func (g *gate) commit(tx *bbolt.Tx) error {
	var err error
	if g.after {
		err = tx.Commit()
	}
	g.arrived <- tx
	<-g.proceed
	if !g.after {
		err = tx.Commit()
	}
	return err
}

// goCommit commits in the background.
func goCommit(t *testing.T, r *Registry, conditions []native.Condition, changes ...native.Change) <-chan error {
	t.Helper()
	answer := make(chan error, 1)
	go func() { answer <- r.Commit(context.Background(), conditions, changes) }()
	return answer
}

// waitQueued waits until n commits are waiting to begin.
func waitQueued(r *Registry, n int) {
	for {
		r.queue.mu.Lock()
		waiting := len(r.queue.waiting)
		r.queue.mu.Unlock()
		if waiting == n {
			return
		}
	}
}

func TestReadsSeeOnlyWhatIsDurable(t *testing.T) {
	g := newGate(true)
	r := openHooked(t, filepath.Join(t.TempDir(), "registry"), g.commit)
	answer := goCommit(t, r, nil, native.Change{Key: "a"})
	<-g.arrived
	if _, ok, err := r.Get(t.Context(), "a"); ok || err != nil {
		t.Errorf("Get sees a commit before it is durable: %v, %v", ok, err)
	}
	if recs, err := r.Scan(t.Context(), "", "", 0); len(recs) != 0 || err != nil {
		t.Errorf("Scan sees a commit before it is durable: %v, %v", recs, err)
	}
	g.proceed <- struct{}{}
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if _, ok, err := r.Get(t.Context(), "a"); !ok || err != nil {
		t.Errorf("Get after the commit: %v, %v", ok, err)
	}
}

func TestWaitingCommitsShareATransaction(t *testing.T) {
	g := newGate(false)
	r := openHooked(t, filepath.Join(t.TempDir(), "registry"), g.commit)
	first := goCommit(t, r, nil, native.Change{Key: "first"})
	<-g.arrived
	const waiting = 20
	var answers []<-chan error
	for i := range waiting {
		answers = append(answers, goCommit(t, r, nil, native.Change{Key: native.Key(fmt.Sprint(i))}))
	}
	waitQueued(r, waiting)
	g.proceed <- struct{}{}
	id := (<-g.arrived).ID()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	g.proceed <- struct{}{}
	for _, answer := range answers {
		if err := <-answer; err != nil {
			t.Fatal(err)
		}
	}
	s, err := r.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer s.release()
	if s.tx.ID() != id || s.records.Stats().KeyN != waiting+1 {
		t.Errorf("transaction %d with %d records, want %d with %d", s.tx.ID(), s.records.Stats().KeyN, id, waiting+1)
	}
}

// TestConflictWaitsForItsGroup refuses a commit because of another of its group: the
// refusal may be told only when the other is durable.
func TestConflictWaitsForItsGroup(t *testing.T) {
	g := newGate(false)
	r := openHooked(t, filepath.Join(t.TempDir(), "registry"), g.commit)
	first := goCommit(t, r, nil, native.Change{Key: "first"})
	<-g.arrived
	winner := goCommit(t, r, nil, native.Change{Key: "a"})
	waitQueued(r, 1)
	loser := goCommit(t, r, []native.Condition{{Kind: native.Absent, Key: "a"}}, native.Change{Key: "b"})
	waitQueued(r, 2)
	g.proceed <- struct{}{}
	<-g.arrived
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-loser:
		t.Fatalf("refused before the winner is durable: %v", err)
	default:
	}
	g.proceed <- struct{}{}
	if err := <-winner; err != nil {
		t.Error(err)
	}
	if err := <-loser; !errors.Is(err, native.ErrConflict) {
		t.Errorf("the loser gets %v, want ErrConflict", err)
	}
}

// TestContextEndsWhileWaiting ends the contexts of a commit under way and of one that
// waits: the second is taken back, the first waited out.
func TestContextEndsWhileWaiting(t *testing.T) {
	g := newGate(false)
	r := openHooked(t, filepath.Join(t.TempDir(), "registry"), g.commit)
	ctx, cancel := context.WithCancel(t.Context())
	var underWay, waiting error
	var wg, withdrawn sync.WaitGroup
	wg.Go(func() { underWay = r.Commit(ctx, nil, []native.Change{{Key: "a"}}) })
	<-g.arrived
	withdrawn.Go(func() { waiting = r.Commit(ctx, nil, []native.Change{{Key: "b"}}) })
	waitQueued(r, 1)
	cancel()
	withdrawn.Wait() // while the first is still under way
	g.proceed <- struct{}{}
	wg.Wait()
	if underWay != nil {
		t.Errorf("the commit under way: %v, want nil", underWay)
	}
	if !errors.Is(waiting, native.ErrNotApplied) || !errors.Is(waiting, context.Canceled) {
		t.Errorf("the waiting commit: %v, want ErrNotApplied and the context's error", waiting)
	}
	for key, want := range map[native.Key]bool{"a": true, "b": false} {
		if _, ok, err := r.Get(t.Context(), key); ok != want || err != nil {
			t.Errorf("%q exists: %v, %v, want %v", key, ok, err, want)
		}
	}
}

func TestCloseFinishesWhatWaits(t *testing.T) {
	g := newGate(false)
	path := filepath.Join(t.TempDir(), "registry")
	r := openHooked(t, path, g.commit)
	first := goCommit(t, r, nil, native.Change{Key: "a"})
	<-g.arrived
	second := goCommit(t, r, nil, native.Change{Key: "b"})
	waitQueued(r, 1)
	closed := make(chan error)
	go func() { closed <- r.Close() }()
	g.proceed <- struct{}{}
	<-g.arrived
	select {
	case err := <-closed:
		t.Fatalf("Close returned before a commit: %v", err)
	default:
	}
	g.proceed <- struct{}{}
	for _, answer := range []<-chan error{first, second, closed} {
		if err := <-answer; err != nil {
			t.Error(err)
		}
	}
	again := openTest(t, path)
	if recs, err := again.Scan(t.Context(), "", "", 0); len(recs) != 2 || err != nil {
		t.Errorf("%d records, %v, want 2", len(recs), err)
	}
}

// TestRefusalsWriteNothing refuses commits and checks others: no transaction is written.
func TestRefusalsWriteNothing(t *testing.T) {
	r := openHooked(t, filepath.Join(t.TempDir(), "registry"), func(*bbolt.Tx) error {
		t.Error("a transaction is written for nothing")
		return errors.New("written")
	})
	if err := r.Commit(t.Context(), []native.Condition{{Kind: native.Absent, Key: "a"}}, nil); err != nil {
		t.Error(err)
	}
	err := r.Commit(t.Context(), []native.Condition{{Kind: native.Exists, Key: "a"}}, []native.Change{{Key: "b"}})
	if !errors.Is(err, native.ErrConflict) {
		t.Errorf("error is %v, want ErrConflict", err)
	}
}

// TestLargeCommitsDontGroup bounds the memory of one transaction.
func TestLargeCommitsDontGroup(t *testing.T) {
	q := newQueue()
	for range 3 {
		q.put(&request{bytes: maxGroupBytes/2 + 1})
	}
	q.put(&request{bytes: 2 * maxGroupBytes})
	for range maxGroup + 1 {
		q.put(&request{bytes: 1})
	}
	q.close() // take doesn't wait any more
	for i, want := range []int{1, 1, 1, 1, maxGroup, 1} {
		if got := len(q.take()); got != want {
			t.Errorf("group %d has %d commits, want %d", i, got, want)
		}
	}
}
