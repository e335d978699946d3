package native_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/vend"
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

var placeProperties = []string{"write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path"}

// TestPathsOfATableKeepClearOfOthers, whichever way a table comes by them. Around its own
// place and where no table lies it may put what it likes.
func TestPathsOfATableKeepClearOfOthers(t *testing.T) {
	for _, property := range placeProperties {
		t.Run(property, func(t *testing.T) {
			w := newWorld(t)
			_, own := w.load(w.main, "ns.t")
			body := func(name, path string) string {
				return `{"name":"` + name + `","location":"file://` + w.dir + "/main/" + name + `","schema":` + schema + `,"properties":{"` + property + `":"` + path + `"}}`
			}
			create := func(name, path string) error {
				_, err := w.main.CreateTable(t.Context(), mounts.Caller{}, id("ns."+name), []byte(body(name, path)))
				return err
			}
			commit := func(path string) error {
				_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody(property, path))
				return err
			}
			require.NoError(t, create("u", "file://"+w.dir+"/main/u/files"))
			for _, bad := range []string{own.Location, own.Location + "/data", "file://" + w.dir + "/main/ns", "file://" + w.dir + "/main"} {
				err := create("bad", bad)
				require.True(t, mounts.Is(err, mounts.BadRequest), "%s: %v", bad, err)
				require.Contains(t, err.Error(), property)
				_, err = w.main.CreateTable(t.Context(), mounts.Caller{}, id("ns.bad"), []byte(`{"stage-create":true,`+body("bad", bad)[1:]))
				require.True(t, mounts.Is(err, mounts.BadRequest), "%s: %v", bad, err)
			}
			state, files := w.state(), w.disk()
			for _, bad := range []string{"file://" + w.dir + "/main/u", "file://" + w.dir + "/main/u/x", "file://" + w.dir + "/main"} {
				err := commit(bad)
				require.True(t, mounts.Is(err, mounts.BadRequest), "%s: %v", bad, err)
			}
			require.Equal(t, state, w.state())
			require.Equal(t, files, w.disk())
			for _, good := range []string{own.Location + "/p", own.Location, "file://" + w.dir + "/main/ns", "file://" + w.dir + "/free"} {
				require.NoError(t, commit(good), good)
			}
		})
	}
}

// TestPathsOfARegisteredTableKeepClearOfOthers, with and without overwrite.
func TestPathsOfARegisteredTableKeepClearOfOthers(t *testing.T) {
	w := newWorld(t)
	_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("write.data.path", "file://"+w.dir+"/data"))
	require.NoError(t, err)
	table, _ := w.load(w.main, "ns.t")
	require.NoError(t, w.register("ns.again", table.MetadataLocation, false), "the same table")
	require.NoError(t, w.register("ns.t", table.MetadataLocation, true))
	require.NoError(t, w.main.DropTable(t.Context(), mounts.Caller{}, id("ns.again"), false))
	require.NoError(t, w.main.DropTable(t.Context(), mounts.Caller{}, id("ns.t"), false))
	_, err = w.main.CreateTable(t.Context(), mounts.Caller{}, id("ns.u"), []byte(`{"name":"u","location":"file://`+w.dir+`/data/u","schema":`+schema+`}`))
	require.NoError(t, err)
	for _, overwrite := range []bool{false, true} {
		err := w.register("ns.t", table.MetadataLocation, overwrite)
		require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
	}
	err = w.register("ns.u", table.MetadataLocation, true)
	require.NoError(t, err, "the table that lay there is no more")
}

// TestAViewLiesInNoTable. It may lie around some.
func TestAViewLiesInNoTable(t *testing.T) {
	w := newWorld(t)
	_, d := w.load(w.main, "ns.t")
	body := func(location, properties string) []byte {
		return []byte(`{"name":"v","location":"` + location + `","schema":` + schema + `,"properties":{` + properties + `},"view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,
			"default-namespace":["ns"],"summary":{},"representations":[{"type":"sql","sql":"select 1","dialect":"spark"}]}}`)
	}
	for _, bad := range [][]byte{body(d.Location, ""), body(d.Location+"/x", ""), body("file://"+w.dir+"/v", `"write.metadata.path":"`+d.Location+`/metadata"`)} {
		_, err := w.main.CreateView(t.Context(), mounts.Caller{}, id("ns.v"), bad)
		require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
	}
	_, err := w.main.CreateView(t.Context(), mounts.Caller{}, id("ns.v"), body("file://"+w.dir+"/main", ""))
	require.NoError(t, err)
	state, files := w.state(), w.disk()
	for _, update := range []string{
		`{"action":"set-location","location":"` + d.Location + `/v"}`,
		`{"action":"set-properties","updates":{"write.metadata.path":"` + d.Location + `/v"}}`,
	} {
		_, err := w.main.ReplaceView(t.Context(), mounts.Caller{}, id("ns.v"), []byte(`{"updates":[`+update+`]}`))
		require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
	}
	require.Equal(t, state, w.state())
	require.Equal(t, files, w.disk())
}

// TestARenameIntoAnotherMountTakesNoPathOutOfIt: all that a table leads to must lie in the
// storage profiles of the mount it comes to.
func TestARenameIntoAnotherMountTakesNoPathOutOfIt(t *testing.T) {
	w := newWorld(t)
	prefix, err := vend.ParseLocation("file://" + w.dir + "/narrow")
	require.NoError(t, err)
	storage, err := vend.NewSet("narrow", &vend.Profile{Name: "disk", Prefix: prefix, Files: w.files})
	require.NoError(t, err)
	narrow, err := native.New(native.Options{
		ID: "second", Registry: w.registry, Warehouse: "file://" + w.dir + "/narrow", Storage: storage, Now: time.Now,
		Documents: vend.NewDocuments(1 << 20),
	})
	require.NoError(t, err)
	to := &mounts.Point{At: mounts.Namespace{"team"}, Kind: "native", Mount: narrow}
	_, err = w.main.CreateTable(t.Context(), mounts.Caller{}, id("ns.u"), []byte(`{"name":"u","location":"file://`+w.dir+`/narrow/u","schema":`+schema+`,
		"properties":{"write.data.path":"file://`+w.dir+`/elsewhere"}}`))
	require.NoError(t, err)
	state := w.state()
	err = w.rename(t.Context(), w.mainAt, "ns.u", to, "ns.u")
	require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
	require.Contains(t, err.Error(), "write.data.path")
	require.Equal(t, state, w.state())
	_, err = w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.u"), []byte(`{"updates":[{"action":"remove-properties","removals":["write.data.path"]}]}`))
	require.NoError(t, err)
	require.NoError(t, w.rename(t.Context(), w.mainAt, "ns.u", to, "ns.u"))
}
