package native_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// fork writes the table's document under another uuid next to it, and returns where.
func (w *world) fork(name, uuid string) string {
	w.t.Helper()
	table, _ := w.load(w.main, name)
	raw, err := os.ReadFile(strings.TrimPrefix(table.MetadataLocation, "file://"))
	require.NoError(w.t, err)
	var members map[string]any
	require.NoError(w.t, json.Unmarshal(raw, &members))
	members["table-uuid"] = uuid
	raw, err = json.Marshal(members)
	require.NoError(w.t, err)
	location := members["location"].(string) + "/metadata/00000-" + uuid + ".metadata.json"
	require.NoError(w.t, os.WriteFile(strings.TrimPrefix(location, "file://"), raw, 0o600))
	return location
}

func (w *world) register(name, location string, overwrite bool) error {
	_, err := w.main.RegisterTable(w.t.Context(), mounts.Caller{}, id(name), mounts.RegisterRequest{MetadataLocation: location, Overwrite: overwrite})
	return err
}

// TestAnOverwriteWithAnotherTableOfTheSamePlace: the index of locations follows.
func TestAnOverwriteWithAnotherTableOfTheSamePlace(t *testing.T) {
	w := newWorld(t)
	const other = "11111111-2222-4333-8444-555555555555"
	first, _ := w.load(w.main, "ns.t")
	forked := w.fork("ns.t", other)
	require.NoError(t, w.register("ns.t", forked, true))
	err := w.register("ns.again", first.MetadataLocation, false)
	require.True(t, mounts.Is(err, mounts.BadRequest), "the table of that uuid isn't there any more: %v", err)
	require.NoError(t, w.register("ns.again", forked, false), "the same table under another name")

	before := w.state()
	err = w.register("ns.t", first.MetadataLocation, true)
	require.True(t, mounts.Is(err, mounts.BadRequest), "ns.again has another uuid: %v", err)
	require.Equal(t, before, w.state())
	require.NoError(t, w.main.DropTable(t.Context(), mounts.Caller{}, id("ns.again"), false))
	require.NoError(t, w.register("ns.t", first.MetadataLocation, true))
	require.NoError(t, w.main.DropTable(t.Context(), mounts.Caller{}, id("ns.t"), false))
	for key := range w.state() {
		require.NotEqual(t, byte('l'), key[0], "a location of a dropped table: %q", key)
	}
}
