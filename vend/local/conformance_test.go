package local_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/vend"
	"piedmont/vend/local"
	"piedmont/vend/vendtest"
)

func TestConformance(t *testing.T) { vendtest.Run(t, newProfile) }

func newProfile(t *testing.T) *vend.Profile {
	dir := t.TempDir() + "/warehouse"
	require.NoError(t, os.Mkdir(dir, 0o755))
	prefix := location(t, "file://"+dir)
	files, err := local.New("disk", prefix)
	require.NoError(t, err)
	return &vend.Profile{Name: "disk", Prefix: prefix, Files: files}
}

func location(t *testing.T, s string) vend.Location {
	l, err := vend.ParseLocation(s)
	require.NoError(t, err)
	return l
}
