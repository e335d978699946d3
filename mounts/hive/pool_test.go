package hive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func TestNothingIsOpenedAtTheStart(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(nil)
	_, accepted, _ := f.connections()
	require.Zero(t, accepted)
	for range 10 {
		require.NoError(t, s.Health(t.Context()))
	}
	_, accepted, _ = f.connections()
	require.Equal(t, 1, accepted, "one after the other needs one connection")
}

func TestConnectionsAreBounded(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(func(o *Options) { o.Connections = 3 })
	f.setSpoil(func(_ string, c net.Conn, a []byte) bool {
		time.Sleep(20 * time.Millisecond)
		_, _ = c.Write(a)
		return true
	})
	var calls sync.WaitGroup
	for range 12 {
		calls.Go(func() {
			if err := s.Health(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	_, accepted, most := f.connections()
	require.Equal(t, 3, most)
	require.Equal(t, 3, accepted, "they are used again")

	// who finds all of them taken waits until its time is over
	f.setSpoil(func(string, net.Conn, []byte) bool { return false })
	held, release := context.WithCancel(t.Context())
	for range 3 {
		calls.Go(func() { _ = s.Health(held) })
	}
	require.Eventually(t, func() bool { return len(s.pool.slots) == 3 }, 5*time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	wantError(t, s.Health(ctx), mounts.Timeout, late)
	release()
	calls.Wait()
	require.Empty(t, s.pool.slots)
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(nil)
	s.pool.keep = 50 * time.Millisecond
	require.NoError(t, s.Health(t.Context()))
	require.Eventually(t, func() bool { open, _, _ := f.connections(); return open == 0 }, 5*time.Second, 5*time.Millisecond)
	require.NoError(t, s.Health(t.Context()))
	_, accepted, _ := f.connections()
	require.Equal(t, 2, accepted)
}

// A connection that the metastore closes, or sends something over, while nobody uses it is
// never used again, so that a restart costs nobody a call.
func TestIdleConnectionsAreWatched(t *testing.T) {
	for name, disturb := range map[string]func(net.Conn){
		"closed":    func(c net.Conn) { _ = c.Close() },
		"reset":     func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0); _ = c.Close() },
		"spoken to": func(c net.Conn) { _, _ = c.Write([]byte{1}) },
	} {
		t.Run(name, func(t *testing.T) {
			f := filled(t, 3).start()
			s := f.source(nil)
			require.NoError(t, s.Health(t.Context()))
			f.mu.Lock()
			for c := range f.open {
				disturb(c)
			}
			f.mu.Unlock()
			require.Eventually(t, func() bool {
				s.pool.mu.Lock()
				defer s.pool.mu.Unlock()
				return len(s.pool.idle) == 0
			}, 5*time.Second, time.Millisecond)
			require.NoError(t, s.Health(t.Context()))
			_, accepted, _ := f.connections()
			require.Equal(t, 2, accepted)
		})
	}
}

// A connection that is taken at the very moment when it ends isn't used either.
func TestTakenWhileItEnds(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(nil)
	require.NoError(t, s.Health(t.Context()))
	c := s.pool.pop()
	require.NotNil(t, c)
	f.mu.Lock()
	for conn := range f.open {
		_ = conn.Close()
	}
	f.mu.Unlock()
	require.Eventually(t, func() bool { return len(c.woken) == 1 }, 5*time.Second, time.Millisecond)
	require.False(t, c.wake())
	c.close()
}

func TestClose(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(nil)
	require.NoError(t, s.Health(t.Context()))
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool { open, _, _ := f.connections(); return open == 0 }, 5*time.Second, time.Millisecond)
	require.True(t, mounts.Is(s.Health(t.Context()), mounts.Unavailable))
	_, accepted, _ := f.connections()
	require.Equal(t, 1, accepted)
}

// Whatever mix of good and spoilt answers, given-up calls, short deadlines, restarts and
// idle times there is: no connection is used after a bad answer (the fake says so), there
// are never more than allowed, none leaks, and afterwards all is well.
func TestPoolUnderFaults(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := filled(t, 3).start()
	const connections = 4
	s := f.source(func(o *Options) { o.Connections = connections })
	s.pool.keep = 3 * time.Millisecond
	var spoilt atomic.Int64
	random := rand.New(rand.NewPCG(seed, 1))
	var lock sync.Mutex
	dice := func(n int) int { lock.Lock(); defer lock.Unlock(); return random.IntN(n) }
	f.setSpoil(func(_ string, c net.Conn, a []byte) bool {
		switch dice(12) {
		case 0:
			_ = c.Close()
		case 1:
			_, _ = c.Write(a[:dice(len(a))])
			_ = c.Close()
		case 2:
			a[dice(len(a))]++
			if _, err := c.Write(a); err == nil {
				return true // perhaps it can still be read, perhaps not
			}
		case 3: // silence
		case 4:
			time.Sleep(time.Duration(dice(4)) * time.Millisecond)
			_, _ = c.Write(a)
			return true
		default:
			_, _ = c.Write(a)
			return true
		}
		spoilt.Add(1)
		return false
	})
	var calls sync.WaitGroup
	var good atomic.Int64
	for range 12 {
		calls.Go(func() {
			for range 80 {
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
				if dice(6) == 0 {
					time.AfterFunc(time.Duration(dice(3))*time.Millisecond, cancel)
				}
				_, err := s.Object(ctx, "sales", "orders")
				cancel()
				if err == nil {
					good.Add(1)
				} else if !mounts.Is(err, mounts.Unavailable) && !mounts.Is(err, mounts.Timeout) && !mounts.Is(err, mounts.BadGateway) && !mounts.Is(err, mounts.NoSuchTable) {
					t.Error(err)
				}
				time.Sleep(time.Duration(dice(5)) * time.Millisecond)
			}
		})
	}
	calls.Wait()
	require.NotZero(t, spoilt.Load())
	require.NotZero(t, good.Load())
	f.setSpoil(nil)
	require.Empty(t, s.pool.slots)
	require.Eventually(t, func() bool { open, _, _ := f.connections(); return open == 0 }, 5*time.Second, time.Millisecond, "they leak")
	for range 3 * connections {
		require.NoError(t, s.Health(t.Context()))
	}
}

func TestSeveralMetastores(t *testing.T) {
	a, b := filled(t, 3).start(), filled(t, 3).start()
	now := time.Unix(1, 0)
	s := a.source(func(o *Options) {
		o.URIs = []string{"thrift://127.0.0.1:1", a.uri(), b.uri()}
		o.Now = func() time.Time { return now }
	})
	s.pool.keep = time.Nanosecond // a connection for each call
	ask := func() {
		t.Helper()
		require.NoError(t, s.Health(t.Context()))
		require.Eventually(t, func() bool {
			x, _, _ := a.connections()
			y, _, _ := b.connections()
			return x+y == 0
		}, 5*time.Second, time.Millisecond)
	}
	for range 3 {
		ask()
	}
	require.Equal(t, 3, a.total(), "the dead one is passed over, the first that lives is asked")
	require.Zero(t, b.total())

	// it breaks: the call fails, the ones after it go to the other
	a.setSpoil(func(_ string, c net.Conn, _ []byte) bool { _ = c.Close(); return false })
	require.True(t, mounts.Is(s.Health(t.Context()), mounts.Unavailable))
	ask()
	ask()
	require.Equal(t, 4, a.total())
	require.Equal(t, 2, b.total())

	// after a while one call tries it again, and the others still don't
	now = now.Add(putBehind)
	require.True(t, mounts.Is(s.Health(t.Context()), mounts.Unavailable))
	ask()
	require.Equal(t, 5, a.total())
	require.Equal(t, 3, b.total())

	// and when that went well it has its place again
	a.setSpoil(nil)
	now = now.Add(putBehind)
	ask()
	ask()
	require.Equal(t, 7, a.total())
	require.Equal(t, 3, b.total())
}

// What failed a while ago is tried first by one call alone.
func TestCandidates(t *testing.T) {
	now := time.Unix(1, 0)
	a, b, c := &endpoint{}, &endpoint{}, &endpoint{}
	p := newPool([]*endpoint{a, b, c}, 1, func() time.Time { return now })
	want := func(want ...*endpoint) {
		t.Helper()
		got, err := p.candidates()
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			require.Same(t, want[i], got[i], "%d", i)
		}
	}
	want(a, b, c)
	p.failed(b)
	now = now.Add(time.Second)
	p.failed(a)
	want(c, b, a)
	now = now.Add(putBehind - time.Second)
	want(b, c, a)
	want(c, a, b)
	now = now.Add(time.Second)
	want(a, c, b)
	want(c, b, a)
}

// A metastore that accepts connections but doesn't answer isn't asked by everybody again
// and again, although it is the first.
func TestHungMetastore(t *testing.T) {
	a, b := filled(t, 3).start(), filled(t, 3).start()
	s := a.source(func(o *Options) { o.URIs = []string{a.uri(), b.uri()} })
	require.NoError(t, s.Health(t.Context()))
	a.setSpoil(func(string, net.Conn, []byte) bool { return false })
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
	defer cancel()
	wantError(t, s.Health(ctx), mounts.Timeout, late)
	for range 20 {
		require.NoError(t, s.Health(t.Context()))
	}
	require.Equal(t, 2, a.total())
}

// Endpoints that never finish connecting share the caller's time.
func TestConnectTimeout(t *testing.T) { synctest.Test(t, testConnectTimeout) }

func testConnectTimeout(t *testing.T) {
	var waited []time.Duration
	hung := func(ctx context.Context) (*session, error) {
		deadline, _ := ctx.Deadline()
		waited = append(waited, time.Until(deadline))
		<-ctx.Done()
		return nil, fmt.Errorf("connect: %w", ctx.Err())
	}
	p := newPool([]*endpoint{{dial: hung}, {dial: hung}, {dial: hung}}, 1, time.Now)
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Millisecond)
	defer cancel()
	_, err := p.take(ctx)
	kind, _ := classify(err)
	require.Equal(t, mounts.Timeout, kind)
	require.Len(t, waited, 3)
	for _, w := range waited {
		require.Equal(t, 30*time.Millisecond, w)
	}
	require.Empty(t, p.slots)

	p = newPool([]*endpoint{{dial: func(context.Context) (*session, error) { return nil, errors.New("refused") }}, {dial: hung}}, 1, time.Now)
	given, stop := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, stop)
	_, err = p.take(given)
	kind, _ = classify(err)
	require.Equal(t, mounts.Unavailable, kind)
	require.Empty(t, p.slots)
}
