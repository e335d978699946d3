package hive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	hms "github.com/beltran/gohive/hive_metastore"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

const (
	unreachable = "The catalog behind mount 'legacy' (hive) can't be reached right now"
	late        = "The catalog behind mount 'legacy' (hive) did not answer in time"
	givenUp     = "The catalog behind mount 'legacy' (hive) was not waited for: the request was given up"
	nonsense    = "The catalog behind mount 'legacy' (hive) gave an answer that no metastore gives"
	tooLarge    = "The catalog behind mount 'legacy' (hive) gave an answer that is too large"
	failed      = "The catalog behind mount 'legacy' (hive) failed"
)

// everyCall is each call of a source, on things that exist.
func everyCall(s *Source) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Databases": func(ctx context.Context) error { _, _, err := s.Databases(ctx, "", 0); return err },
		"Database":  func(ctx context.Context) error { _, err := s.Database(ctx, "sales"); return err },
		"Tables": func(ctx context.Context) error {
			_, _, err := s.Objects(ctx, "sales", metastore.Table, "", 0)
			return err
		},
		"Views": func(ctx context.Context) error {
			_, _, err := s.Objects(ctx, "sales", metastore.View, "", 0)
			return err
		},
		"Object": func(ctx context.Context) error { _, err := s.Object(ctx, "sales", "orders"); return err },
		"Health": s.Health,
	}
}

// header ends where the result of an answer begins.
func header(answer []byte) int { return 4 + 4 + int(binary.BigEndian.Uint32(answer[4:8])) + 4 }

// resulting keeps the header of an answer and puts bytes of our own for the result.
func resulting(result ...byte) func([]byte) []byte {
	return func(answer []byte) []byte { return append(answer[:header(answer)], result...) }
}

// Every call meets every fault: none is taken for an absence, none costs more than it
// should, and the next call goes well, over another connection where it must.
func TestFaults(t *testing.T) {
	write := func(change func([]byte) []byte) func(*fake) func(string, net.Conn, []byte) bool {
		return func(f *fake) func(string, net.Conn, []byte) bool {
			return func(_ string, c net.Conn, answer []byte) bool {
				_, _ = c.Write(f.reframed(answer, change))
				return false
			}
		}
	}
	exceptional := func(code int32) func([]byte) []byte {
		return func(answer []byte) []byte {
			n := int(binary.BigEndian.Uint32(answer[4:8]))
			return exception(string(answer[8:8+n]), int32(binary.BigEndian.Uint32(answer[8+n:])), code)
		}
	}
	stopping := func(spoil func(c net.Conn, answer []byte)) func(*fake) func(string, net.Conn, []byte) bool {
		return func(*fake) func(string, net.Conn, []byte) bool {
			return func(_ string, c net.Conn, answer []byte) bool { spoil(c, answer); _ = c.Close(); return false }
		}
	}
	for _, c := range []struct {
		name   string
		spoil  func(*fake) func(method string, c net.Conn, answer []byte) bool
		kind   mounts.Kind
		detail string
		framed string // the detail where that is another
	}{
		{"closed before the answer", stopping(func(net.Conn, []byte) {}), mounts.Unavailable, unreachable, ""},
		{"closed in the header", stopping(func(c net.Conn, a []byte) { _, _ = c.Write(a[:3]) }), mounts.Unavailable, unreachable, ""},
		{"closed in the answer", stopping(func(c net.Conn, a []byte) { _, _ = c.Write(a[:len(a)-3]) }), mounts.Unavailable, unreachable, ""},
		{"reset in the answer", stopping(func(c net.Conn, a []byte) {
			_, _ = c.Write(a[:len(a)-3])
			_ = c.(*net.TCPConn).SetLinger(0)
		}), mounts.Unavailable, unreachable, ""},
		{"silence", func(*fake) func(string, net.Conn, []byte) bool {
			return func(string, net.Conn, []byte) bool { return false }
		}, mounts.Timeout, late, ""},
		{"silence in the answer", func(*fake) func(string, net.Conn, []byte) bool {
			return func(_ string, c net.Conn, a []byte) bool { _, _ = c.Write(a[:len(a)-3]); return false }
		}, mounts.Timeout, late, ""},
		{"an endless answer", func(*fake) func(string, net.Conn, []byte) bool {
			return func(_ string, c net.Conn, a []byte) bool {
				_, _ = c.Write(a[:len(a)-1])
				for {
					// fields that nobody knows, without end
					if _, err := c.Write(bytes.Repeat([]byte{thrift.BYTE, 0x7f, 0xff, 1}, 256)); err != nil {
						return false
					}
					time.Sleep(time.Millisecond)
				}
			}
		}, mounts.Timeout, late, nonsense},
		{"another's sequence", write(func(a []byte) []byte { a[header(a)-1]++; return a }), mounts.BadGateway, nonsense, ""},
		{"another's method", write(func(a []byte) []byte { a[8]++; return a }), mounts.BadGateway, nonsense, ""},
		{"no version", write(func(a []byte) []byte { a[0] = 0; return a }), mounts.BadGateway, nonsense, ""},
		{"a call for an answer", write(func(a []byte) []byte { a[3] = byte(thrift.CALL); return a }), mounts.BadGateway, nonsense, ""},
		{"no result", write(resulting(thrift.STOP)), mounts.BadGateway, nonsense, ""},
		{"the wrong type", write(resulting(thrift.DOUBLE, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, thrift.STOP)), mounts.BadGateway, nonsense, ""},
		{"an unknown type", write(resulting(99, 0, 0, thrift.STOP)), mounts.BadGateway, nonsense, ""},
		{"a list of 2 billion", write(resulting(thrift.LIST, 0, 0, thrift.STRING, 0x7f, 0xff, 0xff, 0xff)), mounts.BadGateway, nonsense, ""},
		{"a list of -1", write(resulting(thrift.LIST, 0, 0, thrift.STRING, 0xff, 0xff, 0xff, 0xff)), mounts.BadGateway, nonsense, ""},
		{"millions of nothings", write(resulting(slices.Concat([]byte{thrift.LIST, 0, 9, thrift.LIST, 0, 0, 0, 64}, bytes.Repeat([]byte{thrift.VOID, 0x0b, 0xeb, 0xc2, 0}, 64), []byte{thrift.STOP})...)), mounts.BadGateway, nonsense, ""},
		{"a string of 2 GB", write(resulting(thrift.STRING, 0, 9, 0x7f, 0xff, 0xff, 0xff)), mounts.BadGateway, nonsense, ""},
		{"a string of -1", write(resulting(thrift.STRING, 0, 9, 0xff, 0xff, 0xff, 0xff)), mounts.BadGateway, nonsense, ""},
		{"depth without end", write(resulting(bytes.Repeat([]byte{thrift.STRUCT, 0, 9}, 10_000)...)), mounts.BadGateway, nonsense, ""},
		{"failed inside", func(f *fake) func(string, net.Conn, []byte) bool {
			return func(_ string, c net.Conn, a []byte) bool {
				_, _ = c.Write(f.reframed(a, exceptional(thrift.INTERNAL_ERROR)))
				return true
			}
		}, mounts.Unavailable, failed, ""},
		{"unknown call", func(f *fake) func(string, net.Conn, []byte) bool {
			return func(_ string, c net.Conn, a []byte) bool {
				_, _ = c.Write(f.reframed(a, exceptional(thrift.UNKNOWN_METHOD)))
				return true
			}
		}, mounts.BadGateway, "The catalog behind mount 'legacy' (hive) lacks a call that Hive Metastores have since version 2.3", ""},
		{"an exception of Thrift's that a client makes", write(exceptional(thrift.BAD_SEQUENCE_ID)), mounts.BadGateway, nonsense, ""},
		{"MetaException", func(f *fake) func(string, net.Conn, []byte) bool {
			return func(_ string, c net.Conn, a []byte) bool {
				out := thrift.NewTMemoryBuffer()
				p := thrift.NewTBinaryProtocolConf(out, nil)
				id := int16(1)
				if bytes.Contains(a, []byte("get_database")) {
					id = 2
				}
				_ = p.WriteFieldBegin(t.Context(), "", thrift.STRUCT, id)
				_ = (&hms.MetaException{Message: "the database is gone"}).Write(t.Context(), p)
				_ = p.WriteFieldStop(t.Context())
				_, _ = c.Write(f.reframed(a, resulting(out.Bytes()...)))
				return true
			}
		}, mounts.Unavailable, failed, ""},
		{"not Thrift", stopping(func(c net.Conn, _ []byte) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }), mounts.BadGateway, nonsense, tooLarge},
		{"TLS", stopping(func(c net.Conn, _ []byte) { _, _ = c.Write([]byte{21, 3, 1, 0, 2, 2, 22}) }), mounts.BadGateway, nonsense, tooLarge},
	} {
		for _, framed := range []bool{false, true} {
			name := c.name
			want := c.detail
			if framed {
				name += ", framed"
				if c.framed != "" {
					want = c.framed
				}
			}
			if framed && c.name == "an endless answer" {
				continue // a frame says where it ends
			}
			t.Run(name, func(t *testing.T) {
				f := filled(t, 3)
				f.framed = framed
				f.start()
				s := f.source(nil)
				require.NoError(t, s.Health(t.Context()))
				for name, call := range everyCall(s) {
					f.setSpoil(c.spoil(f))
					began := time.Now()
					timeout := 10 * time.Second
					if c.kind == mounts.Timeout {
						timeout = 50 * time.Millisecond
					}
					ctx, cancel := context.WithTimeout(t.Context(), timeout)
					err := call(ctx)
					cancel()
					wantError(t, err, c.kind, want)
					require.Less(t, time.Since(began), 5*time.Second)
					f.setSpoil(nil)
					require.NoError(t, call(t.Context()), name)
				}
			})
		}
	}
}

// What answers claim costs no memory before it is there.
func TestClaimsCostNothing(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(nil)
	table := []byte{thrift.STRUCT, 0, 0, thrift.STRUCT, 0, 1}
	for name, claim := range map[string][]byte{
		"7 million parameters": slices.Concat(table, []byte{thrift.MAP, 0, 9, thrift.STRING, thrift.STRING, 0, 0x6f, 0, 0}),
		"1 million privileges": slices.Concat(table, []byte{thrift.STRUCT, 0, 13, thrift.MAP, 0, 1, thrift.STRING, thrift.LIST, 0, 0x0f, 0, 0}),
		"60 million columns":   slices.Concat(table, []byte{thrift.STRUCT, 0, 7, thrift.LIST, 0, 1, thrift.STRUCT, 3, 0x93, 0, 0}),
	} {
		f.setSpoil(func(_ string, c net.Conn, a []byte) bool { _, _ = c.Write(resulting(claim...)(a)); return false })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := s.Object(t.Context(), "sales", "orders")
		runtime.ReadMemStats(&after)
		wantError(t, err, mounts.BadGateway, nonsense)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), name)
	}
}

// An answer of more bytes than the bound ends when it has crossed it.
func TestTooLarge(t *testing.T) {
	for _, framed := range []bool{false, true} {
		f := filled(t, 3)
		f.framed = framed
		f.start()
		s := f.source(nil)
		f.mu.Lock()
		f.tables["hive.sales.orders"].Parameters = map[string]string{"a": strings.Repeat("x", maxObject)}
		f.mu.Unlock()
		_, err := s.Object(t.Context(), "sales", "orders")
		wantError(t, err, mounts.BadGateway, tooLarge)
		f.mu.Lock()
		f.tables["hive.sales.orders"].Parameters = map[string]string{"a": strings.Repeat("x", maxObject-4096)}
		f.mu.Unlock()
		_, err = s.Object(t.Context(), "sales", "orders")
		require.NoError(t, err)
	}
}

// An answer that drips, with pauses in the middle of everything, is an answer. Thrift's own
// socket timeouts would end it.
func TestSlowAnswer(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(nil)
	f.setSpoil(func(_ string, c net.Conn, answer []byte) bool {
		for i, b := range answer {
			_, _ = c.Write([]byte{b})
			if i%64 == 17 {
				time.Sleep(120 * time.Millisecond)
			}
		}
		return true
	})
	o, err := s.Object(t.Context(), "sales", "orders")
	require.NoError(t, err)
	require.Equal(t, "s3://b/1.metadata.json", o.MetadataLocation)
	_, accepted, _ := f.connections()
	require.Equal(t, 1, accepted)
}

// What comes behind an answer would be taken for the next one.
func TestMoreThanAsked(t *testing.T) {
	for _, framed := range []bool{false, true} {
		f := filled(t, 3)
		f.framed = framed
		f.start()
		s := f.source(nil)
		f.setSpoil(func(_ string, c net.Conn, answer []byte) bool {
			_, _ = c.Write(append(bytes.Clone(answer), answer...))
			return false
		})
		for range 5 {
			_, err := s.Object(t.Context(), "sales", "orders")
			require.NoError(t, err)
		}
		_, accepted, _ := f.connections()
		require.Equal(t, 5, accepted)
	}
}

// Nobody waits for a call that was given up, nor for a deadline longer than it.
func TestGivenUp(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(nil)
	f.setSpoil(func(string, net.Conn, []byte) bool { return false })
	for name, call := range everyCall(s) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		time.AfterFunc(30*time.Millisecond, cancel)
		began := time.Now()
		wantError(t, call(ctx), mounts.Unavailable, givenUp)
		require.Less(t, time.Since(began), 2*time.Second, name)
		wantError(t, call(ctx), mounts.Unavailable, givenUp) // it has ended before
	}
	f.setSpoil(nil)
	require.NoError(t, s.Health(t.Context()))
	asked := f.total()
	_, accepted, _ := f.connections()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, call := range everyCall(s) {
		require.Error(t, call(ended))
	}
	require.Equal(t, asked, f.total(), "nothing is asked for those who have gone")
	require.NoError(t, s.Health(t.Context()))
	_, after, _ := f.connections()
	require.Equal(t, accepted, after, "and no connection is lost by them")
}

// Generated code may panic over an answer that it wasn't made for.
func TestPanic(t *testing.T) {
	f := filled(t, 3).start()
	s := f.source(nil)
	_, err := ask(t.Context(), s, maxObject, func(context.Context, *hms.ThriftHiveMetastoreClient) (string, error) { panic("index out of range") })
	wantError(t, s.fail("loadTable", "a.b", mounts.NoSuchTable, err), mounts.BadGateway, nonsense)
	require.NoError(t, s.Health(t.Context()))
	require.Len(t, s.pool.slots, 0)
}

func TestErrorsAreSafe(t *testing.T) {
	s := filled(t, 3).start().source(func(o *Options) { o.URIs = []string{"thrift://127.0.0.1:1"}; o.Name = "" })
	err := s.Health(t.Context())
	wantError(t, err, mounts.Unavailable, "The catalog behind the root mount (hive) can't be reached right now")
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	require.NotContains(t, e.Message(), "127.0.0.1")
	require.Contains(t, err.Error(), "127.0.0.1", "the log says more")
	kept := &mounts.Error{Kind: mounts.BadRequest}
	require.Same(t, error(kept), s.fail("x", "y", mounts.NoSuchTable, kept))
	require.NoError(t, s.fail("x", "y", mounts.NoSuchTable, nil))
	_, text := classify(errors.New("what else there is"))
	require.Equal(t, "can't be reached right now", text)
}
