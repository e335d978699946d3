//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piedmont/native/historytest"
)

// site is what a history happens to: replicas that share a catalog, and what may harm
// them.
type site struct {
	t       *testing.T
	key     string
	client  *http.Client
	configs []string // of each replica; empty for none
	mu      sync.Mutex
	nodes   []*process
}

func newSite(t *testing.T) *site {
	return &site{t: t, client: &http.Client{Transport: overheard{&http.Transport{MaxIdleConnsPerHost: 16}}}}
}

func (s *site) node(i int) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[i]
}

// restart starts another process in the place of one that was killed. Where the database
// doesn't answer at once that takes more than one try.
func (s *site) restart(i int) {
	var fresh *process
	var err error
	for range 10 {
		if fresh, err = tryStart(s.t, s.configs[i], s.node(i).data); err == nil {
			break
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[i] = fresh
}

// send is a historytest.Send. A failure to connect proves nothing by itself: the HTTP client
// sends again by itself what failed on a connection it had before.
func (s *site) send(ctx context.Context, replica int, method, path, key string, body []byte) (status int, answer []byte, err error) {
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	r, err := http.NewRequestWithContext(ctx, method, s.node(replica).URI+path, in)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", historytest.ErrNotSent, err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	a, err := s.client.Do(r)
	if err != nil && !connected.Load() {
		err = fmt.Errorf("%w: %w", historytest.ErrNotSent, err)
	}
	if err != nil {
		return 0, nil, err
	}
	defer a.Body.Close()
	answer, err = io.ReadAll(a.Body)
	return a.StatusCode, answer, err
}

// strike does harm to what a history happens to, and says what; heal ends it.
type strike func(random *rand.Rand, h *historytest.History) (what string, heal func())

// pause is how long clients rest, at most, unless a strike says otherwise.
const pause = 8 * time.Millisecond

// strikes of a history, one after another.
const strikesEach = 5

// harm strikes again and again, with rests between. It rests until something happened, so
// that a slow machine makes a history of the same length.
func harm(random *rand.Rand, h *historytest.History, by strike) {
	for range strikesEach {
		until(h, 20+random.IntN(40), 5*time.Second)
		begin := time.Now()
		what, heal := by(random, h)
		time.Sleep(time.Duration(20+random.IntN(600)) * time.Millisecond)
		heal()
		h.Note(begin, what)
	}
	until(h, 20, 5*time.Second)
}

// until waits for that many more answers, or that long.
func until(h *historytest.History, more int, patience time.Duration) {
	deadline := time.Now().Add(patience)
	for enough := h.Len() + more; h.Len() < enough && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// history lets clients ask a site for changes while it is harmed. quiet comes when all
// was answered and before everything is read; then the answers are checked.
func (s *site) history(t *testing.T, seed uint64, by strike, quiet func()) {
	t.Helper()
	namespace := fmt.Sprint("s", seed)
	s.node(0).must("POST", "/v1/namespaces", s.key, map[string]any{"namespace": []string{namespace}})
	h := historytest.New(historytest.Options{
		Seed: seed, Namespace: namespace, Replicas: len(s.nodes), Clients: 6, Pause: pause, Impatience: 4, Send: s.send,
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.Run(ctx)
	}()
	defer func() {
		stop()
		<-ended
	}()
	harm(rand.New(rand.NewPCG(seed, 1<<32)), h, by)
	stop()
	<-ended
	quiet()
	h.ReadAll()
	h.Check(t)
	if h.Done() < 10 {
		t.Errorf("only %d changes were acknowledged: too few to mean much", h.Done())
	}
}
