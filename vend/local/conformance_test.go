package local_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/vend"
	"piedmont/vend/local"
	"piedmont/vend/vendtest"
)

func TestConformance(t *testing.T) { vendtest.Run(t, newProfile) }

func newProfile(t *testing.T) *vend.Profile {
	prefix := location(t, "file://"+t.TempDir()+"/warehouse")
	files, err := local.New("disk", prefix)
	require.NoError(t, err)
	return &vend.Profile{Name: "disk", Prefix: prefix, Files: files}
}

func location(t *testing.T, s string) vend.Location {
	l, err := vend.ParseLocation(s)
	require.NoError(t, err)
	return l
}
