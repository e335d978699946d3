package native_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/native"
	"piedmont/native/bolt"
	"piedmont/vend"
	"piedmont/vend/local"
)

// openMount is an empty native mount over a registry file and a folder of its own.
func openMount(t *testing.T) mounttest.Writable {
	t.Helper()
	dir := t.TempDir()
	registry, err := bolt.Open(filepath.Join(dir, "registry.db"), bolt.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, registry.Close()) })
	require.NoError(t, os.Mkdir(filepath.Join(dir, "warehouse"), 0o755))
	warehouse := "file://" + dir + "/warehouse/"
	prefix, err := vend.ParseLocation(warehouse)
	require.NoError(t, err)
	files, err := local.New("local", prefix)
	require.NoError(t, err)
	storage, err := vend.NewSet("main", &vend.Profile{Name: "local", Prefix: prefix, Files: files})
	require.NoError(t, err)
	c, err := native.New(native.Options{
		ID: "main", Registry: registry, Warehouse: warehouse, Storage: storage, Now: time.Now,
		Documents: vend.NewDocuments(16 << 20),
	})
	require.NoError(t, err)
	return c
}

func TestMount(t *testing.T) {
	mounttest.Run(t, mounttest.Suite{
		Open: func(t *testing.T, c mounttest.Content) mounts.Mount {
			m := openMount(t)
			mounttest.Fill(t, m, c)
			return m
		},
		Nested: true, Names: mounttest.AwkwardNames(),
	})
}

func TestWritableMount(t *testing.T) { mounttest.RunWritable(t, openMount) }
