package native_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func (w *world) move(name, location string) error {
	_, err := w.main.CommitTable(w.t.Context(), mounts.Caller{}, id(name), []byte(`{"updates":[{"action":"set-location","location":"`+location+`"}]}`))
	return err
}

// TestATableMovesIntoAndOutOfItsOwnPlace: its own location is no other table's.
func TestATableMovesIntoAndOutOfItsOwnPlace(t *testing.T) {
	w := newWorld(t)
	_, d := w.load(w.main, "ns.t")
	for _, location := range []string{d.Location + "/v2", d.Location, d.Location + "/a/b", d.Location + "/a", "file://" + w.dir + "/x", d.Location} {
		require.NoError(t, w.move("ns.t", location), location)
		_, moved := w.load(w.main, "ns.t")
		require.Equal(t, location, moved.Location)
	}
	places := 0
	for key := range w.state() {
		if key[0] == 'l' {
			places++
		}
	}
	require.Equal(t, 1, places, "each move sets the place before free")
}

func TestATableCantMoveIntoOrAroundAnother(t *testing.T) {
	w := newWorld(t)
	_, err := w.main.CreateTable(t.Context(), mounts.Caller{}, id("ns.u"), []byte(newTableBody("u")))
	require.NoError(t, err)
	_, d := w.load(w.main, "ns.u")
	before := w.state()
	files := w.disk()
	for _, location := range []string{d.Location, d.Location + "/x", "file://" + w.dir + "/main/ns", "file://" + w.dir + "/main"} {
		err := w.move("ns.t", location)
		require.True(t, mounts.Is(err, mounts.BadRequest), "%s: %v", location, err)
	}
	require.Equal(t, before, w.state())
	require.Equal(t, files, w.disk())
	require.NoError(t, w.main.DropTable(t.Context(), mounts.Caller{}, id("ns.u"), false))
	require.NoError(t, w.move("ns.t", d.Location), "the place is free now")
}
