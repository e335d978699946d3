package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestBackupOnAFullDisk puts a device that is full in the place of the file.
func TestBackupOnAFullDisk(t *testing.T) {
	config, _ := backedUpCatalog(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	client, err := openControlOf(t, config)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.close()) }()
	dir := t.TempDir()
	f, err := os.CreateTemp(dir, "")
	require.NoError(t, err)
	require.NoError(t, unix.Dup3(int(full.Fd()), int(f.Fd()), 0))
	err = fillBackup(t.Context(), client, f, filepath.Join(dir, "file"), newProgress(io.Discard, ""))
	require.ErrorIs(t, err, unix.ENOSPC)
	assert.NoFileExists(t, filepath.Join(dir, "file"))
	require.ErrorIs(t, fetchBackup(t.Context(), client, full, newProgress(io.Discard, "")), unix.ENOSPC)
}
