package local

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/vend"
)

// What a network file system may answer to a link call that was carried out, or not.
func TestLinked(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"temp", "other"} {
		require.NoError(t, os.WriteFile(dir+"/"+name, nil, 0o600))
	}
	require.NoError(t, os.Link(dir+"/temp", dir+"/ours"))
	d, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer func() { _ = d.Close() }()
	for _, c := range []struct {
		name         string
		err, outcome error
	}{
		{"ours", nil, nil},
		{"ours", syscall.EEXIST, nil},
		{"ours", syscall.EIO, nil},
		{"other", syscall.EEXIST, vend.ErrExists},
		{"none", syscall.EIO, vend.ErrUnknown},
		{"other", syscall.EIO, vend.ErrUnknown},
		{"none", syscall.ENOSPC, vend.ErrNotWritten},
		{"none", syscall.EPERM, vend.ErrNotWritten},
	} {
		outcome, cause := linked(d, "temp", c.name, c.err)
		require.Equal(t, c.outcome, outcome, "%s %v", c.name, c.err)
		require.Equal(t, outcome == nil, cause == nil)
	}
}

func TestDurableIsBounded(t *testing.T) {
	f := &Files{durable: map[string]struct{}{}}
	for i := range maxDurable + 10 {
		f.setDurable(string(rune(i)))
	}
	require.LessOrEqual(t, len(f.durable), maxDurable)
}
