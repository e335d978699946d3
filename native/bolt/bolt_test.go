package bolt

import (
	"path/filepath"
	"testing"

	"piedmont/native"
	"piedmont/native/registrytest"
)

func TestRegistry(t *testing.T) {
	registrytest.Run(t, func(t *testing.T) native.Registry {
		return openTest(t, filepath.Join(t.TempDir(), "registry"))
	})
}

func TestRegistryReopened(t *testing.T) {
	registrytest.RunDurable(t, func(t *testing.T, dir string) native.Registry {
		return openTest(t, filepath.Join(dir, "registry"))
	})
}

func openTest(t testing.TB, path string) *Registry {
	t.Helper()
	r, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
