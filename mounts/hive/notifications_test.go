package hive

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	hms "github.com/beltran/gohive/hive_metastore"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/mounttest"
	"piedmont/vend"
)

func (h handler) GetCurrentNotificationEventId(context.Context) (*hms.CurrentNotificationEventId, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.secretive {
		return nil, errors.New("User root is not allowed to perform this API call")
	}
	return &hms.CurrentNotificationEventId{EventId: int64(len(h.events))}, nil
}

func (h handler) GetNextNotification(_ context.Context, r *hms.NotificationEventRequest) (*hms.NotificationEventResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.secretive {
		return nil, errors.New("User root is not allowed to perform this API call")
	}
	answer := &hms.NotificationEventResponse{Events: []*hms.NotificationEvent{}}
	for _, e := range h.events {
		if e.EventId > r.LastEvent && len(answer.Events) < int(r.GetMaxEvents()) {
			answer.Events = append(answer.Events, e)
		}
	}
	return answer, nil
}

// log is an event of the next id. Empty texts are left out.
func (f *fake) log(kind, catalog, database, table, format, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	some := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	f.events = append(f.events, &hms.NotificationEvent{
		EventId: int64(len(f.events)) + 1, EventType: kind, CatName: some(catalog), DbName: some(database), TableName: some(table),
		MessageFormat: some(format), Message: message,
	})
}

func packed(message string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(message))
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// What an event says has changed: the names that it bears, for a rename the one before too, and
// everything where that can't be told.
func TestNotifications(t *testing.T) {
	const message = `{"server":"","servicePrincipal":"","db":"Sales","table":"Orders","tableType":"EXTERNAL_TABLE","tableObjBeforeJson":"{\"1\":{\"str\":\"x\"}}"}`
	orders, sold := metastore.ObjectName{Database: "sales", Name: "orders"}, metastore.ObjectName{Database: "sales", Name: "sold"}
	type names = []metastore.ObjectName
	for name, c := range map[string]struct {
		kind, catalog, database, table, format, message string
		mount                                           string // its catalog
		names                                           names
		all                                             bool
	}{
		"created":                {kind: "CREATE_TABLE", database: "Sales", table: "Orders", names: names{orders}},
		"dropped":                {kind: "DROP_TABLE", catalog: "hive", database: "sales", table: "orders", names: names{orders}},
		"a partition":            {kind: "ADD_PARTITION", database: "sales", table: "orders", message: "not read", names: names{orders}},
		"committed":              {kind: "ALTER_TABLE", database: "sales", table: "orders", format: "json-0.2", message: message, names: names{orders, orders}},
		"renamed":                {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "json-0.2", message: message, names: names{orders, sold}},
		"renamed, packed":        {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "gzip(json-2.0)", message: packed(message), names: names{orders, sold}},
		"renamed, no format":     {kind: "alter_table", database: "sales", table: "sold", message: message, names: names{orders, sold}},
		"other order":            {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "json-0.2", message: `{"x":{"db":"y","table":[1]},"table":"orders","n":null,"db":"sales"}`, names: names{orders, sold}},
		"a packed bomb":          {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "gzip(json-2.0)", message: packed(`{"x":"` + strings.Repeat("x", maxMessage) + `","db":"sales","table":"orders"}`), all: true},
		"another format":         {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "protobuf", message: message, all: true},
		"another packing":        {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "zstd(json-2.0)", message: message, all: true},
		"not packed":             {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "gzip(json-2.0)", message: message, all: true},
		"not of base64":          {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "gzip(json-2.0)", message: "H4sI\x00", all: true},
		"no message":             {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "json-0.2", all: true},
		"no object":              {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "json-0.2", message: "[1]", all: true},
		"no name":                {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "json-0.2", message: `{"db":"sales"}`, all: true},
		"a name of another sort": {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "json-0.2", message: `{"db":"sales","table":{"a":1}}`, all: true},
		"cut off":                {kind: "ALTER_TABLE", database: "sales", table: "sold", format: "json-0.2", message: message[:60], all: true},
		"a table without name":   {kind: "ALTER_TABLE", database: "sales", all: true},
		"without database":       {kind: "DROP_TABLE", table: "orders", all: true},
		"a database altered":     {kind: "ALTER_DATABASE", database: "sales", all: true},
		"a database dropped":     {kind: "DROP_DATABASE", database: "sales", all: true},
		"a database created":     {kind: "CREATE_DATABASE", database: "sales"},
		"a function":             {kind: "CREATE_FUNCTION", database: "sales"},
		"a transaction":          {kind: "OPEN_TXN"},
		"of another catalog":     {kind: "DROP_DATABASE", catalog: "spark", database: "sales"},
		"of the mount's":         {kind: "DROP_TABLE", catalog: "Spark", database: "sales", table: "orders", mount: "spark", names: names{orders}},
		"not of the mount's":     {kind: "DROP_TABLE", catalog: "hive", database: "sales", table: "orders", mount: "spark"},
		"of no catalog":          {kind: "DROP_TABLE", database: "sales", table: "orders", mount: "spark", names: names{orders}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, 3).start()
			f.log("CREATE_TABLE", "", "before", "it", "", "")
			f.log(c.kind, c.catalog, c.database, c.table, c.format, c.message)
			f.log("CREATE_TABLE", "", "behind", "it", "", "")
			s := f.source(func(o *Options) { o.Catalog = c.mount })
			current, err := s.CurrentNotification(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 3, current)
			got, err := s.Notifications(t.Context(), 1, 1)
			require.NoError(t, err)
			require.Equal(t, []metastore.Notification{{ID: 2, Names: c.names, All: c.all}}, got)
			got, err = s.Notifications(t.Context(), 0, 100)
			require.NoError(t, err)
			require.Len(t, got, 3)
			require.EqualValues(t, 3, got[2].ID)
			got, err = s.Notifications(t.Context(), 3, 100)
			require.NoError(t, err)
			require.Empty(t, got)
		})
	}
}

// Events are asked for over a connection of their own: whatever becomes of that, others are
// asked as before.
func TestEventsTakeNoConnection(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(func(o *Options) { o.Connections = 1 })
	events := func(ctx context.Context) error { _, err := s.CurrentNotification(ctx); return err }
	require.NoError(t, s.Health(t.Context()))
	require.NoError(t, events(t.Context()))
	silent := make(chan struct{}, 1)
	f.setSpoil(func(method string, c net.Conn, answer []byte) bool {
		if method == "get_current_notificationEventId" {
			silent <- struct{}{}
			return false
		}
		_, err := c.Write(answer)
		return err == nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- events(ctx) }()
	<-silent
	require.NoError(t, s.Health(t.Context()))
	cancel()
	wantError(t, <-ended, mounts.Unavailable, givenUp)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantError(t, events(short), mounts.Timeout, late)
	require.NoError(t, s.Health(t.Context()))
	f.setSpoil(nil)
	require.NoError(t, events(t.Context()))
	_, accepted, most := f.connections()
	require.Equal(t, 4, accepted, "one for all else, and one after each end of the others'")
	require.LessOrEqual(t, most, 3)
	require.NoError(t, s.Close())
	require.Eventually(t, func() bool { open, _, _ := f.connections(); return open == 0 }, 10*time.Second, time.Millisecond)
}

// followedMount remembers for an hour, with sales.orders remembered.
func followedMount(t *testing.T, f *fake) *metastore.Catalog {
	t.Helper()
	c, err := New(Options{Name: "legacy", URIs: []string{f.uri()}, Now: time.Now}, metastore.Options{
		Documents: vend.NewDocuments(1), FreshFor: time.Hour, Now: time.Now,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.NoError(t, c.TableExists(t.Context(), mounttest.Caller, orders))
	return c
}

var orders = mounts.Namespace{"sales"}.Table("orders")

// A mount hears of a table that was dropped.
func TestMountHearsOfChanges(t *testing.T) {
	f := filled(t, 3).start()
	c := followedMount(t, f)
	require.Eventually(t, func() bool { return c.Stats().Events.Polls > 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, c.TableExists(t.Context(), mounttest.Caller, orders))
	asked := f.counted("get_table_req")
	require.NoError(t, c.TableExists(t.Context(), mounttest.Caller, orders))
	require.Equal(t, asked, f.counted("get_table_req"))
	f.mu.Lock()
	delete(f.tables, "hive.sales.orders")
	f.mu.Unlock()
	f.log("DROP_TABLE", "hive", "sales", "orders", "", "")
	require.Eventually(t, func() bool {
		return mounts.Is(c.TableExists(t.Context(), mounttest.Caller, orders), mounts.NoSuchTable)
	}, 30*time.Second, 10*time.Millisecond)
	require.EqualValues(t, 1, c.Stats().Events.Read)
}

// A metastore that refuses to tell of events serves as if there were none.
func TestMountWithoutEvents(t *testing.T) {
	for name, refuse := range map[string]func(*fake){
		"refused":  func(f *fake) { f.secretive = true },
		"no calls": func(f *fake) { f.version = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			f := filled(t, 3)
			refuse(f)
			c := followedMount(t, f.start())
			require.Eventually(t, func() bool { return c.Stats().Events.Failed > 1 }, 30*time.Second, time.Millisecond)
			asked := f.counted("get_table_req")
			require.NoError(t, c.TableExists(t.Context(), mounttest.Caller, orders))
			require.Equal(t, asked, f.counted("get_table_req"))
			require.Zero(t, c.Stats().Guard.Failed)
			_, accepted, _ := f.connections()
			require.Equal(t, 2, accepted, "a refusal is an answer: the connection stays")
		})
	}
}
