package metastore_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/mounttest"
)

// logged is what was logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// fails lets a method fail by an error, or by what a function does.
func (w *followed) fails(method string, f func(context.Context) error) {
	w.source.Intercept(func(ctx context.Context, c metastoretest.Call) error {
		if c.Method == method {
			return f(ctx)
		}
		return nil
	})
}

func by(err error) func(context.Context) error { return func(context.Context) error { return err } }

// Nobody is asked while nothing can be served from memory, and what happens then is unknown.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFollowed(t, func(w *world) { w.options.FreshFor = 10 * time.Second })
		time.Sleep(time.Hour)
		require.Zero(t, w.source.Count("CurrentNotification"))
		load(t, w, table)
		time.Sleep(time.Hour)
		require.Equal(t, 10, w.source.Count("CurrentNotification"), "at once, and each second for ten seconds")
		w.changes.Notify(named(table))
		load(t, w, table)
		synctest.Wait()
		require.Zero(t, w.source.Count("Notifications"))
		require.EqualValues(t, 2, w.Stats().Events.Cleared)
		time.Sleep(time.Millisecond)
		require.False(t, w.remembers(t, table))
		require.True(t, w.remembers(t, table))
	})
}

// Where loads always ask, or remember for a second at most, notifications are of no use.
func TestNotFollowed(t *testing.T) {
	for _, freshFor := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newFollowed(t, func(w *world) { w.options.FreshFor = freshFor })
			load(t, w, table)
			time.Sleep(time.Minute)
			require.Zero(t, w.source.Count("CurrentNotification"))
			require.Nil(t, w.Stats().Events)
		})
	}
}

// An id that doesn't move proves nothing: FreshFor is how long things are remembered at most.
func TestUnmovingID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := settled(t, func(w *world) { w.options.FreshFor = time.Minute })
		moved := w.write(t, table, 2) // nobody tells
		time.Sleep(time.Minute - time.Millisecond)
		require.True(t, w.remembers(t, table))
		time.Sleep(time.Millisecond)
		got, _ := load(t, w, table)
		require.Equal(t, moved, got.MetadataLocation)
	})
}

// A source that doesn't tell is asked ever less often, and nothing else suffers. When it tells
// again after long, everything is asked for anew.
func TestPollsThatFail(t *testing.T) {
	for name, fails := range map[string]func(context.Context) error{
		"refused":   by(&mounts.Error{Kind: mounts.Unavailable, Detail: "The catalog behind mount 'legacy' (hive) failed", Err: errCause}),
		"no method": by(&mounts.Error{Kind: mounts.BadGateway, Detail: "The catalog behind mount 'legacy' (hive) failed", Err: errCause}),
		"untyped":   by(errCause),
		"panics":    func(context.Context) error { panic("hunter2") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log logged
				w := settled(t, func(w *world) {
					w.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
					w.options.Guard.Failures = 1
				})
				w.fails("CurrentNotification", fails)
				asked := w.source.Count("CurrentNotification")
				began := time.Now()
				moved := w.commit(t, 2)
				var at []time.Duration
				for len(at) < 9 {
					time.Sleep(time.Second)
					synctest.Wait()
					if n := w.source.Count("CurrentNotification"); n > asked {
						asked = n
						at = append(at, time.Since(began).Round(time.Second))
					}
				}
				seconds := func(list ...time.Duration) []time.Duration {
					for i := range list {
						list[i] *= time.Second
					}
					return list
				}
				require.Equal(t, seconds(1, 3, 7, 15, 31, 63, 123, 183, 243), at)
				require.True(t, w.remembers(t, table) && w.remembers(t, other), "until FreshFor is over")
				s := w.Stats()
				require.EqualValues(t, 9, s.Events.Failed)
				require.Equal(t, "closed", s.Guard.Breaker)
				require.Zero(t, s.Guard.Failed)
				require.Equal(t, 1, strings.Count(log.String(), "\n"), "not each failure: %s", log.String())
				require.Contains(t, log.String(), "doesn't tell what changes")
				require.Contains(t, log.String(), "mount 'legacy' (hive)")
				require.Contains(t, log.String(), "hunter2", "the cause")

				w.source.Intercept(nil)
				time.Sleep(time.Minute)
				synctest.Wait()
				got, _ := load(t, w, table)
				require.Equal(t, moved, got.MetadataLocation)
				require.False(t, w.remembers(t, other), "an outage as long may have been that of a database which was put back")
				require.True(t, w.remembers(t, other))
				w.commit(t, 3)
				time.Sleep(time.Second)
				synctest.Wait()
				require.False(t, w.remembers(t, table), "asked every second again")
				require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
				require.Contains(t, log.String(), "tells again what changes")
			})
		})
	}
}

// The log hears of each change of state and once an hour of what goes on, but not of what fails
// and works by turns.
func TestOutagesInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		w := settled(t, func(w *world) {
			w.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
			w.options.FreshFor = 100 * time.Hour
		})
		heard := 0
		hears := func(lines int, during string) {
			t.Helper()
			synctest.Wait()
			heard += lines
			require.Equal(t, heard, strings.Count(log.String(), "\n"), "%s: %s", during, log.String())
		}
		hears(0, "it works from the beginning")
		for range 2 {
			w.fails("CurrentNotification", by(errCause))
			time.Sleep(2*time.Hour + 10*time.Minute)
			hears(3, "two hours of failure")
			w.source.Intercept(nil)
			time.Sleep(2 * time.Hour)
			hears(1, "works again")
		}
		unreadable := by(&mounts.Error{Kind: mounts.BadGateway, Err: errCause})
		for range 100 {
			w.fails("Notifications", unreadable)
			w.commit(t, 2)
			time.Sleep(2 * time.Second)
			w.source.Intercept(nil)
			time.Sleep(10 * time.Second)
		}
		hears(1, "twenty minutes of failures now and then")
		time.Sleep(2 * time.Minute)
		hears(1, "they are over")
	})
}

// Where the latest id is told and notifications aren't, those that may come again are waited for,
// and what can't be read is left out, with all that it may have told of.
func TestNotificationsThatCannotBeRead(t *testing.T) {
	for kind, forgotten := range map[mounts.Kind]bool{mounts.Unavailable: false, mounts.Timeout: false, mounts.BadGateway: true} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := settled(t)
				w.fails("Notifications", by(&mounts.Error{Kind: kind, Err: errCause}))
				w.commit(t, 2)
				time.Sleep(time.Second)
				synctest.Wait()
				require.Equal(t, !forgotten, w.remembers(t, table))
				if !forgotten {
					w.source.Intercept(nil)
					time.Sleep(2 * time.Second)
					synctest.Wait()
					require.False(t, w.remembers(t, table))
				}
				require.Equal(t, !forgotten, w.remembers(t, other))
				require.EqualValues(t, 1, w.Stats().Events.Failed)
			})
		})
	}
}

// A source that hangs is asked one question at a time, which takes no turn from loads.
func TestPollsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := settled(t, func(w *world) { w.options.Guard.Concurrency, w.options.Guard.Queue = 1, -1 })
		var under, most atomic.Int64
		w.fails("CurrentNotification", func(ctx context.Context) error {
			most.Store(max(most.Load(), under.Add(1)))
			<-ctx.Done()
			under.Add(-1)
			return ctx.Err()
		})
		began := w.source.Count("CurrentNotification")
		for range 600 {
			time.Sleep(time.Second)
			_, err := w.LoadTable(t.Context(), mounttest.Caller, db.Table("u"), mounts.LoadOptions{})
			require.NoError(t, err)
			require.True(t, mounts.Is(w.TableExists(t.Context(), mounttest.Caller, db.Table("none")), mounts.NoSuchTable))
		}
		require.EqualValues(t, 1, most.Load())
		polls := w.source.Count("CurrentNotification") - began
		require.True(t, polls > 3 && polls < 11, "%d in ten minutes", polls)
		require.Zero(t, w.Stats().Guard.Failed)
	})
}

// Close ends the question that is under way, and then the source is closed. The bubble would
// notice a goroutine that stays.
func TestCloseWhilePolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := metastoretest.NewNotifier(0)
		w := withTable(t, func(w *world) { w.source, w.options.Source, w.options.FreshFor = n.Source, n, time.Hour })
		ended := false
		n.Intercept(func(ctx context.Context, c metastoretest.Call) error {
			if c.Method == "CurrentNotification" {
				<-ctx.Done()
				time.Sleep(time.Millisecond)
				require.Zero(t, n.Closed())
				ended = true
			}
			return nil
		})
		load(t, w, table)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, w.Close())
		require.True(t, ended)
		require.Less(t, time.Since(began), time.Second)
		require.Equal(t, 1, n.Closed())
	})
	synctest.Test(t, func(t *testing.T) { newFollowed(t) }) // and one that waits
}
