package bolt

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"piedmont/native"
	"piedmont/native/registrytest"
)

func TestSnapshot(t *testing.T) {
	registrytest.RunSnapshot(t, func(t *testing.T) registrytest.SnapshotRegistry {
		return openTest(t, filepath.Join(t.TempDir(), "registry"))
	})
}

// TestSnapshotIsDurable: it doesn't show a commit that the disk may take back.
func TestSnapshotIsDurable(t *testing.T) {
	r := openTest(t, filepath.Join(t.TempDir(), "registry"))
	require.NoError(t, r.Commit(t.Context(), nil, []native.Change{{Key: "a", Version: native.NewVersion()}}))
	keys := func() (keys []native.Key) {
		require.NoError(t, r.Snapshot(t.Context(), func(rec native.Record) error {
			keys = append(keys, rec.Key)
			return nil
		}))
		return keys
	}
	real := r.commit
	var during []native.Key
	r.commit = func(tx *bbolt.Tx) error {
		err := real(tx) // bbolt shows it from here on
		during = keys()
		return err
	}
	require.NoError(t, r.Commit(t.Context(), nil, []native.Change{{Key: "b", Version: native.NewVersion()}}))
	assert.Equal(t, []native.Key{"a"}, during, "nobody was told that b is durable")
	assert.Equal(t, []native.Key{"a", "b"}, keys())
}

// TestSnapshotPanics: a panic of whoever reads isn't taken for damage, and holds nothing.
func TestSnapshotPanics(t *testing.T) {
	r := openTest(t, filepath.Join(t.TempDir(), "registry"))
	require.NoError(t, r.Commit(t.Context(), nil, []native.Change{{Key: "a", Version: native.NewVersion()}}))
	cause := errors.New("a mistake")
	assert.PanicsWithValue(t, cause, func() {
		_ = r.Snapshot(t.Context(), func(native.Record) error { panic(cause) })
	})
}
