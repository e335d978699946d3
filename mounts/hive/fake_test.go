package hive

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	hms "github.com/beltran/gohive/hive_metastore"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// fake is a metastore over real sockets that behaves as real ones were seen to: it ignores
// case and spaces around names, knows "@catalog#db" from version 3 on, has an empty list
// for a missing database, and knows no call besides the few that we make. It spoils answers
// on request, and it fails the test when a connection is used again that should not be.
type fake struct {
	t       *testing.T
	address string
	version int
	framed  bool

	mu        sync.Mutex
	spoil     func(method string, c net.Conn, answer []byte) bool // nil for none; false when it sent no sound answer
	databases map[string]*hms.Database                            // by "catalog.db"
	tables    map[string]*hms.Table                               // by "catalog.db.t"
	calls     map[string]int
	users     []string
	sick      string // what get_database says, if anything
	events    []*hms.NotificationEvent
	secretive bool              // it refuses to tell of events
	open      map[net.Conn]bool // whether it is spoilt
	accepted  int
	most      int // connections open at once
}

func newFake(t *testing.T, version int) *fake {
	t.Helper()
	f := &fake{
		t: t, version: version, databases: map[string]*hms.Database{}, tables: map[string]*hms.Table{},
		calls: map[string]int{}, open: map[net.Conn]bool{},
	}
	f.database("default", nil)
	return f
}

// start listens until the test ends.
func (f *fake) start() *fake {
	f.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(f.t, err)
	f.serve(l)
	return f
}

func (f *fake) serve(l net.Listener) {
	f.address = l.Addr().String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.open[conn] = false
			f.accepted++
			f.most = max(f.most, len(f.open))
			f.mu.Unlock()
			running.Go(func() { f.converse(conn) })
		}
	})
	f.t.Cleanup(func() {
		_ = l.Close()
		f.mu.Lock()
		for conn := range f.open {
			_ = conn.Close()
		}
		f.mu.Unlock()
		running.Wait()
	})
}

func (f *fake) converse(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		f.mu.Lock()
		delete(f.open, conn)
		f.mu.Unlock()
	}()
	in := newTransport(stream{conn}, f.framed)
	in.from = conn
	for {
		in.left = 1 << 30
		if _, err := in.in.Peek(1); err != nil {
			return
		}
		method, answer, err := f.answer(in)
		if err != nil {
			return
		}
		f.mu.Lock()
		spoilt, spoil := f.open[conn], f.spoil
		f.mu.Unlock()
		if spoilt {
			f.t.Errorf("%s came over a connection whose last answer was no answer", method)
			return
		}
		if f.framed {
			answer = append(binary.BigEndian.AppendUint32(nil, uint32(len(answer))), answer...)
		}
		if spoil != nil {
			if !spoil(method, conn, answer) {
				f.mu.Lock()
				if _, ok := f.open[conn]; ok {
					f.open[conn] = true
				}
				f.mu.Unlock()
			}
			continue
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// answer reads one call and makes the bytes of its answer.
func (f *fake) answer(in thrift.TTransport) (string, []byte, error) {
	ctx := context.Background()
	protocol := thrift.NewTBinaryProtocolConf(in, nil)
	method, _, sequence, err := protocol.ReadMessageBegin(ctx)
	if err != nil {
		return "", nil, err
	}
	f.mu.Lock()
	f.calls[method]++
	f.mu.Unlock()
	out := thrift.NewTMemoryBuffer()
	reply := thrift.NewTBinaryProtocolConf(out, nil)
	all := hms.NewThriftHiveMetastoreProcessor(handler{fake: f})
	known := []string{"get_database", "get_all_databases", "get_table_req", "get_table_names_by_filter", "get_tables_by_type", "set_ugi"}
	if f.version > 1 {
		known = append(known, "get_current_notificationEventId", "get_next_notification")
	}
	if f.version > 2 {
		known = append(known, "get_databases", "get_catalogs")
	}
	if process, ok := all.GetProcessorFunction(method); ok && slices.Contains(known, method) {
		if ok, err := process.Process(ctx, sequence, protocol, reply); !ok && out.Len() == 0 {
			return "", nil, err
		}
		return method, out.Bytes(), nil
	}
	if err := protocol.Skip(ctx, thrift.STRUCT); err != nil {
		return "", nil, err
	}
	return method, exception(method, sequence, thrift.UNKNOWN_METHOD), nil
}

// exception is the answer by which Thrift itself fails a call.
func exception(method string, sequence, code int32) []byte {
	out := thrift.NewTMemoryBuffer()
	p := thrift.NewTBinaryProtocolConf(out, nil)
	ctx := context.Background()
	_ = p.WriteMessageBegin(ctx, method, thrift.EXCEPTION, sequence)
	_ = thrift.NewTApplicationException(code, "Invalid method name: '"+method+"'").Write(ctx, p)
	return out.Bytes()
}

func (f *fake) database(name string, parameters map[string]string) {
	d := hms.NewDatabase()
	d.Name, d.Parameters, d.LocationUri = name, parameters, "file:/warehouse/"+name
	f.databases["hive."+name] = d
}

func (f *fake) table(database, name, of string, parameters map[string]string) *hms.Table {
	t := hms.NewTable()
	t.DbName, t.TableName, t.TableType, t.Parameters = database, name, of, parameters
	t.Sd = &hms.StorageDescriptor{Location: "file:/warehouse/" + database + "/" + name}
	f.tables["hive."+database+"."+name] = t
	return t
}

func (f *fake) setSpoil(spoil func(method string, c net.Conn, answer []byte) bool) {
	f.mu.Lock()
	f.spoil = spoil
	f.mu.Unlock()
}

func (f *fake) counted(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

func (f *fake) total() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, calls := range f.calls {
		n += calls
	}
	return n
}

func (f *fake) connections() (open, accepted, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.open), f.accepted, f.most
}

func (f *fake) uri() string { return "thrift://" + f.address }

// source is one over this metastore.
func (f *fake) source(change func(*Options)) *Source {
	f.t.Helper()
	o := Options{Name: "legacy", URIs: []string{f.uri()}, Framed: f.framed, Now: time.Now}
	if change != nil {
		change(&o)
	}
	s, err := NewSource(o)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = s.Close() })
	return s
}

// reframed makes an answer's bytes into another's, with the length of the frame put right.
func (f *fake) reframed(answer []byte, change func([]byte) []byte) []byte {
	if !f.framed {
		return change(bytes.Clone(answer))
	}
	changed := change(bytes.Clone(answer[4:]))
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(changed))), changed...)
}

// wantError checks a source's error.
func wantError(t *testing.T, err error, kind mounts.Kind, detail string) {
	t.Helper()
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind, "%v", err)
	require.Equal(t, detail, e.Detail)
}

var _ io.Closer = (*Source)(nil)
