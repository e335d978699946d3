package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"piedmont/configs"
)

// controlClient asks a control: that of the server which holds the data directory, or one
// in this process.
type controlClient struct {
	http  *http.Client
	close func() error
}

// openControl finds whom to ask about the registry of a configuration. A registry file
// belongs to one process: where that is a server, the server is asked. Else, and for a
// database, this process opens the registry itself. It makes no registry file.
func openControl(ctx context.Context, c configs.Config, log *slog.Logger) (*controlClient, error) {
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	c.Data = data
	if c.Registry.Bolt == nil {
		return askOurselves(ctx, c, nil, log)
	}
	if _, err := os.Stat(registryPath(c)); err != nil {
		return nil, fmt.Errorf("find the registry: %w", err)
	}
	lock, err := lockData(data)
	if errors.Is(err, errInUse) {
		return askServer(data, err), nil
	}
	if err != nil {
		return nil, err
	}
	return askOurselves(ctx, c, lock, log)
}

// askServer connects through the data directory's socket. taken says who holds the directory.
func askServer(data string, taken error) *controlClient {
	return newControlClient(func(ctx context.Context) (net.Conn, error) {
		conn, err := dialControl(ctx, data)
		if err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("%w: that process takes no admin commands: %w", taken, err)
		}
		return conn, err
	}, func() error { return nil })
}

// askOurselves opens the registry and serves the same handler in this process.
func askOurselves(ctx context.Context, c configs.Config, lock *dataLock, log *slog.Logger) (*controlClient, error) {
	g := &gateway{config: c, lock: lock, log: log, metrics: prometheus.NewRegistry()}
	var err error
	if g.registry, err = openRegistry(ctx, c); err == nil {
		err = checkRestored(ctx, g.registry)
	}
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	listener := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := g.controlServer()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return newControlClient(listener.dial, func() error {
		err := server.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return errors.Join(err, g.close())
	}), nil
}

// newControlClient makes a client with a connection for each request: a server may be
// stopped in between.
func newControlClient(dial func(context.Context) (net.Conn, error), closing func() error) *controlClient {
	transport := &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives:  true,
		DisableCompression: true,
	}
	return &controlClient{http: &http.Client{Transport: transport}, close: closing}
}

var errOtherRelease = errors.New("the running server doesn't know this command: it is of another release")

// maxControlError bounds the text of an error.
const maxControlError = 64 << 10

// do sends one request. An answer that isn't 200 is an error, with the answer's text. Of one
// that is, failure says whether it is whole, once its body was read to the end.
func (c *controlClient) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://piedmont"+path, body)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(r)
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return nil, wrapped.Err // without the URL, which means nothing to the user
	}
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxControlError))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, fmt.Errorf("read what the server refused: %w", err)
	}
	if answer.StatusCode == http.StatusNotFound {
		return nil, errOtherRelease
	}
	return nil, errors.New(strings.TrimSpace(string(text)))
}

// failure is the error that came up after the answer had begun.
func failure(answer *http.Response) error {
	quoted := answer.Trailer.Get(errorTrailer)
	if quoted == "" {
		return nil
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		text = quoted
	}
	return errors.New(text)
}

// pipeListener connects a client and a server of one process.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "this process", Net: "pipe"} }

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
