package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// An upstream that asks for time is left alone by all, and they hear for how long.
func TestRateLimits(t *testing.T) {
	inTen := time.Now().Add(10 * time.Second)
	for name, c := range map[string]struct {
		status      int
		header      string
		least, most time.Duration // that callers are asked to wait
		held        bool
	}{
		"429 seconds":       {429, "10", 9 * time.Second, 10 * time.Second, true},
		"429 date":          {429, inTen.UTC().Format(http.TimeFormat), 1 * time.Second, 10 * time.Second, true},
		"429 without":       {429, "", 1, time.Second, true},
		"429 at once":       {429, "0", 1, time.Second, true},
		"429 nonsense":      {429, "soon", 1, time.Second, true},
		"429 in the past":   {429, "Fri, 31 Dec 1999 23:59:59 GMT", 1, time.Second, true},
		"429 for ever":      {429, "4000000000", 29 * time.Second, time.Hour, true},
		"429 beyond 32 bit": {429, "999999999999999999999", 1, time.Second, true},
		"503 seconds":       {503, " 10 ", 9 * time.Second, 10 * time.Second, true},
		"503 date":          {503, inTen.UTC().Format(time.RFC850), 1 * time.Second, 10 * time.Second, true},
		"503 without":       {503, "", 0, 0, false},
		"503 at once":       {503, "0", 0, 0, false},
		"500 seconds":       {500, "10", 0, 0, false},
		"200 too":           {200, "10", 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := withTable(t)
			m := u.mount()
			var asked atomic.Int64
			u.intercept(afterConfig(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Retry-After", c.header)
				w.WriteHeader(c.status)
			}))
			_, err := m.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
			checkError(t, err)
			var e *mounts.Error
			require.ErrorAs(t, err, &e)
			require.LessOrEqual(t, e.RetryAfter, c.most)
			require.GreaterOrEqual(t, e.RetryAfter, c.least)
			if !c.held {
				return
			}
			require.EqualValues(t, 1, asked.Load(), "not asked again at once")
			for op, err := range reading(t.Context(), m) {
				require.Equal(t, mounts.Unavailable, checkError(t, err), op)
				require.ErrorAs(t, err, &e)
				require.Positive(t, e.RetryAfter, op)
				require.LessOrEqual(t, e.RetryAfter, min(c.most, 30*time.Second), op)
				require.Contains(t, e.Message(), "takes no more requests right now")
			}
			require.EqualValues(t, 1, asked.Load(), "nobody else asks either")
			require.Equal(t, "closed", m.Stats().Guard.Breaker)
		})
	}
}

// A token server that asks for time counts as the upstream.
func TestTokenRateLimit(t *testing.T) {
	u := withTable(t, func(u *upstream) { u.secret = secret })
	c := u.mount()
	u.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusTooManyRequests)
		return true
	})
	for range 3 {
		_, err := c.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
		require.Equal(t, mounts.Unavailable, checkError(t, err))
		var e *mounts.Error
		require.ErrorAs(t, err, &e)
		require.Greater(t, e.RetryAfter, 3*time.Second)
	}
	require.Equal(t, 1, u.count("POST token"))
}

// A storm of 429 costs the upstream one question a second, and every caller an answer at once.
func TestRateLimitStorm(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	var asked atomic.Int64
	u.intercept(afterConfig(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	began := time.Now()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for time.Since(began) < 1500*time.Millisecond {
				_, err := c.LoadTable(t.Context(), mounttest.Caller, db.Table(fmt.Sprint("t", i)), mounts.LoadOptions{})
				require.Equal(t, mounts.Unavailable, checkError(t, err))
				time.Sleep(time.Millisecond)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, asked.Load(), int64(2*16), "those that were under way at the first, and once more")
	u.intercept(nil)
	require.Eventually(t, func() bool {
		_, err := c.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
		return err == nil
	}, 5*time.Second, 10*time.Millisecond)
}

// A dead upstream is left alone after a few failures, also where not even its configuration
// is known, and is back soon after it is well.
func TestBreaker(t *testing.T) {
	for name, sick := range map[string]func(*http.Request) bool{
		"all":           func(*http.Request) bool { return true },
		"configuration": func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/config") },
		"tables":        func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/tables/") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := withTable(t)
			c := u.mount(func(o *rest.Options) { o.Guard = guard.Options{Cooldown: 200 * time.Millisecond} })
			u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if sick(r) {
					w.WriteHeader(http.StatusBadGateway)
				}
				return sick(r)
			})
			for i := range 5 {
				require.Equal(t, mounts.Unavailable, checkError(t, c.TableExists(t.Context(), mounttest.Caller, db.Table(fmt.Sprint("t", i)))))
			}
			require.Equal(t, "open", c.Stats().Guard.Breaker)
			before := c.Stats().Requests
			for op, err := range reading(t.Context(), c) {
				require.Equal(t, mounts.Unavailable, checkError(t, err), op)
				require.ErrorContains(t, err, "left alone", op)
			}
			require.Equal(t, before, c.Stats().Requests)
			u.intercept(nil)
			require.Eventually(t, func() bool { return c.TableExists(t.Context(), mounttest.Caller, table) == nil }, 5*time.Second, 10*time.Millisecond)
			for op, err := range reading(t.Context(), c) {
				require.NoError(t, err, op)
			}
		})
	}
}

// What an upstream refuses to our credential, or doesn't have, is no reason to leave it alone.
func TestAnswersThatAreNoFailures(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"403":             says(403, `{"error":{"message":"m","type":"ForbiddenException","code":403}}`),
		"no table":        says(404, `{"error":{"message":"m","type":"NoSuchTableException","code":404}}`),
		"no file":         says(404, `{"error":{"message":"m","type":"NotFoundException","code":404}}`),
		"not acceptable":  says(400, `{"error":{"message":"m","type":"BadRequestException","code":400}}`),
		"no such iceberg": says(404, `{"error":{"message":"m","type":"NoSuchIcebergTableException","code":404}}`),
	} {
		t.Run(name, func(t *testing.T) {
			u := withTable(t)
			c := u.mount(func(o *rest.Options) { o.Guard = guard.Options{} })
			u.intercept(afterConfig(answer))
			for i := range 20 {
				_, err := c.LoadTable(t.Context(), mounttest.Caller, db.Table(fmt.Sprint("t", i)), mounts.LoadOptions{})
				checkError(t, err)
			}
			s := c.Stats().Guard
			require.Equal(t, guard.Stats{Calls: 20, Breaker: "closed"}, s, "asked once each")
		})
	}
}

// A hiccup is ridden out; what a second question can't change is asked once.
func TestRetries(t *testing.T) {
	u := withTable(t)
	c := u.mount()
	require.NoError(t, c.Health(t.Context()))
	for name, sick := range map[string]func(w http.ResponseWriter){
		"500":    func(w http.ResponseWriter) { w.WriteHeader(500) },
		"closed": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		u.server.Config.ErrorLog = quiet
		var asked atomic.Int64
		u.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
			if asked.Add(1)%3 == 0 {
				return false
			}
			sick(w)
			return true
		})
		load(t, c, table)
		require.GreaterOrEqual(t, asked.Load(), int64(3), name)
	}
	for status, times := range map[int]int64{401: 1, 403: 1, 404: 1, 302: 1, 504: 1} {
		var asked atomic.Int64
		u.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
			asked.Add(1)
			w.WriteHeader(status)
			return true
		})
		_, err := c.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
		checkError(t, err)
		require.Equal(t, times, asked.Load(), "%d", status)
		u.intercept(nil)
		require.NoError(t, c.Health(t.Context()))
	}
}

// No more questions are under way than the bound allows, and a queue that is full refuses.
func TestBoundAndQueue(t *testing.T) {
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.Guard = guard.Options{Concurrency: 2, Queue: 3} })
	require.NoError(t, c.Health(t.Context()))
	var under, most atomic.Int64
	release := make(chan struct{})
	let := sync.OnceFunc(func() { close(release) })
	defer time.AfterFunc(20*time.Second, let).Stop() // so that it fails where there is no bound
	u.intercept(func(http.ResponseWriter, *http.Request) bool {
		n := under.Add(1)
		for {
			m := most.Load()
			if m >= n || most.CompareAndSwap(m, n) {
				break
			}
		}
		<-release
		under.Add(-1)
		return false
	})
	kinds := make(chan mounts.Kind, 20)
	for i := range 20 {
		go func() {
			id := db.Table(fmt.Sprint("t", i))
			kinds <- checkError(t, c.TableExists(t.Context(), mounttest.Caller, id))
		}()
	}
	for range 15 {
		require.Equal(t, mounts.Unavailable, <-kinds)
	}
	s := c.Stats().Guard
	require.Equal(t, 2, s.UnderWay)
	require.Equal(t, 3, s.Waiting)
	require.Eventually(t, func() bool { return under.Load() == 2 }, 5*time.Second, time.Millisecond)
	let()
	for range 5 {
		require.Contains(t, []mounts.Kind{mounts.NoSuchTable, mounts.Unavailable}, <-kinds)
	}
	require.EqualValues(t, 2, most.Load())
}
