package hive

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	hms "github.com/beltran/gohive/hive_metastore"

	"piedmont/mounts/guard"
)

const (
	// connectTimeout bounds how long one connection may take to be made, authentication
	// included. Where several metastores are left to try they share the caller's time.
	connectTimeout = 5 * time.Second
	keepAlive      = 30 * time.Second
)

// endpoint is one metastore.
type endpoint struct {
	// dial makes a connection, authenticated and ready for calls.
	dial func(ctx context.Context) (*session, error)
	// failed is when it failed last; zero where it works. The pool's lock guards it.
	failed time.Time
}

// session is one connection with its client, for one call at a time.
type session struct {
	at        *endpoint
	client    *hms.ThriftHiveMetastoreClient
	transport *transport

	// conn is what is read from and raw what is below it: the same but for TLS. Both are nil
	// over HTTP, whose connections are net/http's.
	conn, raw net.Conn
	woken     chan bool // see pool
}

// newSession makes a client of a transport.
func newSession(t *transport) *session {
	strict := true
	config := &thrift.TConfiguration{MaxMessageSize: maxList, TBinaryStrictRead: &strict, TBinaryStrictWrite: &strict}
	p := newProtocol(t, config)
	return &session{client: hms.NewThriftHiveMetastoreClient(thrift.NewTStandardClient(p, p)), transport: t}
}

// close ends the connection at once, also under a call that waits for it. TLS's own goodbye
// could block.
func (c *session) close() {
	if c.raw != nil {
		_ = c.raw.Close() // nothing was written that matters
	}
}

// dialer makes the connections of an endpoint.
type dialer struct {
	address string // host:port
	framed  bool
	tls     *tls.Config // nil without TLS
	auth    mechanism   // nil without authentication
	user    string
}

// endpoints makes one for each URI.
func (o *Options) endpoints(urls []*url.URL) ([]*endpoint, error) {
	config, err := o.TLS.config()
	if err != nil {
		return nil, err
	}
	list := make([]*endpoint, len(urls))
	for i, u := range urls {
		if u.Scheme != "thrift" {
			list[i] = &endpoint{dial: newHTTP(u, config, o.User, o.Connections).dial}
			continue
		}
		d := &dialer{address: u.Host, framed: o.Framed, user: o.User}
		if o.TLS != nil {
			d.tls = config.Clone()
			if d.tls.ServerName == "" {
				d.tls.ServerName = u.Hostname()
			}
		}
		if o.Plain != nil {
			d.auth, d.framed = o.Plain, true
		}
		list[i] = &endpoint{dial: d.dial}
	}
	return list, nil
}

// dial connects, within the context.
func (d *dialer) dial(ctx context.Context) (*session, error) {
	raw, err := (&net.Dialer{KeepAlive: keepAlive}).DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, fmt.Errorf("connect to the metastore: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	c, err := d.prepare(ctx, raw)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close() // it was never used
		return nil, explainDial(ctx, err)
	}
	return c, nil
}

// explainDial: a connection that was closed because the time was over fails by that.
func explainDial(ctx context.Context, err error) error {
	var f *guard.Fault
	if ctx.Err() != nil && !errors.As(err, &f) {
		return fmt.Errorf("connect to the metastore: %w (%w)", ctx.Err(), err)
	}
	return err
}

// prepare makes a session of a bare connection.
func (d *dialer) prepare(ctx context.Context, raw net.Conn) (*session, error) {
	conn := raw
	if d.tls != nil {
		secure := tls.Client(raw, d.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("connect to the metastore by TLS: %w", err)
		}
		conn = secure
	}
	if d.auth != nil {
		if err := negotiate(conn, d.auth); err != nil {
			return nil, err
		}
	}
	c := newSession(newTransport(stream{conn}, d.framed))
	c.conn, c.raw = conn, raw
	if d.user == "" {
		return c, nil
	}
	c.transport.begin(maxObject)
	if _, err := call(ctx, c, func(ctx context.Context) ([]string, error) {
		return c.client.SetUgi(ctx, d.user, []string{})
	}); err != nil {
		return nil, fmt.Errorf("name the user: %w", err)
	}
	return c, nil
}

// stream is a carrier over one connection.
type stream struct{ conn net.Conn }

func (s stream) send(_ context.Context, message []byte, _ int64) (io.Reader, error) {
	_, err := s.conn.Write(message)
	return s.conn, err
}
