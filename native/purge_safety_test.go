package native_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/native"
)

// TestPurgeOfASwappedDocument: a file in the place of a dropped table's, of its uuid but with
// another location, doesn't lead the purge into a live table.
func TestPurgeOfASwappedDocument(t *testing.T) {
	w := newWorld(t)
	c, _ := w.undropping(0)
	mine, _ := w.filled(c, "ns.f")
	victim, _ := w.filled(c, "ns.victim")
	table, _ := w.load(c, "ns.f")
	path := strings.TrimPrefix(table.MetadataLocation, "file://")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	w.drop(c, "ns.f", true)
	w.write(table.MetadataLocation, []byte(strings.ReplaceAll(string(raw), mine, victim)))
	c.ForgetEverything()
	before := w.disk()
	require.NoError(t, c.Tend(t.Context()))
	require.Equal(t, before, w.disk())
	require.Equal(t, native.Kept, w.dropped(c)[0].State)
	require.Contains(t, w.dropped(c)[0].Report.Reason, "another location")
}
