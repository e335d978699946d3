//go:build e2e

package hive_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	hms "github.com/beltran/gohive/hive_metastore"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/hive"
	"piedmont/mounts/hive/hivetest"
	"piedmont/mounts/metastore"
	"piedmont/mounts/mounttest"
)

// A metastore that hangs holds nobody longer than the mount's timeout, and that nobody at all
// who gives up. When it goes on all is well: late answers are nobody's.
func TestRealHang(t *testing.T) {
	r := open(t)
	db := r.database("hang")
	require.NoError(t, r.CreateTable(t.Context(), db, "t", hivetest.Table{Location: r.location("t"), Parameters: hivetest.Iceberg("file:///gone")}))
	s := r.source(nil)
	for range 3 {
		require.NoError(t, s.Health(t.Context()))
	}
	p := r.process()
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	t.Cleanup(func() { _ = p.Signal(syscall.SIGCONT) })
	late := func() error { // its threads stop one after the other
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := s.Object(ctx, db, "t")
		return err
	}
	require.Eventually(t, func() bool { return mounts.Is(late(), mounts.Timeout) }, 10*time.Second, time.Millisecond)
	for i := range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		began := time.Now()
		_, err := s.Object(ctx, db, "t")
		cancel()
		require.True(t, mounts.Is(err, mounts.Timeout), "%d: %v", i, err)
		require.Less(t, time.Since(began), 3*time.Second)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	_, err := s.Object(ctx, db, "t")
	require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
	require.Less(t, time.Since(began), time.Second)
	require.NoError(t, p.Signal(syscall.SIGCONT))
	for range 20 {
		_, err := s.Object(t.Context(), db, "t")
		require.NoError(t, err)
	}
}

// While the metastore is down nothing is absent; when it is back nobody has to do anything.
func TestRealRestart(t *testing.T) {
	r := open(t)
	db := r.database("restart")
	require.NoError(t, r.CreateTable(t.Context(), db, "t", hivetest.Table{Location: r.location("t"), Parameters: hivetest.Iceberg("file:///gone")}))
	s := r.source(nil)
	several := r.source(func(o *hive.Options) { o.URIs = []string{"thrift://127.0.0.1:1", r.uri} })
	sources := []*hive.Source{s, several}
	for _, s := range sources {
		_, err := s.Object(t.Context(), db, "t")
		require.NoError(t, err)
	}
	r.ci("hive", "kill", r.dir)
	for _, s := range sources {
		for name, call := range everything(s, db, "t") {
			err := call(t.Context())
			require.True(t, mounts.Is(err, mounts.Unavailable), "%s: %v", name, err)
		}
	}
	r.start()
	for _, s := range sources {
		for name, call := range everything(s, db, "t") {
			require.NoError(t, call(t.Context()), name)
		}
	}
	// a restart between two calls costs nobody one
	r.restart()
	for _, s := range sources {
		_, err := s.Object(t.Context(), db, "t")
		require.NoError(t, err)
	}
	// through the guard as well, which counts what failed
	m := r.mount(func(_ *hive.Options, m *metastore.Options) { m.Guard = guard.Options{Timeout: 10 * time.Second} })
	defer m.Close()
	require.NoError(t, m.TableExists(t.Context(), mounttest.Caller, mounts.Namespace{db}.Table("t")))
	require.Zero(t, m.Stats().Guard.Failed)
}

func everything(s *hive.Source, db, table string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Databases": func(ctx context.Context) error { _, _, err := s.Databases(ctx, "", 0); return err },
		"Database":  func(ctx context.Context) error { _, err := s.Database(ctx, db); return err },
		"Tables":    func(ctx context.Context) error { _, _, err := s.Objects(ctx, db, metastore.Table, "", 0); return err },
		"Views":     func(ctx context.Context) error { _, _, err := s.Objects(ctx, db, metastore.View, "", 0); return err },
		"Object":    func(ctx context.Context) error { _, err := s.Object(ctx, db, table); return err },
		"Health":    s.Health,
	}
}

// A metastore that can't ask its own database has no absence either, although it says
// "no such object" of databases then. It runs over PostgreSQL here, with tables missing.
func TestRealSickDatabase(t *testing.T) {
	r := open(t)
	db := r.database("sick")
	require.NoError(t, r.CreateTable(t.Context(), db, "t", hivetest.Table{Location: r.location("t"), Parameters: hivetest.Iceberg("file:///gone")}))
	s := r.source(nil)
	conn, err := pgx.Connect(t.Context(), os.Getenv("PIEDMONT_TEST_POSTGRES"))
	require.NoError(t, err, "Derby is a part of the metastore: nobody else can spoil it")
	defer func() { _ = conn.Close(context.Background()) }()
	rename := func(from, to string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), "ALTER TABLE "+pgx.Identifier{from}.Sanitize()+" RENAME TO "+pgx.Identifier{to}.Sanitize())
		require.NoError(t, err)
	}
	doubted := false
	for _, table := range []string{"DBS", "TBLS", "TABLE_PARAMS"} {
		rename(table, table+"_GONE")
		for _, names := range [][2]string{{db, "t"}, {"nosuch", "nosuch"}, {db, "nosuch"}} {
			for name, call := range everything(s, names[0], names[1]) {
				err := call(t.Context())
				var said *hms.NoSuchObjectException
				doubted = doubted || errors.As(err, &said) && mounts.Is(err, mounts.Unavailable)
				switch {
				case table == "DBS", table == "TBLS" && name == "Object", table != "DBS" && (name == "Tables" || name == "Views"):
					require.True(t, mounts.Is(err, mounts.Unavailable), "without %s: %s of %v: %v", table, name, names, err)
				case names[1] == "t":
					require.False(t, mounts.Is(err, mounts.NoSuchNamespace) || mounts.Is(err, mounts.NoSuchTable), "without %s: %s of %v: %v", table, name, names, err)
				}
			}
		}
		rename(table+"_GONE", table)
		for name, call := range everything(s, db, "t") {
			require.NoError(t, call(t.Context()), name)
		}
	}
	require.True(t, doubted, "it said so of a database that is there")
}
