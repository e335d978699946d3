//go:build e2e

package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"piedmont/native"
)

// afar is a registry behind a network, and one that isn't, to look at what is there.
func afar(t *testing.T, o Options) (n *network, r, near *Registry) {
	t.Helper()
	url := newSchema(t)
	near = openTest(t, url)
	n, through := newNetwork(t, url)
	r, err := Open(t.Context(), through, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	// So that connections are made and statements prepared.
	if err := r.Commit(t.Context(), nil, []native.Change{put("a", "before")}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Commit(t.Context(), shapes(t, r)["one statement"], []native.Change{put("a", "before")}); err != nil {
			t.Fatal(err)
		}
	}
	return n, r, near
}

func valueOf(t *testing.T, r *Registry, key native.Key) string {
	t.Helper()
	rec, _, err := r.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(rec.Value)
}

// shapes are conditions under which a commit of one record is sent in different ways.
func shapes(t *testing.T, r *Registry) map[string][]native.Condition {
	t.Helper()
	rec, _, err := r.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]native.Condition{"several statements": nil, "one statement": {{Kind: native.AtVersion, Key: "a", Version: rec.Version}}}
}

// TestLostAnswer loses the answer to a commit that was applied. It is found out.
func TestLostAnswer(t *testing.T) {
	for _, shape := range []string{"several statements", "one statement"} {
		t.Run(shape, func(t *testing.T) {
			n, r, near := afar(t, Options{})
			conditions := shapes(t, near)[shape]
			heal := n.ails("timeout", "downstream", map[string]int{"timeout": 100})
			done := start(func() error { return r.Commit(t.Context(), conditions, []native.Change{put("a", "after")}) })
			if err, ok := finished(done); ok {
				t.Fatalf("an answer came: %v", err)
			}
			if v := valueOf(t, near, "a"); v != "after" {
				t.Fatalf("the commit wasn't applied: %q", v)
			}
			// Whoever writes now must not be taken for the commit.
			if err := near.Commit(t.Context(), nil, []native.Change{put("a", "later")}); err != nil {
				t.Fatal(err)
			}
			heal()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if v := valueOf(t, near, "a"); v != "later" {
				t.Fatalf("the commit was applied twice: %q", v)
			}
		})
	}
}

// TestLostQuestion loses a commit on its way. It is found out and the commit sent again,
// but not for a caller who has left.
func TestLostQuestion(t *testing.T) {
	for _, shape := range []string{"several statements", "one statement"} {
		for name, leaves := range map[string]bool{"caller waits": false, "caller left": true} {
			t.Run(shape+", "+name, func(t *testing.T) { loseQuestion(t, shape, leaves) })
		}
	}
}

func loseQuestion(t *testing.T, shape string, leaves bool) {
	n, r, near := afar(t, Options{})
	conditions := shapes(t, near)[shape]
	heal := n.ails("timeout", "upstream", map[string]int{"timeout": 100})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	done := start(func() error { return r.Commit(ctx, conditions, []native.Change{put("a", "after")}) })
	if err, ok := finished(done); ok {
		t.Fatalf("an answer came: %v", err)
	}
	if leaves {
		leave()
	}
	heal()
	err := <-done
	if !leaves && err != nil || leaves && (!errors.Is(err, native.ErrNotApplied) || !errors.Is(err, context.Canceled)) {
		t.Fatal(err)
	}
	if v := valueOf(t, near, "a"); (v == "after") == leaves {
		t.Fatalf("error is %v, the value %q", err, v)
	}
}

// TestUnknown can't find out about a commit, since the database stays away.
func TestUnknown(t *testing.T) {
	n, r, near := afar(t, Options{ConnectTimeout: 200 * time.Millisecond})
	r.fenceTime = time.Second
	defer n.ails("timeout", "downstream", map[string]int{"timeout": 50})()
	err := r.Commit(t.Context(), nil, []native.Change{put("a", "after")})
	if !errors.Is(err, native.ErrUnknown) || errors.Is(err, native.ErrNotApplied) {
		t.Fatalf("error is %v, want ErrUnknown", err)
	}
	if v := valueOf(t, near, "a"); v != "after" {
		t.Fatalf("the value is %q: nothing was tested", v)
	}
}

// TestSlowAnswer gives up waiting for an answer. Behind a lock the server was told to
// stop, so the commit is surely not applied, and tried again.
func TestSlowAnswer(t *testing.T) {
	url := newSchema(t)
	r, err := Open(t.Context(), url, Options{StatementTimeout: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Commit(t.Context(), nil, []native.Change{put("a", "before")}); err != nil {
		t.Fatal(err)
	}
	release := held(t, url, "a")
	err = r.Commit(t.Context(), nil, []native.Change{put("a", "after")})
	if !errors.Is(err, native.ErrNotApplied) {
		t.Fatalf("error is %v, want ErrNotApplied", err)
	}
	release()
	if v := valueOf(t, r, "a"); v != "before" {
		t.Fatalf("the value is %q", v)
	}
	if n := count(t, r, "SELECT count(*) FROM pg_locks WHERE NOT granted"); n != 0 {
		t.Fatalf("%d still wait for a lock", n)
	}
}

// TestCallerLeaves ends a caller's context while the commit is under way. It is waited out.
func TestCallerLeaves(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	if err := r.Commit(t.Context(), nil, []native.Change{put("a", "before")}); err != nil {
		t.Fatal(err)
	}
	release := held(t, url, "a")
	ctx, leave := context.WithCancel(t.Context())
	done := start(func() error { return r.Commit(ctx, nil, []native.Change{put("a", "after")}) })
	if err, ok := finished(done); ok {
		t.Fatal(err)
	}
	leave()
	if err, ok := finished(done); ok {
		t.Fatalf("the context stopped a commit that had begun: %v", err)
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestClosedDuringCommit: Close waits for a commit that is under way.
func TestClosedDuringCommit(t *testing.T) {
	url := newSchema(t)
	r := openTest(t, url)
	if err := r.Commit(t.Context(), nil, []native.Change{put("a", "before")}); err != nil {
		t.Fatal(err)
	}
	release := held(t, url, "a")
	done := start(func() error { return r.Commit(t.Context(), nil, []native.Change{put("a", "after")}) })
	if err, ok := finished(done); ok {
		t.Fatal(err)
	}
	closed := start(r.Close)
	if err, ok := finished(closed); ok {
		t.Fatalf("Close didn't wait: %v", err)
	}
	release()
	if err := errors.Join(<-done, <-closed); err != nil {
		t.Fatal(err)
	}
}

// TestPoolExhausted: a commit that gets no connection is surely not applied.
func TestPoolExhausted(t *testing.T) {
	r, err := Open(t.Context(), newSchema(t), Options{MaxConns: 1, StatementTimeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	conn, err := r.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if err := r.Commit(t.Context(), nil, []native.Change{put("a", "")}); !errors.Is(err, native.ErrNotApplied) {
		t.Fatalf("error is %v, want ErrNotApplied", err)
	}
}

// TestBrokenConnections: reads and commits get over connections that broke while they
// lay unused.
func TestBrokenConnections(t *testing.T) {
	n, r, _ := afar(t, Options{})
	for range 3 {
		n.cut()()
		if v := valueOf(t, r, "a"); v == "" {
			t.Fatal("no value")
		}
		n.cut()()
		if err := r.Commit(t.Context(), nil, []native.Change{put("a", "after")}); err != nil {
			t.Fatal(err)
		}
		n.cut()()
		if recs, err := r.Scan(t.Context(), "", "", 0); len(recs) != 1 || err != nil {
			t.Fatal(len(recs), err)
		}
	}
}

// TestRoundTrips counts them by how long they take on a slow network.
func TestRoundTrips(t *testing.T) {
	n, r, _ := afar(t, Options{MaxConns: 1})
	created := put("created", "")
	conflict := []native.Condition{{Kind: native.Absent, Key: "a"}, {Kind: native.PrefixEmpty, Key: "x"}}
	for range 2 { // the first prepares statements
		_ = r.Commit(t.Context(), conflict, []native.Change{put("b", "")})
		_ = r.Commit(t.Context(), []native.Condition{{Kind: native.Absent, Key: "created"}}, []native.Change{created})
		_ = r.Commit(t.Context(), []native.Condition{{Kind: native.AtVersion, Key: "created", Version: created.Version}}, []native.Change{created})
		_, _ = r.Scan(t.Context(), "", "", 10)
		_, _, _ = r.Get(t.Context(), "a")
	}
	const delay = 300 * time.Millisecond
	defer n.ails("latency", "downstream", map[string]int{"latency": int(delay.Milliseconds())})()
	for _, c := range []struct {
		name  string
		trips int
		f     func() error
	}{
		{"commit", 1, func() error {
			return r.Commit(t.Context(), []native.Condition{{Kind: native.AtVersion, Key: "created", Version: created.Version}}, []native.Change{created})
		}},
		{"conflict", 2, func() error {
			if err := r.Commit(t.Context(), conflict, []native.Change{put("b", "")}); !errors.Is(err, native.ErrConflict) {
				return errors.New("no conflict")
			}
			return nil
		}},
		{"get", 1, func() error { _, _, err := r.Get(t.Context(), "a"); return err }},
		{"scan", 1, func() error { _, err := r.Scan(t.Context(), "", "", 10); return err }},
	} {
		begun := time.Now()
		if err := c.f(); err != nil {
			t.Fatal(c.name, err)
		}
		if took := time.Since(begun); took < time.Duration(c.trips)*delay || took >= time.Duration(c.trips+1)*delay {
			t.Errorf("a %s takes %v, want %d times %v and little more", c.name, took, c.trips, delay)
		}
	}
}
