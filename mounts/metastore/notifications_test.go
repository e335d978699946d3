package metastore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/mounttest"
)

// followed is a world whose source tells what has changed. db.t and db.u are remembered for an
// hour.
type followed struct {
	*world
	changes *metastoretest.Notifier
}

var other = db.Table("u")

func newFollowed(t *testing.T, set ...func(*world)) *followed {
	t.Helper()
	n := metastoretest.NewNotifier(1000)
	first := func(w *world) { w.source, w.options.Source, w.options.FreshFor = n.Source, n, time.Hour }
	w := &followed{newWorld(t, append([]func(*world){first}, set...)...), n}
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	w.source.PutDatabase("db", nil)
	w.write(t, table, 1)
	w.write(t, other, 1)
	return w
}

// settled is newFollowed, with the latest id known and both tables remembered since.
func settled(t *testing.T, set ...func(*world)) *followed {
	t.Helper()
	w := newFollowed(t, set...)
	load(t, w, table)
	synctest.Wait()
	time.Sleep(time.Millisecond)
	load(t, w, table)
	load(t, w, other)
	require.EqualValues(t, 1, w.Stats().Events.Polls)
	require.True(t, w.remembers(t, table) && w.remembers(t, other))
	return w
}

// remembers says whether a load asks nobody. Afterwards it is so.
func (w *followed) remembers(t *testing.T, id mounts.Identifier) bool {
	t.Helper()
	before := w.source.Count("Object")
	load(t, w, id)
	return w.source.Count("Object") == before
}

func (w *followed) commit(t *testing.T, version int) string {
	t.Helper()
	l := w.write(t, table, version)
	w.changes.Notify(named(table))
	return l
}

func named(id mounts.Identifier) metastore.ObjectName {
	return metastore.ObjectName{Database: id.Namespace[0], Name: id.Name}
}

// What the source tells of is asked for again within a second; everything is where it can't tell
// of all.
func TestChangesAreHeardOf(t *testing.T) {
	one, all := []mounts.Identifier{table}, []mounts.Identifier{table, other}
	third := metastore.ObjectName{Database: "db", Name: "else"}
	for name, c := range map[string]struct {
		happens func(*metastoretest.Notifier)
		forgets []mounts.Identifier
	}{
		"nothing":         {func(*metastoretest.Notifier) {}, nil},
		"a commit":        {func(n *metastoretest.Notifier) { n.Notify(named(table)) }, one},
		"another's":       {func(n *metastoretest.Notifier) { n.Notify(third) }, nil},
		"another's, then": {func(n *metastoretest.Notifier) { n.Notify(third); n.Notify(); n.Notify(named(table)) }, one},
		"a rename":        {func(n *metastoretest.Notifier) { n.Notify(named(other), named(table)) }, all},
		"of all":          {func(n *metastoretest.Notifier) { n.Log(metastore.Notification{All: true}) }, all},
		"many": {func(n *metastoretest.Notifier) {
			for range 1999 {
				n.Notify(third)
			}
			n.Notify(named(table))
		}, one},
		"too many": {func(n *metastoretest.Notifier) {
			for range 2001 {
				n.Notify(third)
			}
		}, all},
		"a gap at once":     {func(n *metastoretest.Notifier) { n.Jump(1001); n.Notify(third) }, all},
		"a gap later":       {func(n *metastoretest.Notifier) { n.Notify(third); n.Jump(1002); n.Notify(third) }, all},
		"all were cleaned":  {func(n *metastoretest.Notifier) { n.Jump(1010) }, all},
		"the last are gone": {func(n *metastoretest.Notifier) { n.Notify(third); n.Jump(1010) }, all},
		"restored":          {func(n *metastoretest.Notifier) { n.Jump(990) }, all},
		"restored to 0":     {func(n *metastoretest.Notifier) { n.Jump(0) }, all},
		"a leap":            {func(n *metastoretest.Notifier) { n.Jump(1 << 62) }, all},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := settled(t)
				c.happens(w.changes)
				time.Sleep(time.Second)
				synctest.Wait()
				for _, id := range all {
					require.Equal(t, !slices.ContainsFunc(c.forgets, id.Equal), w.remembers(t, id), "%v", id)
				}
				moved := w.commit(t, 2)
				time.Sleep(time.Second)
				synctest.Wait()
				got, _ := load(t, w, table)
				require.Equal(t, moved, got.MetadataLocation, "it goes on from there")
				require.True(t, w.remembers(t, other))
				require.Zero(t, w.Stats().Events.Failed)
			})
		})
	}
}

// An absence is forgotten too.
func TestCreationIsHeardOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := settled(t)
		time.Sleep(500 * time.Millisecond)
		id := db.Table("new")
		require.True(t, mounts.Is(w.TableExists(t.Context(), mounttest.Caller, id), mounts.NoSuchTable))
		w.write(t, id, 1)
		require.Error(t, w.TableExists(t.Context(), mounttest.Caller, id), "it is remembered")
		w.changes.Notify(named(id))
		time.Sleep(600 * time.Millisecond)
		load(t, w, id)
	})
}

// late answers questions about objects with what it knew when they were sent.
type late struct {
	*metastoretest.Notifier
	by func(name string) time.Duration
}

func (l *late) Object(ctx context.Context, in, name string) (metastore.Object, error) {
	o, err := l.Notifier.Object(ctx, in, name)
	time.Sleep(l.by(name))
	return o, err
}

// answersLate makes answers about db.t last for some time, as often as that is told.
func answersLate(lasts chan time.Duration) func(*world) {
	return func(w *world) {
		w.options.Source = &late{w.options.Source.(*metastoretest.Notifier), func(name string) time.Duration {
			if name != table.Name {
				return 0
			}
			select {
			case d := <-lasts:
				return d
			default:
				return 0
			}
		}}
	}
}

// An answer that was under way when a change became known isn't kept, and who came after that
// gets another.
func TestAnswerThatStraddlesAPoll(t *testing.T) {
	for name, changed := range map[string]func(*followed){
		"of the name": func(w *followed) { w.changes.Notify(named(table)) },
		"of many names": func(w *followed) {
			names := make([]metastore.ObjectName, 10_000)
			for i := range names {
				names[i] = metastore.ObjectName{Database: "db", Name: fmt.Sprint("other", i)}
			}
			w.changes.Notify(append(names, named(table))...)
		},
		"of all":     func(w *followed) { w.changes.Log(metastore.Notification{All: true}) },
		"of unknown": func(w *followed) { w.changes.Jump(1) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lasts := make(chan time.Duration, 1)
				w := settled(t, answersLate(lasts))
				w.commit(t, 2)
				time.Sleep(time.Second)
				first := w.commit(t, 3)
				lasts <- 5 * time.Second
				var wg sync.WaitGroup
				wg.Go(func() {
					got, _ := load(t, w, table)
					require.Equal(t, first, got.MetadataLocation, "that was so when it came")
				})
				synctest.Wait()
				moved := w.write(t, table, 4)
				changed(w)
				time.Sleep(2 * time.Second)
				wg.Go(func() {
					got, _ := load(t, w, table)
					require.Equal(t, moved, got.MetadataLocation)
				})
				wg.Wait()
				got, _ := load(t, w, table)
				require.Equal(t, moved, got.MetadataLocation)
				require.True(t, w.remembers(t, table))
			})
		})
	}
}

// A change may have happened until the answer came that tells of it, so what counts no more is
// what was asked before that, and not before the poll.
func TestChangeDuringAPoll(t *testing.T) {
	for method, begin := range map[string]func(*testing.T, *followed){
		"CurrentNotification": func(t *testing.T, w *followed) { load(t, w, other) }, // the first one
		"Notifications": func(t *testing.T, w *followed) {
			load(t, w, other)
			synctest.Wait()
			w.changes.Notify()
			time.Sleep(time.Second)
		},
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lasts := make(chan time.Duration, 1)
				w := newFollowed(t, answersLate(lasts))
				w.fails(method, func(context.Context) error { time.Sleep(500 * time.Millisecond); return nil })
				begin(t, w)
				time.Sleep(400 * time.Millisecond)
				lasts <- time.Second
				var wg sync.WaitGroup
				wg.Go(func() { load(t, w, table) })
				synctest.Wait()
				moved := w.commit(t, 2)
				wg.Wait()
				got, _ := load(t, w, table)
				require.Equal(t, moved, got.MetadataLocation)
			})
		})
	}
}

// What was under way while others' changes became known is kept, unless those are too many to be
// told from it.
func TestAnswerThatStraddlesOthersChanges(t *testing.T) {
	for changes, kept := range map[int]bool{1: true, 1000: true, 10_000: false} {
		synctest.Test(t, func(t *testing.T) {
			lasts := make(chan time.Duration, 1)
			w := settled(t, answersLate(lasts))
			third := db.Table("third")
			w.write(t, third, 1)
			load(t, w, third)
			w.commit(t, 2)
			time.Sleep(time.Second)
			lasts <- 20 * time.Second
			var wg sync.WaitGroup
			wg.Go(func() { load(t, w, table) })
			synctest.Wait()
			for i := range changes {
				w.changes.Notify(metastore.ObjectName{Database: "db", Name: fmt.Sprint("other", i)})
				if i%1000 == 999 {
					time.Sleep(time.Second)
				}
			}
			w.changes.Notify(named(other))
			wg.Wait()
			time.Sleep(time.Minute)
			require.Equal(t, kept, w.remembers(t, table), "%d", changes)
			require.False(t, w.remembers(t, other))
			require.True(t, w.remembers(t, third), "what was kept before stays")
		})
	}
}

// Changes before the first id was known can't be heard of, so what was asked before then counts
// no more once it is known.
func TestUnknownPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lasts := make(chan time.Duration, 1)
		w := newFollowed(t, answersLate(lasts))
		lasts <- 5 * time.Second
		var wg sync.WaitGroup
		wg.Go(func() { load(t, w, table) })
		synctest.Wait()
		moved := w.commit(t, 2)
		time.Sleep(time.Second)
		load(t, w, other) // now something is remembered
		synctest.Wait()
		require.EqualValues(t, 1, w.Stats().Events.Polls)
		wg.Wait()
		got, _ := load(t, w, table)
		require.Equal(t, moved, got.MetadataLocation)
		require.False(t, w.remembers(t, other))
		require.True(t, w.remembers(t, table) && w.remembers(t, other))
	})
}

// Whatever comes in between: what a load answers was so a second before it came, and the time
// that two questions take.
func TestStaleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Bool
		w := settled(t, func(w *world) {
			w.options.Source = &late{w.options.Source.(*metastoretest.Notifier), func(string) time.Duration {
				if !slow.Load() {
					return 0
				}
				return rand.N(2 * time.Second)
			}}
		})
		slow.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		pause := func(most time.Duration) { time.Sleep(rand.N(most)) }
		w.source.Intercept(func(_ context.Context, c metastoretest.Call) error {
			if c.Method == "Object" {
				pause(time.Second)
				return nil
			}
			pause(100 * time.Millisecond)
			if rand.N(20) == 0 {
				w.changes.Jump(rand.Int64N(1 << 40)) // an id that comes again can't be noticed
			}
			return nil
		})
		var mu sync.Mutex
		committed := []time.Time{{}, {}} // by version
		oldest := time.Duration(0)
		var wg sync.WaitGroup
		wg.Go(func() {
			for version := 2; ctx.Err() == nil; version++ {
				pause(10 * time.Second)
				w.commit(t, version)
				mu.Lock()
				committed = append(committed, time.Now())
				mu.Unlock()
			}
		})
		for range 8 {
			wg.Go(func() {
				for ctx.Err() == nil {
					pause(time.Second)
					came := time.Now()
					_, text := load(t, w, table)
					var d struct{ V int }
					require.NoError(t, json.Unmarshal([]byte(text), &d))
					mu.Lock()
					if next := d.V + 1; next < len(committed) {
						oldest = max(oldest, came.Sub(committed[next]))
					}
					mu.Unlock()
				}
			})
		}
		time.Sleep(30 * time.Minute)
		cancel()
		wg.Wait()
		require.Less(t, oldest, 1400*time.Millisecond)
		require.Greater(t, oldest, 500*time.Millisecond)
		loads, asked := 8*2*30*60, w.source.Count("Object")
		require.Less(t, asked, loads/2, "most were answered from memory")
	})
}
