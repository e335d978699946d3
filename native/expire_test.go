package native_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/vend"
)

// expiring makes the table ns.u, which keeps two files besides the current one.
func (w *world) expiring(enabled string) {
	w.t.Helper()
	_, err := w.main.CreateTable(w.t.Context(), mounts.Caller{}, id("ns.u"), []byte(`{"name":"u","schema":`+schema+`,
		"properties":{"write.metadata.previous-versions-max":"2","write.metadata.delete-after-commit.enabled":"`+enabled+`"}}`))
	require.NoError(w.t, err)
}

func (w *world) commit(name, key string) {
	w.t.Helper()
	_, err := w.main.CommitTable(w.t.Context(), mounts.Caller{}, id(name), setPropertyBody(key, "1"))
	require.NoError(w.t, err)
}

// metadataFiles are the names of ns.u's files.
func (w *world) metadataFiles() []string {
	w.t.Helper()
	_, d := w.load(w.main, "ns.u")
	var names []string
	for file := range w.disk() {
		if strings.HasPrefix(file, d.Location+"/") {
			names = append(names, file)
		}
	}
	return names
}

// TestOldMetadataFilesGo: what is left is the current file and those of its log.
func TestOldMetadataFilesGo(t *testing.T) {
	for enabled, want := range map[string]int{"true": 3, "TRUE": 3, "false": 21, "yes": 21} {
		t.Run(enabled, func(t *testing.T) {
			w := newWorld(t)
			w.expiring(enabled)
			together(4, 5, func(goroutine, i int) {
				if _, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.u"), setPropertyBody(fmt.Sprint(goroutine, "-", i), "1")); err != nil {
					t.Errorf("commit: %v", err)
				}
			})
			files := w.metadataFiles()
			require.Len(t, files, want)
			table, d := w.load(w.main, "ns.u")
			require.Contains(t, files, table.MetadataLocation)
			for _, entry := range d.MetadataLog {
				require.Contains(t, files, entry.File)
			}
		})
	}
}

// TestOldMetadataFilesGoBehindATransaction.
func TestOldMetadataFilesGoBehindATransaction(t *testing.T) {
	w := newWorld(t)
	w.expiring("true")
	for i := range 6 {
		require.NoError(t, w.main.CommitTransaction(t.Context(), mounts.Caller{}, []mounts.TableChange{{
			Target: mounts.Target{Path: mounts.Namespace{"ns"}, Name: "u", Point: w.mainAt, Namespace: mounts.Namespace{"ns"}}, Body: setPropertyBody("a", fmt.Sprint(i)),
		}}))
	}
	require.Len(t, w.metadataFiles(), 3)
}

// TestOldMetadataFilesOfOthersStay: of a table with two names, a dropped one among them, of
// one that was registered from a file, and what lies in other folders.
func TestOldMetadataFilesOfOthersStay(t *testing.T) {
	for name, change := range map[string]func(w *world, first string){
		"two names":       func(w *world, first string) { require.NoError(t, w.register("ns.again", first, false)) },
		"registered over": func(w *world, first string) { require.NoError(t, w.register("ns.u", first, true)) },
		"registered, moved": func(w *world, first string) {
			require.NoError(t, w.register("ns.again", first, false))
			_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.again"),
				fmt.Appendf(nil, `{"updates":[{"action":"set-location","location":%q}]}`, w.storageRoot()+"/main/moved"))
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.expiring("true")
			first, _ := w.load(w.main, "ns.u")
			change(w, first.MetadataLocation)
			for i := range 5 {
				w.commit("ns.u", fmt.Sprint(i))
			}
			require.Len(t, w.metadataFiles(), 6)
		})
	}
	t.Run("other folder", func(t *testing.T) {
		w := newWorld(t)
		w.expiring("true")
		first, d := w.load(w.main, "ns.u")
		_, err := w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.u"), setPropertyBody("write.metadata.path", d.Location+"/elsewhere"))
		require.NoError(t, err)
		for i := range 5 {
			w.commit("ns.u", fmt.Sprint(i))
		}
		files := w.metadataFiles()
		require.Len(t, files, 4, "%v", files)
		require.Contains(t, files, first.MetadataLocation)
	})
	t.Run("a dropped name", func(t *testing.T) {
		w := newWorld(t)
		c, _ := w.undropping(time.Hour)
		w.expiring("true")
		w.drop(c, "ns.u", false)
		_, err := c.RestoreTable(t.Context(), id("ns.u"), "", id("ns.v"))
		require.NoError(t, err)
		first, _ := w.load(c, "ns.v")
		require.NoError(t, w.register("ns.u", first.MetadataLocation, false))
		w.drop(c, "ns.v", false)
		for i := range 5 {
			w.commit("ns.u", fmt.Sprint(i))
		}
		_, err = c.RestoreTable(t.Context(), id("ns.v"), "", id("ns.v"))
		require.NoError(t, err)
	})
}

// TestOldMetadataFilesThatCantBeDeletedHarmNobody.
func TestOldMetadataFilesThatCantBeDeletedHarmNobody(t *testing.T) {
	w := newWorld(t)
	w.expiring("true")
	for _, remove := range []func(vend.Location) error{
		func(vend.Location) error { return errors.New("refused") },
		func(vend.Location) error { panic("in the storage") },
	} {
		w.files.setDelete(remove)
		for i := range 4 {
			w.commit("ns.u", fmt.Sprint(len(w.disk()), i))
		}
	}
	require.Len(t, w.metadataFiles(), 9)
	require.NoError(t, w.main.Close())
}
