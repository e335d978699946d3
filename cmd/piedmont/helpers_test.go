package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// piedmont runs a command and returns its exit code and what it wrote.
func piedmont(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// write makes a file in dir and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// localConfig is a configuration with one native mount at the root on the local disk, and
// what else is given.
func localConfig(t *testing.T, more string) (config, data string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "warehouse"), 0o700))
	text := strings.ReplaceAll(`data: DIR/data
storage:
  - {name: disk, location: "file://DIR/warehouse/", local: {}}
mounts:
  - {at: "", native: {id: main, warehouse: "file://DIR/warehouse/"}, storage: [disk]}
`+more, "DIR", dir)
	return write(t, dir, "piedmont.yaml", text), filepath.Join(dir, "data")
}

// open puts a gateway together as serve does.
func open(t *testing.T, config string) (*gateway, error) {
	t.Helper()
	c, dir, err := (&serveFlags{config: config}).load()
	if err != nil {
		return nil, err
	}
	g, err := openGateway(t.Context(), c, dir, quiet())
	if err == nil {
		t.Cleanup(func() { _ = g.close() }) // some tests close it themselves
	}
	return g, err
}

// openLogged is mustOpen with what the start logged.
func openLogged(t *testing.T, config string) (g *gateway, log string) {
	t.Helper()
	c, dir, err := (&serveFlags{config: config}).load()
	require.NoError(t, err)
	var out bytes.Buffer
	g, err = openGateway(t.Context(), c, dir, slog.New(slog.NewTextHandler(&out, nil)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = g.close() }) // some tests close it themselves
	return g, out.String()
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func mustOpen(t *testing.T, config string) *gateway {
	t.Helper()
	g, err := open(t, config)
	require.NoError(t, err)
	return g
}

// get asks a handler without a credential.
func get(h http.Handler, path string) *httptest.ResponseRecorder {
	return send(h, http.MethodGet, path, "", "")
}

func send(h http.Handler, method, path, credential, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	if credential != "" {
		r.Header.Set("Authorization", "Bearer "+credential)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
