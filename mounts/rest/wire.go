package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"piedmont/mounts/guard"
)

// wire is a connection that remembers that it failed: of a line that a reset cut off net/http
// says that it is malformed.
type wire struct {
	net.Conn
	failed atomic.Bool
}

// wires dials them.
func wires(d *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: conn}, nil
	}
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil && err != io.EOF { //nolint:errorlint // as readers have it
		w.failed.Store(true)
	}
	return n, err
}

// answering is how far an upstream got with its answer.
type answering struct {
	began atomic.Bool
	wire  atomic.Pointer[wire]
}

func (a *answering) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			conn := i.Conn
			if secure, ok := conn.(*tls.Conn); ok {
				conn = secure.NetConn()
			}
			if w, ok := conn.(*wire); ok {
				a.wire.Store(w)
			}
		},
		GotFirstResponseByte: func() { a.began.Store(true) },
	}
}

// malformed says whether it is what the upstream said that made a request fail. net/http has no
// types for most of what it can't read, so it is what neither the connection nor the time did.
func (a *answering) malformed(err error) bool {
	w := a.wire.Load()
	return a.began.Load() && w != nil && !w.failed.Load() && !timeIsOver(err)
}

// do makes a request. What an upstream says that is no HTTP is an answer that isn't to be
// believed, as an HTML page is.
func (c *client) do(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	var a answering
	resp, err := c.http.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), a.trace())))
	if err == nil {
		return resp, nil
	}
	said := c.quoted(r, err)
	if a.malformed(err) {
		return nil, guard.Broken("gave an answer that is no HTTP", said)
	}
	return nil, fmt.Errorf("ask the upstream: %w", said)
}

func timeIsOver(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout())
}

// quoted takes our secrets out of an error of net/http, which quotes what it couldn't read.
func (c *client) quoted(r *http.Request, err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) || failed.Timeout() {
		return err
	}
	said := failed.Err.Error()
	if words := c.secrets(r).redact(said); words != said {
		return &url.Error{Op: failed.Op, URL: failed.URL, Err: errors.New(words)}
	}
	return err
}
