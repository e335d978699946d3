package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServeFlags(t *testing.T) {
	config, data := localConfig(t, "listen: 127.0.0.1:7777\n")
	for _, c := range []struct {
		flags        serveFlags
		listen, data string
	}{
		{serveFlags{config: config}, "127.0.0.1:7777", data},
		{serveFlags{config: config, listen: ":0"}, ":0", data},
		{serveFlags{config: config, data: "relative"}, "127.0.0.1:7777", "relative"},
	} {
		got, dir, err := c.flags.load()
		require.NoError(t, err)
		assert.Equal(t, c.listen, got.Listen)
		assert.Equal(t, c.data, got.Data)
		assert.Equal(t, filepath.Dir(config), dir)
	}
	for _, listen := range []string{"nowhere", "8181", "::1:80:x"} {
		_, _, err := (&serveFlags{config: config, listen: listen}).load()
		require.EqualError(t, err, "--listen: want an address like 127.0.0.1:8181")
	}
}

// Without a configuration everything is below the data directory, and absolute: both ends
// up in what clients see.
func TestServeWithoutAConfiguration(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	for data, want := range map[string]string{"": filepath.Join(here, "piedmont-data"), "./other/place": filepath.Join(here, "other/place")} {
		c, dir, err := (&serveFlags{data: data}).load()
		require.NoError(t, err)
		assert.Empty(t, dir)
		assert.Equal(t, "file://"+want+"/warehouse/", c.Mounts[0].Native.Warehouse)
		assert.DirExists(t, filepath.Join(want, "warehouse"))
		g, err := openGateway(t.Context(), c, dir, quiet())
		require.NoError(t, err)
		assert.Equal(t, want, g.config.Data)
		assert.FileExists(t, filepath.Join(want, adminKeyFile))
		assert.FileExists(t, filepath.Join(want, "registry.db"))
		require.NoError(t, g.close())
	}
}

func TestServeRefusesATakenAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	config, _ := localConfig(t, "")
	code, _, errs := piedmont(t, "serve", "--config", config, "--listen", taken.Addr().String())
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "piedmont: listen: ")

	config, _ = localConfig(t, "operator: "+taken.Addr().String()+"\n")
	code, _, errs = piedmont(t, "serve", "--config", config, "--listen", "127.0.0.1:0")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "piedmont: listen for the operator: ")
}

// serving starts a gateway and returns its address, what stops it, and its end.
func serving(t *testing.T, g *gateway) (uri string, stop context.CancelFunc, ended chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	out, in := io.Pipe()
	ended = make(chan error, 1)
	go func() {
		ended <- g.serve(ctx, in)
		_ = in.Close()
	}()
	greeting := bufio.NewReader(out)
	line, err := greeting.ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, greeting) }()
	_, uri, ok := strings.Cut(strings.TrimSpace(line), "serves Iceberg REST at ")
	require.True(t, ok, line)
	return uri, stop, ended
}

// A stop waits for requests under way, and takes no new ones.
func TestShutdownWithARequestUnderWay(t *testing.T) {
	config, _ := localConfig(t, "listen: 127.0.0.1:0\n")
	g := mustOpen(t, config)
	uri, stop, ended := serving(t, g)

	body, send := io.Pipe()
	inHandler := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(inHandler) }})
	r, err := http.NewRequestWithContext(ctx, "POST", uri+"/v1/namespaces", body)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+g.generated)
	r.Header.Set("Expect", "100-continue")
	answered := make(chan int, 1)
	go func() {
		client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
		resp, err := client.Do(r)
		if !assert.NoError(t, err) {
			answered <- 0
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	<-inHandler
	stop()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(uri, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, 10*time.Second, time.Millisecond, "no new requests")
	assert.Equal(t, 503, get(g.router, "/readyz").Code)
	select {
	case err := <-ended:
		t.Fatal("stopped with a request under way: ", err)
	default:
	}
	_, err = io.WriteString(send, `{"namespace":["late"]}`)
	require.NoError(t, err)
	require.NoError(t, send.Close())
	assert.Equal(t, 200, <-answered)
	require.NoError(t, <-ended)
	require.NoError(t, g.close())
}

func TestGreeting(t *testing.T) {
	config, data := localConfig(t, "listen: 127.0.0.1:0\n")
	g := mustOpen(t, config)
	var out strings.Builder
	g.greet(&out, "127.0.0.1:8181", "")
	_, secret, _ := strings.Cut(g.generated, ":")
	assert.NotContains(t, out.String(), secret, "the key is never printed")
	assert.Contains(t, out.String(), filepath.Join(data, adminKeyFile))
	for _, engine := range []string{"PyIceberg", "Spark", "DuckDB", "http://127.0.0.1:8181"} {
		assert.Contains(t, out.String(), engine)
	}
}

// TestGreetingOfTheOperator: where its listener is in the end is told, and only where there is one.
func TestGreetingOfTheOperator(t *testing.T) {
	for more, want := range map[string]int{"": 0, "operator: localhost:0\n": 1} {
		config, _ := localConfig(t, "listen: 127.0.0.1:0\n"+more)
		g := mustOpen(t, config)
		ctx, stop := context.WithCancel(t.Context())
		out, in := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- g.serve(ctx, in)
			_ = in.Close()
		}()
		found := 0
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "The admin key is in ") {
				stop() // what follows the addresses
			}
			if _, after, ok := strings.Cut(lines.Text(), "Metrics, the state of the mounts and profiles are at "); ok {
				uri, _, _ := strings.Cut(after, ",")
				answer, err := http.Get(uri + "/mounts")
				require.NoError(t, err)
				_ = answer.Body.Close()
				assert.Equal(t, 200, answer.StatusCode)
				found++
			}
		}
		assert.Equal(t, want, found)
		require.NoError(t, <-ended)
		stop()
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := piedmont(t, "version")
	assert.Zero(t, code)
	assert.Contains(t, out, "piedmont "+version)
	code, _, errs := piedmont(t, "sevre")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "unknown command")
}
