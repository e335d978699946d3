package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLock(t *testing.T) {
	data := filepath.Join(t.TempDir(), "deep", "data")
	first, err := lockData(data)
	require.NoError(t, err)
	info, err := os.Stat(data)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	_, err = lockData(data)
	require.ErrorContains(t, err, fmt.Sprintf("is in use by process %d: stop it first", os.Getpid()))
	require.ErrorContains(t, err, data)
	require.NoError(t, first.release())
	assert.FileExists(t, filepath.Join(data, "lock"))

	again, err := lockData(data)
	require.NoError(t, err, "what a stopped process left is no lock")
	require.NoError(t, again.release())
}

func TestStaleLockFile(t *testing.T) {
	data := t.TempDir()
	path := write(t, data, "lock", "999999999999999999999\nand more")
	l, err := lockData(data)
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintln(os.Getpid()), string(text))
	require.NoError(t, os.Truncate(path, 0))
	_, err = lockData(data)
	require.ErrorContains(t, err, "is in use by process (unknown)")
	require.NoError(t, l.release())
}

func TestLockNeedsADirectory(t *testing.T) {
	dir := t.TempDir()
	_, err := lockData(write(t, dir, "file", ""))
	require.ErrorContains(t, err, "make the data directory")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "lock"), 0o700))
	_, err = lockData(dir)
	require.ErrorContains(t, err, "lock the data directory")
}

func TestSecondGateway(t *testing.T) {
	config, data := localConfig(t, "")
	g := mustOpen(t, config)
	code, _, errs := piedmont(t, "serve", "--config", config, "--listen", "127.0.0.1:0")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, fmt.Sprintf("the data directory %s is in use by process %d", data, os.Getpid()))
	require.NoError(t, g.close())
	require.NoError(t, mustOpen(t, config).close())
}
