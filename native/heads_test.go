package native_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/vend"
)

// countingRegistry counts the questions for pointers.
type countingRegistry struct {
	native.Registry
	reads atomic.Int64
}

func (r *countingRegistry) Get(ctx context.Context, k native.Key) (native.Record, bool, error) {
	if strings.HasPrefix(string(k), "o") {
		r.reads.Add(1)
	}
	return r.Registry.Get(ctx, k)
}

// replicasOf are two processes that serve the same mount.
func replicasOf(t *testing.T) (w *world, counted *countingRegistry, a, b *native.Catalog) {
	t.Helper()
	w = newWorld(t)
	counted = &countingRegistry{Registry: w.registry.Registry}
	w.registry.Registry = counted
	return w, counted, w.open("main"), w.open("main")
}

func mustCommit(t *testing.T, c *native.Catalog, body []byte) *mounts.Table {
	t.Helper()
	table, err := c.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), body)
	require.NoError(t, err)
	return table
}

// TestOneRoundTrip: a process that commits to a table again doesn't ask where the table is.
func TestOneRoundTrip(t *testing.T) {
	_, counted, a, _ := replicasOf(t)
	mustCommit(t, a, setPropertyBody("a", "0"))
	before := counted.reads.Load()
	for i := range 20 {
		mustCommit(t, a, setPropertyBody("a", fmt.Sprint(i+1)))
	}
	require.Equal(t, before, counted.reads.Load())
}

// TestRememberedIsNoAnswer: what was remembered of a table is never what an answer rests on,
// if another process changed the table since.
func TestRememberedIsNoAnswer(t *testing.T) {
	uuidOf := func(w *world) string {
		table, _ := w.load(w.main, "ns.t")
		text, err := table.Metadata(t.Context())
		require.NoError(t, err)
		_, rest, _ := strings.Cut(string(text.Raw()), `"table-uuid":"`)
		return rest[:36]
	}
	t.Run("a change is made on what the other made", func(t *testing.T) {
		w, _, a, b := replicasOf(t)
		for i := range 5 {
			mustCommit(t, a, setPropertyBody(fmt.Sprint("a", i), "1"))
			mustCommit(t, b, setPropertyBody(fmt.Sprint("b", i), "1"))
		}
		_, d := w.load(a, "ns.t")
		require.Len(t, d.Properties, 11)
		require.Len(t, w.below(d.Location), 11, "no file is left of what was tried in vain")
	})
	t.Run("nothing to do by memory", func(t *testing.T) {
		w, _, a, b := replicasOf(t)
		mustCommit(t, a, setPropertyBody("k", "1"))
		mustCommit(t, b, setPropertyBody("k", "2"))
		mustCommit(t, a, setPropertyBody("k", "1"))
		_, d := w.load(b, "ns.t")
		require.Equal(t, "1", d.Properties["k"])
	})
	t.Run("refused by memory", func(t *testing.T) {
		w, _, a, b := replicasOf(t)
		mustCommit(t, a, setPropertyBody("k", "1"))
		w.write("file://"+w.dir+"/list.avro", nil)
		w.snapshot(b, "ns.t", 7, "file://"+w.dir+"/list.avro")
		mustCommit(t, a, []byte(`{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":7}],"updates":[{"action":"set-properties","updates":{"k":"2"}}]}`))
		_, d := w.load(b, "ns.t")
		require.Equal(t, "2", d.Properties["k"])
	})
	t.Run("allowed by memory", func(t *testing.T) {
		w, _, a, b := replicasOf(t)
		mustCommit(t, a, setPropertyBody("k", "1"))
		w.write("file://"+w.dir+"/list.avro", nil)
		w.snapshot(b, "ns.t", 7, "file://"+w.dir+"/list.avro")
		_, err := a.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"),
			[]byte(`{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}],"updates":[{"action":"set-properties","updates":{"k":"2"}}]}`))
		require.True(t, mounts.Is(err, mounts.CommitFailed), err)
	})
	t.Run("moved by the other", func(t *testing.T) {
		w, _, a, b := replicasOf(t)
		mustCommit(t, a, setPropertyBody("k", "1"))
		move := func(to string) []byte {
			return fmt.Appendf(nil, `{"updates":[{"action":"set-location","location":%q}]}`, w.storageRoot()+to)
		}
		mustCommit(t, b, move("/main/moved"))
		mustCommit(t, a, move("/main/moved/inside")) // which is no other table's place
	})
	t.Run("dropped, and another made", func(t *testing.T) {
		w, _, a, b := replicasOf(t)
		mustCommit(t, a, setPropertyBody("k", "1"))
		uuid := uuidOf(w)
		w.drop(b, "ns.t", false)
		body := []byte(`{"requirements":[{"type":"assert-table-uuid","uuid":"` + uuid + `"}],"updates":[{"action":"set-properties","updates":{"k":"2"}}]}`)
		_, err := a.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), body)
		require.True(t, mounts.Is(err, mounts.NoSuchTable), err)
		w.create(b, "ns.t", "")
		_, err = a.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), body)
		require.True(t, mounts.Is(err, mounts.CommitFailed), err)
	})
	t.Run("a receipt kept by the other", func(t *testing.T) {
		w, _, a, b := replicasOf(t)
		mustCommit(t, a, setPropertyBody("k", "1"))
		caller := mounts.Caller{Principal: "ann", Receipt: &mounts.Receipt{Key: [16]byte{9}}}
		_, err := b.CommitTable(t.Context(), caller, id("ns.t"), setPropertyBody("k", "2"))
		require.NoError(t, err)
		_, err = a.CommitTable(t.Context(), caller, id("ns.t"), setPropertyBody("k", "2"))
		require.True(t, mounts.Is(err, mounts.Replayed), err)
		_, d := w.load(a, "ns.t")
		require.Equal(t, "2", d.Properties["k"])
	})
	t.Run("the document is gone", func(t *testing.T) {
		w, _, a, b := replicasOf(t)
		old := mustCommit(t, a, setPropertyBody("k", "1"))
		mustCommit(t, b, setPropertyBody("l", "1"))
		w.removeFile(old.MetadataLocation)
		mustCommit(t, a, setPropertyBody("m", "1"))
		_, d := w.load(b, "ns.t")
		require.Contains(t, d.Properties, "l")
		require.Contains(t, d.Properties, "m")
	})
}

// TestContendedTable: two processes that commit in turns don't write each file twice.
func TestContendedTable(t *testing.T) {
	w, counted, a, b := replicasOf(t)
	written := 0
	w.files.set(func(_ vend.Location, write func() error) error {
		written++
		return write()
	})
	const rounds = 10
	for i := range rounds {
		mustCommit(t, a, setPropertyBody("a", fmt.Sprint(i)))
		mustCommit(t, b, setPropertyBody("b", fmt.Sprint(i)))
	}
	require.LessOrEqual(t, written, 2*rounds+2)
	require.GreaterOrEqual(t, counted.reads.Load(), int64(2*rounds-4))
}
