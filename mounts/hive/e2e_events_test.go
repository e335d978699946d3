//go:build e2e

package hive_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/hive"
	"piedmont/mounts/hive/hivetest"
	"piedmont/mounts/metastore"
	"piedmont/mounts/mounttest"
)

// remembering is a mount that remembers for an hour.
func (r *real) remembering() *metastore.Catalog {
	r.t.Helper()
	m := r.mount(func(_ *hive.Options, m *metastore.Options) { m.FreshFor = time.Hour })
	r.t.Cleanup(func() { require.NoError(r.t, m.Close()) })
	return m
}

// A mount that remembers for an hour hears within seconds what somebody else did.
func TestRealEvents(t *testing.T) {
	r := open(t)
	db := r.database("events")
	id := func(name string) mounts.Identifier { return mounts.Namespace{db}.Table(name) }
	iceberg := func(name string, version int) (table hivetest.Table, metadata string) {
		metadata = r.metadata(db+"/"+name, version)
		return hivetest.Table{Location: r.location(db + "/" + name), Parameters: hivetest.Iceberg(metadata)}, metadata
	}
	for _, name := range []string{"t", "u"} {
		table, _ := iceberg(name, 0)
		require.NoError(t, r.CreateTable(t.Context(), db, name, table))
	}
	m := r.remembering()
	load := func(name string) (*mounts.Table, error) {
		return m.LoadTable(t.Context(), mounttest.Caller, id(name), mounts.LoadOptions{})
	}
	_, err := load("t")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return m.Stats().Events.Polls > 0 }, 30*time.Second, time.Millisecond)
	_, err = load("u")
	require.NoError(t, err)
	since := time.Now()
	heard := func(what string, seen func() bool) {
		t.Helper()
		began := time.Now()
		require.Eventually(t, seen, 30*time.Second, 10*time.Millisecond)
		t.Logf("%s: seen after %v", what, time.Since(began))
	}
	points := func(name, metadata string) func() bool {
		return func() bool {
			table, err := load(name)
			return err == nil && table.MetadataLocation == metadata
		}
	}
	gone := func(name string) func() bool {
		return func() bool { _, err := load(name); return mounts.Is(err, mounts.NoSuchTable) }
	}

	for version := 1; version <= 3; version++ {
		table, metadata := iceberg("t", version)
		require.NoError(t, r.AlterTable(t.Context(), db, "t", table))
		heard("a commit", points("t", metadata))
	}
	table, metadata := iceberg("t", 4)
	require.NoError(t, r.RenameTable(t.Context(), db, "t", "v", table))
	heard("a rename", gone("t"))
	heard("the new name", points("v", metadata))
	require.NoError(t, r.DropTable(t.Context(), db, "v"))
	heard("a drop", gone("v"))
	table, metadata = iceberg("v", 5)
	require.NoError(t, r.CreateTable(t.Context(), db, "v", table))
	heard("a creation", points("v", metadata))

	other, err := load("u")
	require.NoError(t, err)
	require.False(t, other.Asked.IsZero() || other.Asked.After(since), "it was remembered all the time: %v", other.Asked)
	events := m.Stats().Events
	require.Zero(t, events.Failed)
	require.EqualValues(t, 1, events.Cleared, "the names in all messages could be read")
	require.GreaterOrEqual(t, events.Read, uint64(6))
}

// Events say of which catalog they are.
func TestRealEventsOfCatalogs(t *testing.T) {
	r := open(t)
	if r.version == 2 {
		return // it has no catalogs
	}
	catalog := r.prefix + "events"
	require.NoError(t, r.CreateCatalog(t.Context(), catalog, r.location("events")))
	db := r.database("both")
	require.NoError(t, r.dial(catalog).CreateDatabase(t.Context(), db, r.location("there"), nil))
	for _, c := range []string{"", catalog} {
		s := r.source(func(o *hive.Options) { o.Catalog = c })
		for _, in := range []string{"", catalog} {
			before, err := s.CurrentNotification(t.Context())
			require.NoError(t, err)
			name := "t_" + c + "_" + in
			require.NoError(t, r.dial(in).CreateTable(t.Context(), db, name, hivetest.Table{Location: r.location(name)}))
			got, err := s.Notifications(t.Context(), before, 100)
			require.NoError(t, err)
			require.NotEmpty(t, got)
			var names []metastore.ObjectName
			for _, n := range got {
				require.False(t, n.All)
				names = append(names, n.Names...)
			}
			require.Equal(t, c == in, len(names) > 0, "%q hears of a change in %q", c, in)
		}
	}
}

// A metastore that tells nobody but administrators of events serves as if there were none.
func TestRealEventsRefused(t *testing.T) {
	r := open(t)
	if r.version == 2 {
		return // it tells everybody
	}
	db := r.database("refused")
	location := r.location(db + "/t")
	first := r.metadata(db+"/t", 1)
	require.NoError(t, r.CreateTable(t.Context(), db, "t", hivetest.Table{Location: location, Parameters: hivetest.Iceberg(first)}))
	t.Cleanup(r.restart)
	t.Setenv("HIVE_SITE", "<property><name>hive.metastore.event.db.notification.api.auth</name><value>true</value></property>")
	r.restart()
	m := r.remembering()
	load := func() *mounts.Table {
		table, err := m.LoadTable(t.Context(), mounttest.Caller, mounts.Namespace{db}.Table("t"), mounts.LoadOptions{})
		require.NoError(t, err)
		return table
	}
	load()
	require.Eventually(t, func() bool { return m.Stats().Events.Failed > 1 }, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, r.dial("").AlterTable(t.Context(), db, "t", hivetest.Table{Location: location, Parameters: hivetest.Iceberg(r.metadata(db+"/t", 2))}))
	time.Sleep(3 * time.Second)
	require.Equal(t, first, load().MetadataLocation, "as the mount is configured")
	s := m.Stats()
	require.Zero(t, s.Guard.Failed)
	require.Zero(t, s.Events.Cleared, "no question was answered")
}
