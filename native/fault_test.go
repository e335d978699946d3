package native_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/vend"
)

// change is one thing that can be asked of a world, once.
type change struct {
	name   string
	writes bool // a metadata file, before the registry's commit
	do     func(context.Context, *world) error
}

var changes = []change{
	{"create namespace", false, func(ctx context.Context, w *world) error {
		_, err := w.main.CreateNamespace(ctx, mounts.Caller{}, mounts.Namespace{"new"}, nil)
		return err
	}},
	{"drop namespace", false, func(ctx context.Context, w *world) error {
		return w.main.DropNamespace(ctx, mounts.Caller{}, mounts.Namespace{"other"})
	}},
	{"update properties", false, func(ctx context.Context, w *world) error {
		_, err := w.main.UpdateProperties(ctx, mounts.Caller{}, mounts.Namespace{"ns"}, nil, map[string]string{"a": "b"})
		return err
	}},
	{"create table", true, func(ctx context.Context, w *world) error {
		_, err := w.main.CreateTable(ctx, mounts.Caller{}, id("ns.new"), []byte(newTableBody("new")))
		return err
	}},
	{"create by commit", true, func(ctx context.Context, w *world) error {
		_, err := w.main.CommitTable(ctx, mounts.Caller{}, id("ns.staged"), []byte(`{"requirements":[{"type":"assert-create"}],"updates":[
			{"action":"add-schema","schema":`+schema+`},{"action":"set-current-schema","schema-id":-1},{"action":"add-spec","spec":{"fields":[]}},
			{"action":"set-default-spec","spec-id":-1},{"action":"add-sort-order","sort-order":{"fields":[]}},{"action":"set-default-sort-order","sort-order-id":-1}]}`))
		return err
	}},
	{"commit", true, func(ctx context.Context, w *world) error {
		_, err := w.main.CommitTable(ctx, mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
		return err
	}},
	{"move", true, func(ctx context.Context, w *world) error {
		_, err := w.main.CommitTable(ctx, mounts.Caller{}, id("ns.t"), []byte(`{"updates":[{"action":"set-location","location":"file://`+w.dir+`/elsewhere"}]}`))
		return err
	}},
	{"register", false, func(ctx context.Context, w *world) error {
		location, _ := w.load(w.main, "ns.t")
		_, err := w.main.RegisterTable(ctx, mounts.Caller{}, id("ns.again"), mounts.RegisterRequest{MetadataLocation: location.MetadataLocation})
		return err
	}},
	{"drop table", false, func(ctx context.Context, w *world) error {
		return w.main.DropTable(ctx, mounts.Caller{}, id("ns.t"), false)
	}},
	{"rename", false, func(ctx context.Context, w *world) error { return w.rename(ctx, w.mainAt, "ns.t", w.mainAt, "other.u") }},
	{"rename to another mount", false, func(ctx context.Context, w *world) error { return w.rename(ctx, w.mainAt, "ns.t", w.teamAt, "other.u") }},
}

func (w *world) rename(ctx context.Context, from *mounts.Point, source string, to *mounts.Point, destination string) error {
	target := func(p *mounts.Point, dotted string) mounts.Target {
		i := id(dotted)
		return mounts.Target{Path: p.At.Join(i.Namespace), Name: i.Name, Point: p, Namespace: i.Namespace}
	}
	return from.Mount.(*native.Catalog).RenameTable(ctx, mounts.Caller{}, target(from, source), target(to, destination))
}

// each runs a test for every change on a world of its own.
func each(t *testing.T, test func(*testing.T, *world, change)) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) { test(t, newWorld(t), c) })
	}
}

// worksNow fails the test unless the change can be made: no fault left anything behind.
func (w *world) worksNow(c change) {
	w.t.Helper()
	w.registry.set(nil, nil, nil)
	w.files.set(nil)
	require.NoError(w.t, c.do(w.t.Context(), w))
}

func failing(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func TestRegistrySurelyDidNotApply(t *testing.T) {
	each(t, func(t *testing.T, w *world, c change) {
		records, files := w.state(), w.disk()
		w.registry.set(failing(native.ErrNotApplied), nil, nil)
		err := c.do(t.Context(), w)
		require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
		require.Equal(t, records, w.state())
		require.Equal(t, files, w.disk(), "an orphan file is left")
		w.worksNow(c)
	})
}

func TestRegistryPerhapsAppliedAndDidNot(t *testing.T) {
	each(t, func(t *testing.T, w *world, c change) {
		for _, fault := range []error{native.ErrUnknown, errors.New("of a kind that nobody promised"), context.DeadlineExceeded} {
			records, files := w.state(), w.disk()
			w.registry.set(failing(fault), nil, nil)
			err := c.do(t.Context(), w)
			require.True(t, mounts.Is(err, mounts.CommitStateUnknown), "%v", err)
			require.Equal(t, records, w.state())
			require.Equal(t, c.writes, len(w.disk()) == len(files)+1, "the file must be kept: the registry may point to it yet")
		}
		w.worksNow(c)
	})
}

func TestRegistryPerhapsAppliedAndDid(t *testing.T) {
	each(t, func(t *testing.T, w *world, c change) {
		records, files := w.state(), w.disk()
		w.registry.set(nil, func() error { return native.ErrUnknown }, nil)
		err := c.do(t.Context(), w)
		require.True(t, mounts.Is(err, mounts.CommitStateUnknown), "%v", err)
		require.NotEqual(t, records, w.state(), "it was applied")
		require.Equal(t, c.writes, len(w.disk()) > len(files))
		w.registry.set(nil, nil, nil)
		w.wholeTables()
	})
}

// wholeTables fails the test unless every table of the registry can be loaded: each
// pointer leads to a file that is there.
func (w *world) wholeTables() {
	w.t.Helper()
	for _, c := range []*native.Catalog{w.open("main"), w.open("second")} {
		for _, n := range []string{"ns", "other"} {
			tables, _, err := c.ListTables(w.t.Context(), mounts.Caller{}, mounts.Namespace{n}, mounts.Page{})
			if mounts.Is(err, mounts.NoSuchNamespace) {
				continue
			}
			require.NoError(w.t, err)
			for _, table := range tables {
				w.load(c, table.String())
			}
		}
	}
}

func TestRegistryCantBeRead(t *testing.T) {
	each(t, func(t *testing.T, w *world, c change) {
		records, files := w.state(), w.disk()
		if strings.Contains(c.name, "register") {
			return // its own look-ups fail as those of a create do
		}
		w.registry.set(failing(native.ErrNotApplied), nil, errors.New("disk on fire"))
		err := c.do(t.Context(), w)
		require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
		require.Equal(t, records, w.state())
		require.Equal(t, files, w.disk())
		w.worksNow(c)
	})
}

// TestConflictIsTriedAgain has another process change the record just before the commit.
func TestConflictIsTriedAgain(t *testing.T) {
	for _, c := range changes {
		if c.name == "create namespace" || c.name == "drop namespace" {
			continue // their conflicts are final
		}
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			other, raced := w.open("main"), false
			w.registry.set(func(ctx context.Context) error {
				if raced {
					return nil
				}
				raced = true
				_, err := other.CommitTable(ctx, mounts.Caller{}, id("ns.t"), setPropertyBody("raced", "1"))
				if err == nil {
					_, err = other.UpdateProperties(ctx, mounts.Caller{}, mounts.Namespace{"ns"}, nil, map[string]string{"raced": "1"})
				}
				return err
			}, nil, nil)
			require.NoError(t, c.do(t.Context(), w))
			require.True(t, raced)
			w.wholeTables()
			for file := range w.disk() {
				require.True(t, w.isUsed(file) || c.name == "drop table", "an orphan: %s", file) // a drop leaves files
			}
		})
	}
}

// isUsed says whether a table points to the file or has it in its log.
func (w *world) isUsed(file string) bool {
	for _, name := range []string{"main ns.t", "main ns.new", "main ns.staged", "main ns.again", "main other.u", "second other.u"} {
		mount, table, _ := strings.Cut(name, " ")
		c := map[string]*native.Catalog{"main": w.main, "second": w.second}[mount]
		if c.TableExists(w.t.Context(), mounts.Caller{}, id(table)) != nil {
			continue
		}
		loaded, d := w.load(c, table)
		if loaded.MetadataLocation == file {
			return true
		}
		for _, entry := range d.MetadataLog {
			if entry.File == file {
				return true
			}
		}
	}
	return false
}

func retryable(err error) bool {
	var e *mounts.Error
	return errors.As(err, &e) && e.Retryable
}

// TestAChangeThatAlwaysLoses, of those that don't queue.
func TestAChangeThatAlwaysLoses(t *testing.T) {
	w := newWorld(t)
	other, own := w.open("main"), true
	w.registry.set(func(ctx context.Context) error {
		if own = !own; own {
			return nil // the other's own commit
		}
		_, err := other.CommitTable(ctx, mounts.Caller{}, id("ns.t"), setPropertyBody("raced", time.Now().String()))
		return err
	}, nil, nil)
	err := w.main.DropTable(t.Context(), mounts.Caller{}, id("ns.t"), false)
	require.True(t, mounts.Is(err, mounts.CommitFailed), "%v", err)
	require.True(t, retryable(err))
}

func TestCommitThatAlwaysLoses(t *testing.T) {
	w := newWorld(t)
	other, n := w.open("main"), 0
	files := len(w.disk())
	w.registry.set(func(ctx context.Context) error {
		n++
		if n%2 == 0 {
			return nil // the other's own commit
		}
		_, err := other.CommitTable(ctx, mounts.Caller{}, id("ns.t"), setPropertyBody("raced", strings.Repeat("x", n)))
		return err
	}, nil, nil)
	_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("mine", "1"))
	require.True(t, mounts.Is(err, mounts.CommitFailed), "%v", err)
	require.True(t, retryable(err), "it may pass when it is sent again, so no receipt may keep it")
	_, d := w.load(w.main, "ns.t")
	require.NotContains(t, d.Properties, "mine")
	require.Len(t, w.disk(), files+n/2, "what lost was deleted")
}

// TestRequirementsAreCheckedAgainAfterALostSwap: what held before may not hold any more.
func TestRequirementsAreCheckedAgainAfterALostSwap(t *testing.T) {
	w := newWorld(t)
	other, raced := w.open("main"), false
	w.registry.set(func(ctx context.Context) error {
		if raced {
			return nil
		}
		raced = true
		_, err := other.CommitTable(ctx, mounts.Caller{}, id("ns.t"), []byte(`{"updates":[{"action":"add-schema","schema":{"type":"struct","fields":[{"id":1,"name":"id","required":false,"type":"long"},{"id":2,"name":"x","required":false,"type":"int"}]}},{"action":"set-current-schema","schema-id":-1}]}`))
		return err
	}, nil, nil)
	_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), []byte(`{"requirements":[{"type":"assert-current-schema-id","current-schema-id":0}],"updates":[{"action":"set-properties","updates":{"mine":"1"}}]}`))
	require.True(t, mounts.Is(err, mounts.CommitFailed), "%v", err)
	require.Contains(t, err.Error(), "current schema changed")
	require.False(t, retryable(err))
	require.Len(t, w.disk(), 2)
}

func TestFileCantBeWritten(t *testing.T) {
	for what, create := range map[string]func(vend.Location, func() error) error{
		"not written": func(vend.Location, func() error) error {
			return vend.Outcome(vend.ErrNotWritten, errors.New("disk full"))
		},
		"unknown, not written": func(vend.Location, func() error) error { return vend.Outcome(vend.ErrUnknown, nil) },
		"unknown, written":     func(_ vend.Location, write func() error) error { return vend.Outcome(vend.ErrUnknown, write()) },
	} {
		for _, c := range slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return !c.writes }) {
			t.Run(what+"/"+c.name, func(t *testing.T) {
				w := newWorld(t)
				records, files := w.state(), w.disk()
				w.files.set(create)
				deleted := false
				w.files.setDelete(func(vend.Location) error {
					deleted = true
					return nil
				})
				err := c.do(t.Context(), w)
				require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
				require.Equal(t, records, w.state())
				require.Equal(t, files, w.disk())
				require.Equal(t, what != "not written", deleted, "in an outage there is nothing to delete where surely nothing is")
				w.worksNow(c)
			})
		}
	}
}

// TestFileOfAnotherIsNotDeleted: a name that is taken isn't ours to remove.
func TestFileOfAnotherIsNotDeleted(t *testing.T) {
	for _, c := range changes {
		if !c.writes {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			records, foreign := w.state(), ""
			w.files.set(func(l vend.Location, write func() error) error {
				if err := write(); err != nil {
					return err
				}
				foreign = l.Verbatim()
				return write() // the name is taken now
			})
			err := c.do(t.Context(), w)
			require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
			require.Equal(t, records, w.state())
			require.Contains(t, w.disk(), foreign)
			w.worksNow(c)
		})
	}
}

func TestContextHadEnded(t *testing.T) {
	each(t, func(t *testing.T, w *world, c change) {
		records, files := w.state(), w.disk()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		err := c.do(ended, w)
		require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
		require.Equal(t, records, w.state())
		require.Equal(t, files, w.disk())
		w.worksNow(c)
	})
}

// TestContextEndsOnceTheFileIsWritten: a create is given up and cleaned up; a commit that
// has begun is carried through, since others may have joined it.
func TestContextEndsOnceTheFileIsWritten(t *testing.T) {
	for _, c := range changes {
		if !c.writes {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			records, files := w.state(), w.disk()
			ctx, cancel := context.WithCancel(t.Context())
			w.files.set(func(_ vend.Location, write func() error) error {
				defer cancel()
				return write()
			})
			err := c.do(ctx, w)
			if strings.HasPrefix(c.name, "create") {
				require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
				require.Equal(t, records, w.state())
				require.Equal(t, files, w.disk())
				w.worksNow(c)
				return
			}
			require.NoError(t, err)
			w.wholeTables()
		})
	}
}

// TestPanicInACommit: it ends the commit and nothing else.
func TestPanicInACommit(t *testing.T) {
	w := newWorld(t)
	records := w.state()
	w.registry.set(func(context.Context) error { panic("in the registry") }, nil, nil)
	_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
	require.True(t, mounts.Is(err, mounts.CommitStateUnknown), "%v", err)
	require.Equal(t, records, w.state())
	w.registry.set(nil, nil, nil)
	_, err = w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
	require.NoError(t, err)
	require.NoError(t, w.main.Close(), "no worker is left waiting")
}

// TestPanicWhileAFileIsWritten: files are written on goroutines of their own.
func TestPanicWhileAFileIsWritten(t *testing.T) {
	w := newWorld(t)
	records, files := w.state(), w.disk()
	w.files.set(func(vend.Location, func() error) error { panic("in the storage") })
	_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
	require.True(t, mounts.Is(err, mounts.Internal), "%v", err)
	require.Equal(t, records, w.state())
	require.Equal(t, files, w.disk())
	w.worksNow(changes[slices.IndexFunc(changes, func(c change) bool { return c.name == "commit" })])
}

// TestMetadataFileIsGone: nothing can be committed to such a table, but it can be dropped.
func TestMetadataFileIsGone(t *testing.T) {
	w := newWorld(t)
	table, _ := w.load(w.main, "ns.t")
	require.NoError(t, os.Remove(strings.TrimPrefix(table.MetadataLocation, "file://")))
	again := w.open("main")
	_, err := again.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("a", "b"))
	require.True(t, mounts.Is(err, mounts.NotFound), "%v", err)
	require.NoError(t, again.TableExists(t.Context(), mounts.Caller{}, id("ns.t")))
	require.NoError(t, again.DropTable(t.Context(), mounts.Caller{}, id("ns.t"), true))
	require.Empty(t, slices.Collect(maps.Keys(w.disk())))
}

// TestDropOfATableThatWasJustMoved: its new place is set free, not the old one.
func TestDropOfATableThatWasJustMoved(t *testing.T) {
	w := newWorld(t)
	other, raced := w.open("main"), false
	w.registry.set(func(ctx context.Context) error {
		if raced {
			return nil
		}
		raced = true
		_, err := other.CommitTable(ctx, mounts.Caller{}, id("ns.t"), []byte(`{"updates":[{"action":"set-location","location":"file://`+w.dir+`/elsewhere"}]}`))
		return err
	}, nil, nil)
	require.NoError(t, w.main.DropTable(t.Context(), mounts.Caller{}, id("ns.t"), false))
	for key := range w.state() {
		require.NotEqual(t, byte('l'), key[0], "a location of a dropped table: %q", key)
	}
}
