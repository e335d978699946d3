package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/configs"
)

// controlled serves handlers at a socket in data.
func controlled(t *testing.T, data string, c *control, handlers map[string]func(http.ResponseWriter, *http.Request) error) {
	t.Helper()
	mux := http.NewServeMux()
	for pattern, f := range handlers {
		mux.Handle(pattern, c.handle(f))
	}
	l, err := listenControl(data)
	require.NoError(t, err)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
}

func askTest(t *testing.T, data, method, path, body string) (string, error) {
	t.Helper()
	return ask(t.Context(), askServer(data, errInUse), method, path, body)
}

// ask reads the whole answer.
func ask(ctx context.Context, client *controlClient, method, path, body string) (string, error) {
	answer, err := client.do(ctx, method, path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), errors.Join(err, failure(answer))
}

func TestControlAnswers(t *testing.T) {
	data := t.TempDir()
	controlled(t, data, newControl(&gateway{log: quiet()}), map[string]func(http.ResponseWriter, *http.Request) error{
		"POST /echo": func(w http.ResponseWriter, r *http.Request) error {
			_, err := io.Copy(w, r.Body)
			return err
		},
		"GET /nothing": func(http.ResponseWriter, *http.Request) error { return nil },
		"GET /refused": func(http.ResponseWriter, *http.Request) error { return errors.New("no, because\nof “this”") },
		"GET /half": func(w http.ResponseWriter, _ *http.Request) error {
			_, err := io.WriteString(w, "half")
			return errors.Join(err, errors.New("the rest\nis “gone”"))
		},
		"GET /long": func(http.ResponseWriter, *http.Request) error {
			return errors.New(strings.Repeat("x", 3*maxControlError))
		},
	})
	text, err := askTest(t, data, "POST", "/echo", "hello")
	require.NoError(t, err)
	assert.Equal(t, "hello", text)
	text, err = askTest(t, data, "GET", "/nothing", "")
	require.NoError(t, err)
	assert.Empty(t, text)
	_, err = askTest(t, data, "GET", "/refused", "")
	require.EqualError(t, err, "no, because\nof “this”")
	text, err = askTest(t, data, "GET", "/half", "")
	assert.Equal(t, "half", text)
	require.EqualError(t, err, "the rest\nis “gone”", "an error that comes late isn't lost")
	_, err = askTest(t, data, "GET", "/long", "")
	require.Error(t, err)
	assert.Len(t, err.Error(), maxControlError)
	_, err = askTest(t, data, "GET", "/newer", "")
	require.ErrorContains(t, err, "of another release")
}

// TestControlGivesUp: a client that stops reading doesn't hold up a handler for ever.
func TestControlGivesUp(t *testing.T) {
	data := t.TempDir()
	c := newControl(&gateway{log: quiet()})
	c.patience = 50 * time.Millisecond
	ended := make(chan error, 1)
	controlled(t, data, c, map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /endless": func(w http.ResponseWriter, _ *http.Request) error {
			for {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					ended <- err
					return err
				}
			}
		},
	})
	answer, err := askServer(data, errInUse).do(t.Context(), "GET", "/endless", nil)
	require.NoError(t, err)
	require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
	_, err = io.Copy(io.Discard, answer.Body)
	require.Error(t, err, "the answer doesn't look whole")
	require.NoError(t, answer.Body.Close())
}

func TestControlSocket(t *testing.T) {
	short, err := os.MkdirTemp("", "piedmont-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	require.NoError(t, os.Mkdir(long, 0o755))
	for _, data := range []string{short, long} {
		for _, umask := range []int{0, 0o022, 0o777} {
			t.Run(fmt.Sprintf("%d bytes, umask %04o", len(data), umask), func(t *testing.T) {
				old := syscall.Umask(umask)
				l, err := listenControl(data)
				syscall.Umask(old)
				require.NoError(t, err)
				path := filepath.Join(data, controlSocket)
				info, err := os.Stat(path)
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o600)|os.ModeSocket, info.Mode())
				assert.NoDirExists(t, path+".new")

				conn, err := dialControl(t.Context(), data)
				require.NoError(t, err)
				require.NoError(t, conn.Close())
				require.NoError(t, l.Close())
				assert.NoFileExists(t, path)
				_, err = dialControl(t.Context(), data)
				require.Error(t, err)
			})
		}
	}
}

// TestControlSocketLeftBehind: what a killed process left, also half way, is no obstacle.
func TestControlSocketLeftBehind(t *testing.T) {
	data := t.TempDir()
	l, err := listenControl(data)
	require.NoError(t, err)
	require.NoError(t, l.Listener.Close()) // as if killed: the socket stays
	require.NoError(t, os.Mkdir(filepath.Join(data, controlSocket+".new"), 0o000))
	l, err = listenControl(data)
	require.NoError(t, err)
	conn, err := dialControl(t.Context(), data)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.NoError(t, l.Close())

	require.NoError(t, os.MkdirAll(filepath.Join(data, controlSocket, "full"), 0o700))
	_, err = listenControl(data)
	require.ErrorContains(t, err, "make the socket for admin commands")
	assert.NoDirExists(t, filepath.Join(data, controlSocket+".new"))
}

func openControlOf(t *testing.T, config string) (*controlClient, error) {
	t.Helper()
	c, err := configs.Load(config)
	require.NoError(t, err)
	return openControl(t.Context(), c, quiet())
}

// TestWhoIsAsked: the server that runs, else this process, and nobody where another process
// that is no server holds the directory, or where nothing is.
func TestWhoIsAsked(t *testing.T) {
	config, data := localConfig(t, "listen: 127.0.0.1:0\n")
	_, err := openControlOf(t, config)
	require.ErrorContains(t, err, "find the registry")
	assert.NoDirExists(t, data, "asking makes nothing")

	g := mustOpen(t, config)
	client, err := openControlOf(t, config)
	require.NoError(t, err)
	_, err = ask(t.Context(), client, "GET", "/nothing", "")
	require.ErrorContains(t, err, fmt.Sprintf("in use by process %d", os.Getpid()))
	require.ErrorContains(t, err, "takes no admin commands")
	require.NoError(t, client.close())

	_, stop, ended := serving(t, g)
	client, err = openControlOf(t, config)
	require.NoError(t, err)
	_, err = ask(t.Context(), client, "GET", "/nothing", "")
	require.ErrorContains(t, err, "of another release", "the server answered")
	require.NoError(t, client.close())
	stop()
	require.NoError(t, <-ended)
	assert.NoFileExists(t, filepath.Join(data, controlSocket))
	require.NoError(t, g.close())

	client, err = openControlOf(t, config)
	require.NoError(t, err)
	_, err = lockData(data)
	require.ErrorIs(t, err, errInUse, "whoever opened the registry holds the directory")
	_, err = ask(t.Context(), client, "GET", "/nothing", "")
	require.ErrorContains(t, err, "of another release", "this process answered")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = ask(cancelled, client, "GET", "/nothing", "")
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, client.close())
	lock, err := lockData(data)
	require.NoError(t, err)
	require.NoError(t, lock.release())
}

// TestServeNeedsItsSocket: a server that no backup could reach doesn't start, and listens nowhere.
func TestServeNeedsItsSocket(t *testing.T) {
	config, data := localConfig(t, "")
	g := mustOpen(t, config)
	require.NoError(t, os.MkdirAll(filepath.Join(data, controlSocket, "full"), 0o700))
	g.config.Listen = "127.0.0.1:0"
	_, err := g.endpoints()
	require.ErrorContains(t, err, "make the socket for admin commands")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g.config.Listen = free.Addr().String()
	require.NoError(t, free.Close())
	require.ErrorContains(t, g.serve(t.Context(), io.Discard), "make the socket")
	again, err := net.Listen("tcp", g.config.Listen)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
