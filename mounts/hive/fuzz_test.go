package hive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	hms "github.com/beltran/gohive/hive_metastore"

	"piedmont/mounts/guard"
)

// FuzzAnswer reads any bytes for a table, a database and names.
func FuzzAnswer(f *testing.F) {
	for _, seed := range [][]byte{
		{thrift.STOP},
		{thrift.STRUCT, 0, 0, thrift.STRUCT, 0, 1, thrift.MAP, 0, 9, thrift.STRING, thrift.STRING, 0, 0, 0, 1, 0, 0, 0, 1, 'a', 0, 0, 0, 1, 'b', thrift.STOP, thrift.STOP, thrift.STOP},
		{thrift.LIST, 0, 0, thrift.STRING, 0, 0, 0, 2, 0, 0, 0, 1, 'a', 0, 0, 0, 0, thrift.STOP},
		{thrift.STRUCT, 0, 1, thrift.STRING, 0, 1, 0, 0, 0, 1, 'x', thrift.STOP, thrift.STOP},
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, result []byte) {
		answer := func(method string) *session {
			return newSession(newTransport(recorded{method: method, result: result}, false))
		}
		for method, question := range map[string]func(context.Context, *session) (any, error){
			"get_table_req": func(ctx context.Context, c *session) (any, error) {
				return c.client.GetTableReq(ctx, hms.NewGetTableRequest())
			},
			"get_database": func(ctx context.Context, c *session) (any, error) { return c.client.GetDatabase(ctx, "a") },
			"get_table_names_by_filter": func(ctx context.Context, c *session) (any, error) {
				return c.client.GetTableNamesByFilter(ctx, "a", "b", -1)
			},
		} {
			c := answer(method)
			c.transport.begin(maxObject)
			_, err := call(t.Context(), c, func(ctx context.Context) (any, error) { return question(ctx, c) })
			if err == nil || said(err) {
				continue
			}
			var known *guard.Fault
			if c.transport.fault == nil && !errors.As(err, &known) {
				t.Fatalf("an error without a name: %v", err)
			}
			if strings.Contains(err.Error(), "panic:") {
				t.Fatal(err)
			}
		}
	})
}

// FuzzMessage reads any bytes for the message of an event.
func FuzzMessage(f *testing.F) {
	f.Add("json-0.2", `{"server":"","db":"sales","table":"orders","tableObjBeforeJson":"{}"}`)
	f.Add("json-2.0", `{"a":[{"db":"x"}],"table":"t","db":"d"}`)
	f.Add("gzip(json-2.0)", packed(`{"db":"sales","table":"orders"}`))
	f.Add("gzip(json-2.0)", "H4sI")
	f.Add("", `{"db":1,"db":null,"table":"T","db":"D"`)
	f.Fuzz(func(t *testing.T, format, message string) {
		name, err := nameBefore(format, message)
		if err == nil && (name.Database == "" || name.Name == "" || strings.ToLower(name.Name) != name.Name) {
			t.Fatalf("%q is no name", name)
		}
	})
}

// recorded answers each call with the same result.
type recorded struct {
	method string
	result []byte
}

func (r recorded) send(context.Context, []byte, int64) (io.Reader, error) {
	head := binary.BigEndian.AppendUint32(nil, 0x80010000|uint32(thrift.REPLY))
	head = binary.BigEndian.AppendUint32(head, uint32(len(r.method)))
	head = append(head, r.method...)
	head = binary.BigEndian.AppendUint32(head, 1)
	return bytes.NewReader(append(head, r.result...)), nil
}
