package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"piedmont/authz"
	"piedmont/mounts"
	"piedmont/native"
	"piedmont/native/historytest"
	"piedmont/router"
	"piedmont/vend"
)

// dice decide at each step whether it fails.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
	off    bool
}

// roll is a number below n, or n-1, which is to be no fault, where there are no faults any
// more.
func (d *dice) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.off {
		return n - 1
	}
	return d.random.IntN(n)
}

func (d *dice) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
}

// rest is for up to three milliseconds, now and then.
func (d *dice) rest() {
	if n := d.roll(30); n < 6 {
		time.Sleep(time.Duration(n) * 500 * time.Microsecond)
	}
}

// unreliableRegistry fails as a database behind a bad network does.
type unreliableRegistry struct {
	native.Registry
	dice *dice
	late sync.WaitGroup // commits that land behind their answers
}

func (r *unreliableRegistry) Commit(ctx context.Context, conditions []native.Condition, changes []native.Change) error {
	r.dice.rest()
	switch r.dice.roll(25) {
	case 0:
		return native.ErrNotApplied
	case 1:
		return native.ErrUnknown // it isn't
	case 2:
		err := r.Registry.Commit(ctx, conditions, changes)
		return errors.Join(native.ErrUnknown, errors.New("its outcome was "+fmt.Sprint(err)))
	case 3:
		r.late.Go(func() {
			time.Sleep(time.Duration(r.dice.roll(20)) * time.Millisecond)
			_ = r.Registry.Commit(context.WithoutCancel(ctx), conditions, changes) // nobody hears of it
		})
		return native.ErrUnknown
	}
	err := r.Registry.Commit(ctx, conditions, changes)
	r.dice.rest()
	return err
}

func (r *unreliableRegistry) Get(ctx context.Context, key native.Key) (native.Record, bool, error) {
	if r.dice.roll(50) == 0 {
		return native.Record{}, false, errors.New("no connection")
	}
	r.dice.rest()
	return r.Registry.Get(ctx, key)
}

func (r *unreliableRegistry) Scan(ctx context.Context, prefix, after native.Key, limit int) ([]native.Record, error) {
	if r.dice.roll(50) == 0 {
		return nil, errors.New("no connection")
	}
	return r.Registry.Scan(ctx, prefix, after, limit)
}

// writing fails as a store behind a bad network does.
func (d *dice) writing(_ vend.Location, write func() error) error {
	d.rest()
	switch d.roll(40) {
	case 0:
		return vend.Outcome(vend.ErrNotWritten, errors.New("disk full"))
	case 1:
		return vend.Outcome(vend.ErrUnknown, errors.New("no answer"))
	case 2:
		return vend.Outcome(vend.ErrUnknown, write())
	}
	return write()
}

// replica is a router over a catalog of its own, as another process would have.
func (w *world) replica(registry native.Registry) http.Handler {
	w.t.Helper()
	c := w.open("main")
	tree, err := mounts.NewTree("piedmont", []mounts.Point{{Kind: "native", Mount: c}})
	require.NoError(w.t, err)
	tokens, err := authz.NewTokens(w.t.Context(), native.SigningKeys{Registry: registry}, time.Now)
	require.NoError(w.t, err)
	sum, err := authz.ParseHash(authz.HashSecret("secret"))
	require.NoError(w.t, err)
	authenticator, err := authz.NewAuthenticator([]authz.Key{{ID: "ops", SHA256: sum, Principal: "ops"}}, []string{"ops"}, tokens, time.Now)
	require.NoError(w.t, err)
	authorizer, err := authz.NewAuthorizer(nil)
	require.NoError(w.t, err)
	metrics, err := router.NewMetrics(prometheus.NewRegistry())
	require.NoError(w.t, err)
	rt, err := router.New(router.Options{
		Trees: mounts.NewHolder(tree, nil), Authenticator: authenticator, Authorizer: authorizer,
		PageKey: make([]byte, 32), Metrics: metrics, Ready: func(context.Context) error { return nil },
	})
	require.NoError(w.t, err)
	return rt
}

// servers are replicas, and what they are doing.
type servers struct {
	replicas []http.Handler
	busy     sync.WaitGroup
}

// send is a historytest.Send. Who leaves hears nothing, and the handler goes on.
func (s *servers) send(ctx context.Context, replica int, method, path, key string, body []byte) (int, []byte, error) {
	r := httptest.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer ops:secret")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answered := make(chan *httptest.ResponseRecorder, 1)
	s.busy.Go(func() {
		a := httptest.NewRecorder()
		s.replicas[replica].ServeHTTP(a, r)
		answered <- a
	})
	select {
	case a := <-answered:
		return a.Code, a.Body.Bytes(), nil
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
}

// operationsEach is the length of a history.
const operationsEach = 300

// TestHistories: processes over one registry and one store that fail at every step, and
// clients that leave and send again.
func TestHistories(t *testing.T) { historytest.Each(t, history) }

func history(t *testing.T, seed uint64) {
	w := newWorld(t)
	d := &dice{random: rand.New(rand.NewPCG(seed, 1<<32))}
	unreliable := &unreliableRegistry{Registry: w.registry.Registry, dice: d}
	var s servers
	for range 3 {
		s.replicas = append(s.replicas, w.replica(w.registry.Registry))
	}
	_, err := w.main.CreateNamespace(t.Context(), mounts.Caller{}, mounts.Namespace{"history"}, nil)
	require.NoError(t, err)
	w.registry.Registry = unreliable
	w.files.set(d.writing)
	h := historytest.New(historytest.Options{
		Seed: seed, Namespace: "history", Replicas: len(s.replicas), Clients: 6, Impatience: 6, Send: s.send,
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for h.Len() < operationsEach && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		stop()
	}()
	h.Run(ctx)
	d.stop()
	s.busy.Wait()
	unreliable.late.Wait()
	h.ReadAll()
	h.Check(t)
	require.Greater(t, h.Done(), operationsEach/10, "too few changes to mean much")
}
