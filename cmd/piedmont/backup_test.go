package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/native"
)

// exists asks a server for a namespace.
func exists(g *gateway, namespace string) bool {
	return send(g.router, "HEAD", "/v1/namespaces/"+namespace, g.generated, "").Code == 204
}

func create(t *testing.T, g *gateway, namespace string) {
	t.Helper()
	require.Equal(t, 200, send(g.router, "POST", "/v1/namespaces", g.generated, `{"namespace":["`+namespace+`"]}`).Code)
}

// backedUpCatalog is a configuration, and the file of a backup that has the namespace sales.
func backedUpCatalog(t *testing.T) (config, file string) {
	t.Helper()
	config, _ = localConfig(t, "listen: 127.0.0.1:0\n")
	g := mustOpen(t, config)
	create(t, g, "sales")
	require.NoError(t, g.close())
	file = filepath.Join(t.TempDir(), "file")
	code, _, errs := piedmont(t, "backup", "--config", config, "--output", file)
	require.Zero(t, code, errs)
	return config, file
}

func TestBackupOfARunningServer(t *testing.T) {
	config, _ := localConfig(t, "listen: 127.0.0.1:0\n")
	g := mustOpen(t, config)
	create(t, g, "sales")
	_, stop, ended := serving(t, g)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	code, out, errs := piedmont(t, "backup", "--config", config, "--output", file)
	require.Zero(t, code, errs)
	assert.Empty(t, out)
	assert.Regexp(t, `^backed up to `+file+`: \d+ records, .*records/s\n$`, errs, "one line")
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	create(t, g, "later")
	code, stdout, errs := piedmont(t, "backup", "--config", config, "--output", "-")
	require.Zero(t, code, errs)
	stop()
	require.NoError(t, <-ended)
	require.NoError(t, g.close())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing else is left")

	data := filepath.Join(t.TempDir(), "restored")
	code, out, errs = piedmont(t, "restore", "--config", config, "--data", data, "--input", file)
	require.Zero(t, code, errs)
	assert.Empty(t, out)
	assert.Regexp(t, `^restored \d+ records, .*\n$`, errs)
	g = openAt(t, config, data)
	assert.True(t, exists(g, "sales"))
	assert.False(t, exists(g, "later"))
	require.NoError(t, g.close())

	piped := filepath.Join(t.TempDir(), "piped")
	root := command()
	root.SetArgs([]string{"restore", "--config", config, "--data", piped, "--input", "-"})
	root.SetIn(strings.NewReader(stdout))
	root.SetErr(io.Discard)
	require.NoError(t, root.ExecuteContext(t.Context()))
	g = openAt(t, config, piped)
	assert.True(t, exists(g, "later"))
	require.NoError(t, g.close())
}

// openAt puts a gateway together as serve --data does.
func openAt(t *testing.T, config, data string) *gateway {
	t.Helper()
	g, err := tryOpenAt(t, config, data)
	require.NoError(t, err)
	return g
}

func tryOpenAt(t *testing.T, config, data string) (*gateway, error) {
	t.Helper()
	c, dir, err := (&serveFlags{config: config, data: data}).load()
	require.NoError(t, err)
	return openGateway(t.Context(), c, dir, quiet())
}

func TestBackupReplacesNothing(t *testing.T) {
	config, file := backedUpCatalog(t)
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, output := range []string{file, filepath.Dir(file)} {
		code, _, errs := piedmont(t, "backup", "--config", config, "--output", output)
		assert.Equal(t, 1, code)
		assert.Contains(t, errs, "exists, and a backup replaces nothing")
	}
	code, _, errs := piedmont(t, "backup", "--config", config, "--output", filepath.Join(t.TempDir(), "none", "file"))
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "no such file")
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	code, _, errs = piedmont(t, "backup", "--config", config, "--data", t.TempDir(), "--output", file+"2")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "find the registry", "a mistyped directory is no empty registry")
}

// TestBackupThatFails: whatever goes wrong on the way, no file is left that looks like one.
func TestBackupThatFails(t *testing.T) {
	_, file := backedUpCatalog(t)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		handler func(http.ResponseWriter, *http.Request) error
		want    string
	}{
		"an error half way": {func(w http.ResponseWriter, _ *http.Request) error {
			_, err := w.Write(whole[:len(whole)/2])
			return errors.Join(err, errors.New("the registry is gone"))
		}, "the registry is gone"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = w.Write(whole[:len(whole)-1])
			return nil
		}, "the backup is cut off"},
		"killed": {func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = w.Write(whole)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "the backup is cut off"},
		"damaged": {func(w http.ResponseWriter, _ *http.Request) error {
			damaged := bytes.Clone(whole)
			damaged[len(damaged)-5] ^= 1
			_, _ = w.Write(damaged)
			return nil
		}, "the backup is damaged"},
		"nothing": {func(http.ResponseWriter, *http.Request) error { return nil }, "the backup is cut off"},
		"refused": {func(http.ResponseWriter, *http.Request) error { return native.ErrRestoring }, "hasn't ended"},
	} {
		t.Run(name, func(t *testing.T) {
			data, dir := t.TempDir(), t.TempDir()
			controlled(t, data, &control{log: quiet(), patience: controlPatience}, map[string]func(http.ResponseWriter, *http.Request) error{"GET " + backupPath: c.handler})
			client := askServer(data, errInUse)
			err := backupTo(t.Context(), client, filepath.Join(dir, "file"), newProgress(io.Discard, ""))
			require.ErrorContains(t, err, c.want)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Empty(t, entries)
		})
	}
}

func TestBackupInterrupted(t *testing.T) {
	config, _ := backedUpCatalog(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs bytes.Buffer
	assert.Equal(t, 1, run(ctx, []string{"backup", "--config", config, "--output", filepath.Join(dir, "file")}, io.Discard, &errs))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestRestoreRefusesWhatIsThere(t *testing.T) {
	config, file := backedUpCatalog(t)
	code, _, errs := piedmont(t, "restore", "--config", config, "--input", file)
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "the registry isn't empty: a backup is restored where no server was ever started: move ")
	g := mustOpen(t, config)
	assert.True(t, exists(g, "sales"))
	code, _, errs = piedmont(t, "restore", "--config", config, "--input", file)
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "is in use by process")
	require.NoError(t, g.close())

	data := t.TempDir() // of a server that was only started
	require.NoError(t, openAt(t, config, data).close())
	code, _, errs = piedmont(t, "restore", "--config", config, "--data", data, "--input", file)
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "the registry isn't empty")
}

// TestRestoreOfAFileThatIsNoBackup writes nothing, makes nothing.
func TestRestoreOfAFileThatIsNoBackup(t *testing.T) {
	config, file := backedUpCatalog(t)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	data := filepath.Join(t.TempDir(), "data")
	for want, content := range map[string][]byte{
		"the backup is cut off":         whole[:len(whole)-1],
		"the backup is damaged":         append(bytes.Clone(whole), whole...),
		"this is no backup of Piedmont": []byte("a text"),
	} {
		bad := write(t, t.TempDir(), "bad", string(content))
		code, _, errs := piedmont(t, "restore", "--config", config, "--data", data, "--input", bad)
		assert.Equal(t, 1, code)
		assert.Contains(t, errs, want)
		assert.Contains(t, errs, bad)
		assert.NoDirExists(t, data)
	}
	code, _, errs := piedmont(t, "restore", "--config", config, "--data", data, "--input", file+"none")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "--input: ")
}

// TestHalfRestored: servers, checks and backups refuse it, another restore makes good.
func TestHalfRestored(t *testing.T) {
	config, file := backedUpCatalog(t)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	data := t.TempDir()
	root := command()
	root.SetArgs([]string{"restore", "--config", config, "--data", data, "--input", "-"})
	root.SetIn(bytes.NewReader(whole[:len(whole)-1]))
	err = root.ExecuteContext(t.Context())
	require.ErrorContains(t, err, "the backup is cut off (the registry holds a part of the backup, and no server takes it: run piedmont restore again)")

	_, err = tryOpenAt(t, config, data)
	require.ErrorIs(t, err, native.ErrRestoring)
	require.ErrorContains(t, err, "run it again (with piedmont restore)")
	code, out, _ := piedmont(t, "check", "--config", config, "--data", data)
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "hasn't ended")
	code, _, errs := piedmont(t, "backup", "--config", config, "--data", data, "--output", file+"2")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "hasn't ended")
	assert.NoFileExists(t, file+"2")

	code, _, errs = piedmont(t, "restore", "--config", config, "--data", data, "--input", file)
	require.Zero(t, code, errs)
	g := openAt(t, config, data)
	assert.True(t, exists(g, "sales"))
	require.NoError(t, g.close())
}

// TestRestoreInterrupted ends a restore that waits for its input.
func TestRestoreInterrupted(t *testing.T) {
	config, file := backedUpCatalog(t)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	data := t.TempDir()
	in, feed := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	root := command()
	root.SetArgs([]string{"restore", "--config", config, "--data", data, "--input", "-"})
	root.SetIn(in)
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	_, err = feed.Write(whole[:len(whole)-1])
	require.NoError(t, err)
	cancel()
	require.ErrorContains(t, <-ended, "interrupted: ")
	require.NoError(t, feed.Close())
	lock, err := lockData(data)
	require.NoError(t, err, "it was let go of")
	require.NoError(t, lock.release())
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "restoring")
	p.show(1, 2, 3)
	assert.Empty(t, out.String(), "no terminal, no progress")
	p.terminal = true
	p.show(10, 0, 3<<20)
	p.show(11, 40, 4<<20)
	assert.Regexp(t, `^\r\x1b\[Krestoring: 10 records, 3\.0 MiB, 0\.0 s, \d+ records/s$`, out.String(), "the second came too soon")
	p.shown = time.Time{}
	p.show(20, 40, 5<<20)
	assert.Contains(t, out.String(), "\r\x1b[Krestoring: 20 of 40 records, 5.0 MiB")
	require.NoError(t, p.end(nil, "restored"))
	assert.Regexp(t, `\r\x1b\[Krestored 20 records, 5\.0 MiB, .*\n$`, out.String())
	out.Reset()
	require.ErrorContains(t, p.end(context.Canceled, "restored"), "interrupted")
	assert.Equal(t, "\r\x1b[K", out.String())
}
