package metastore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/mounttest"
)

// errCause is what only our log may show.
var errCause = errors.New("dial tcp 10.0.0.7:9083: password=hunter2")

// about is the object of each operation of reading.
var about = map[string]string{
	"ListNamespaces": "", "ListNested": "db", "LoadNamespace": "db", "ListTables": "db", "ListViews": "db",
	"LoadTable": "db.t", "TableExists": "db.t", "LoadView": "db.t", "ViewExists": "db.t",
}

// Whatever a source fails with, it is no absence, names the object and shows no word of it.
func TestFailuresAreNoAbsences(t *testing.T) {
	for name, c := range map[string]struct {
		failure error
		want    mounts.Kind
	}{
		"unavailable": {&mounts.Error{Kind: mounts.Unavailable, Detail: "The metastore fails", Err: errCause}, mounts.Unavailable},
		"timeout":     {&mounts.Error{Kind: mounts.Timeout, Err: errCause}, mounts.Timeout},
		"bad gateway": {&mounts.Error{Kind: mounts.BadGateway, Err: errCause}, mounts.BadGateway},
		"forbidden":   {&mounts.Error{Kind: mounts.Forbidden, Err: errCause}, mounts.Unavailable},
		"bad request": {&mounts.Error{Kind: mounts.BadRequest, Err: errCause}, mounts.BadRequest},
		"wrapped":     {fmt.Errorf("hunter2: %w", &mounts.Error{Kind: mounts.BadGateway, Err: errCause}), mounts.BadGateway},
		"untyped":     {errCause, mounts.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			w := withTable(t, func(w *world) { w.options.Guard.Failures = 1000 })
			w.source.Intercept(func(context.Context, metastoretest.Call) error { return c.failure })
			for op, err := range reading(t.Context(), w.Catalog) {
				require.Equal(t, c.want, checkError(t, err), "%s: %v", op, err)
				require.ErrorIs(t, err, errCause, "the log has it")
				var e *mounts.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, about[op], e.Name, op)
				require.Contains(t, e.Message(), about[op], op)
				require.LessOrEqual(t, strings.Count(e.Message(), "(asked for "), 1, op)
			}
			w.source.Intercept(nil)
			wellRead(t, reading(t.Context(), w.Catalog))
		})
	}
}

func TestPanicOfASource(t *testing.T) {
	w := withTable(t, func(w *world) { w.options.Guard.Concurrency = 1 })
	w.source.Intercept(func(context.Context, metastoretest.Call) error { panic("hunter2") })
	for op, err := range reading(t.Context(), w.Catalog) {
		require.Equal(t, mounts.Internal, checkError(t, err), op)
	}
	w.source.Intercept(nil)
	wellRead(t, reading(t.Context(), w.Catalog))
}

// hangs until nobody waits any more.
func hangs(ctx context.Context, _ metastoretest.Call) error { <-ctx.Done(); return ctx.Err() }

// A metastore hangs. Whoever asks hears of it within the deadline, and when enough time was
// lost the others hear it at once.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withTable(t, func(w *world) { w.options.Guard.Concurrency = 4 })
		for i := range 50 {
			w.write(t, db.Table(fmt.Sprint("t", i)), 1)
		}
		w.source.Intercept(hangs)
		began := time.Now()
		kinds := make(chan mounts.Kind, 50)
		for i := range 50 {
			go func() {
				err := w.TableExists(t.Context(), mounttest.Caller, db.Table(fmt.Sprint("t", i)))
				kinds <- checkError(t, err)
			}()
		}
		count := map[mounts.Kind]int{}
		for range 50 {
			count[<-kinds]++
		}
		require.Equal(t, 30*time.Second, time.Since(began))
		require.GreaterOrEqual(t, count[mounts.Timeout], 4, "those who were asked for, perhaps some at the last moment")
		require.Equal(t, 50, count[mounts.Timeout]+count[mounts.Unavailable])
		s := w.Stats().Guard
		require.Zero(t, s.UnderWay+s.Waiting)

		_ = w.TableExists(t.Context(), mounttest.Caller, table)
		require.Equal(t, "open", w.Stats().Guard.Breaker)
		began = time.Now()
		_, err := w.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
		refused(t, err, mounts.Unavailable, "The catalog behind mount 'legacy' (hive) failed several times in a row and is left alone for a moment (asked for db.t)")
		var e *mounts.Error
		require.ErrorAs(t, err, &e)
		require.Greater(t, e.RetryAfter, 4*time.Second)
		require.Zero(t, time.Since(began))

		w.source.Intercept(nil)
		time.Sleep(10 * time.Second)
		wellRead(t, reading(t.Context(), w.Catalog))
	})
}

// 50 callers wait for one table of a metastore that hangs: two questions are sent at a time,
// they fail as timeouts, and no caller waits much longer than the deadline.
func TestCrowdWaitsForOneTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withTable(t)
		w.source.Intercept(hangs)
		began := time.Now()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				_, err := w.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
				require.Equal(t, mounts.Timeout, checkError(t, err), "%v", err)
				require.LessOrEqual(t, time.Since(began), 33*time.Second)
			})
		}
		wg.Wait()
		synctest.Wait()
		s := w.Stats().Guard
		require.EqualValues(t, 2, s.Failed)
		require.Zero(t, s.UnderWay+s.Waiting)
		require.LessOrEqual(t, w.source.Count("Object"), 4)
	})
}

// Callers who go away take their question with them, and it counts for nothing.
func TestCallersWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withTable(t, func(w *world) { w.options.Guard.Failures = 1 })
		w.source.Intercept(hangs)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				id := db.Table(fmt.Sprint("t", i%10))
				require.Equal(t, mounts.Unavailable, checkError(t, w.TableExists(ctx, mounttest.Caller, id)))
				_, _, err := w.ListTables(ctx, mounttest.Caller, db, mounts.Page{})
				require.Equal(t, mounts.Unavailable, checkError(t, err))
				_, err = w.LoadNamespace(ctx, mounttest.Caller, db)
				require.Equal(t, mounts.Unavailable, checkError(t, err))
			})
		}
		synctest.Wait()
		require.Positive(t, w.Stats().Guard.UnderWay)
		cancel()
		wg.Wait()
		synctest.Wait()
		s := w.Stats().Guard
		require.Zero(t, s.UnderWay+s.Waiting)
		require.Zero(t, s.Failed)
		require.Equal(t, "closed", s.Breaker)
		w.source.Intercept(nil)
		wellRead(t, reading(t.Context(), w.Catalog))
	})
}

// One caller's going away doesn't take the answer from those who share the question.
func TestOneOfManyLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withTable(t)
		w.source.Intercept(func(ctx context.Context, _ metastoretest.Call) error {
			select {
			case <-time.After(time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				if i%2 == 0 {
					err := w.TableExists(ctx, mounttest.Caller, table)
					require.Equal(t, mounts.Timeout, checkError(t, err), "its own deadline: %v", err)
					return
				}
				require.NoError(t, w.TableExists(t.Context(), mounttest.Caller, table))
			})
		}
		wg.Wait()
	})
}

// A metastore fails for a moment, and nobody notices.
func TestHiccup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withTable(t)
		var mu sync.Mutex
		failed := map[string]bool{}
		w.source.Intercept(func(_ context.Context, c metastoretest.Call) error {
			mu.Lock()
			defer mu.Unlock()
			if failed[c.Method] {
				return nil
			}
			failed[c.Method] = true
			return &mounts.Error{Kind: mounts.Unavailable, Err: errCause}
		})
		wellRead(t, reading(t.Context(), w.Catalog))
		require.NoError(t, w.Health(t.Context()))
		require.EqualValues(t, 5, w.Stats().Guard.Retried)
	})
}

// A metastore asks to be left alone: all wait, and hear for how long.
func TestThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withTable(t)
		w.source.Intercept(func(context.Context, metastoretest.Call) error {
			return &mounts.Error{Kind: mounts.Unavailable, RetryAfter: 10 * time.Second, Err: errCause}
		})
		require.Error(t, w.TableExists(t.Context(), mounttest.Caller, table))
		w.source.Intercept(nil)
		calls := len(w.source.Calls())
		time.Sleep(4 * time.Second)
		for op, err := range reading(t.Context(), w.Catalog) {
			var e *mounts.Error
			require.ErrorAs(t, err, &e, op)
			require.Equal(t, mounts.Unavailable, e.Kind)
			require.Equal(t, 6*time.Second, e.RetryAfter, op)
		}
		require.Len(t, w.source.Calls(), calls, "it wasn't asked")
		time.Sleep(6 * time.Second)
		wellRead(t, reading(t.Context(), w.Catalog))
	})
}

// A table is dropped between the list and the load, and its files after the load of the pointer.
func TestDroppedMeanwhile(t *testing.T) {
	w := withTable(t)
	tables, _, err := w.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	require.Equal(t, []mounts.Identifier{table}, tables)
	loaded, err := w.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
	require.NoError(t, err)
	w.source.Drop("db", "t")
	require.NoError(t, w.files.Delete(t.Context(), location(t, loaded.MetadataLocation)))
	_, err = loaded.Metadata(t.Context())
	require.Equal(t, mounts.NotFound, checkError(t, err))
	for range 2 {
		_, err = w.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
		refused(t, err, mounts.NoSuchTable, "Table does not exist: db.t")
		w.source.Drop("db", "")
	}
	_, err = w.LoadNamespace(t.Context(), mounttest.Caller, db)
	refused(t, err, mounts.NoSuchNamespace, "Namespace does not exist: db")
	_, _, err = w.ListNamespaces(t.Context(), mounttest.Caller, db, mounts.Page{})
	refused(t, err, mounts.NoSuchNamespace, "Namespace does not exist: db")
}

// One table's broken row doesn't take the others away.
func TestOneBrokenTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withTable(t)
		w.source.Intercept(func(_ context.Context, c metastoretest.Call) error {
			if c.Name == "broken" {
				return &mounts.Error{Kind: mounts.BadGateway, Err: errCause}
			}
			return nil
		})
		for range 100 {
			require.Equal(t, mounts.BadGateway, checkError(t, w.TableExists(t.Context(), mounttest.Caller, db.Table("broken"))))
		}
		wellRead(t, reading(t.Context(), w.Catalog))
		require.Zero(t, w.Stats().Guard.Opened)
	})
}

// 10,000 loads from 64 connections over a metastore that takes 5 ms.
func TestThroughput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const loads, callers, bound, latency = 10_000, 64, 16, 5 * time.Millisecond
		w := withTable(t)
		for i := range 100 {
			w.write(t, db.Table(fmt.Sprint("t", i)), 1)
		}
		w.source.Intercept(func(context.Context, metastoretest.Call) error { time.Sleep(latency); return nil })
		began := time.Now()
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for n := i; n < loads; n += callers {
					load(t, w, db.Table(fmt.Sprint("t", (n*37+i)%100)))
				}
			})
		}
		wg.Wait()
		asked := w.source.Count("Object")
		require.LessOrEqual(t, float64(time.Since(began)), float64(loads)/bound*float64(latency)/0.9, "%d questions", asked)
		require.LessOrEqual(t, float64(asked)/bound*float64(latency), float64(time.Since(began)), "no more than the bound at a time")
	})
}

func TestHealth(t *testing.T) {
	w := withTable(t)
	require.NoError(t, w.Health(t.Context()))
	w.source.Intercept(func(context.Context, metastoretest.Call) error {
		return &mounts.Error{Kind: mounts.BadGateway, Err: errCause}
	})
	require.ErrorIs(t, w.Health(t.Context()), errCause, "operators see why")
	require.NoError(t, w.Close())
	require.Equal(t, 1, w.source.Closed())
}
