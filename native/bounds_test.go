package native_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// TestALocationThatTheStorageCantHold is a mistake of the request: it never passes.
func TestALocationThatTheStorageCantHold(t *testing.T) {
	w := newWorld(t)
	state, files := w.state(), w.disk()
	long := "file://" + w.dir + "/" + strings.Repeat("x", 300)
	_, err := w.main.CreateTable(t.Context(), mounts.Caller{}, id("ns.u"), []byte(`{"name":"u","location":"`+long+`","schema":`+schema+`}`))
	require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
	require.Contains(t, err.Error(), "too long for the disk")
	_, err = w.main.CommitTable(t.Context(), mounts.Caller{}, id("ns.t"), setPropertyBody("write.metadata.path", long))
	require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
	require.Equal(t, state, w.state())
	require.Equal(t, files, w.disk())
}

// TestATransactionOverTheRegistrysBounds is refused before a file is written. Each level of
// a location takes a condition.
func TestATransactionOverTheRegistrysBounds(t *testing.T) {
	w := newWorld(t)
	state, files := w.state(), w.disk()
	var changes []mounts.TableChange
	for i := range 100 {
		name := fmt.Sprintf("new%d", i)
		changes = append(changes, mounts.TableChange{
			Target: mounts.Target{Path: mounts.Namespace{"ns"}, Name: name, Point: w.mainAt, Namespace: mounts.Namespace{"ns"}},
			Body: []byte(`{"requirements":[{"type":"assert-create"}],"updates":[{"action":"set-location","location":"file://` + w.dir + "/" + name + strings.Repeat("/d", 100) + `"},
				{"action":"add-schema","schema":` + schema + `},{"action":"set-current-schema","schema-id":-1}]}`),
		})
	}
	err := w.main.CommitTransaction(t.Context(), mounts.Caller{}, changes)
	require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
	require.Contains(t, err.Error(), "10000 conditions")
	require.Equal(t, state, w.state())
	require.Equal(t, files, w.disk())
	require.NoError(t, w.main.CommitTransaction(t.Context(), mounts.Caller{}, changes[:50]))
}

// TestAStagedCreateSentAgain under its key is answered with the same table, another request
// with another.
func TestAStagedCreateSentAgain(t *testing.T) {
	w := newWorld(t)
	state, files := w.state(), w.disk()
	stage := func(principal string, receipt *mounts.Receipt) (string, string) {
		table, err := w.main.CreateTable(t.Context(), mounts.Caller{Principal: principal, Receipt: receipt}, id("ns.s"), []byte(`{"name":"s","stage-create":true,"schema":`+schema+`}`))
		require.NoError(t, err)
		raw, err := table.Metadata(t.Context())
		require.NoError(t, err)
		var d struct {
			UUID     string `json:"table-uuid"`
			Location string `json:"location"`
		}
		require.NoError(t, json.Unmarshal(raw.Raw(), &d))
		return d.UUID, d.Location
	}
	seen := map[string]bool{}
	for _, c := range []struct {
		principal string
		receipt   mounts.Receipt
	}{
		{"a", mounts.Receipt{Key: [16]byte{1}, Fingerprint: [32]byte{1}}},
		{"b", mounts.Receipt{Key: [16]byte{1}, Fingerprint: [32]byte{1}}},
		{"a", mounts.Receipt{Key: [16]byte{2}, Fingerprint: [32]byte{1}}},
		{"a", mounts.Receipt{Key: [16]byte{1}, Fingerprint: [32]byte{2}}},
	} {
		uuid, location := stage(c.principal, &c.receipt)
		again, same := stage(c.principal, &c.receipt)
		require.Equal(t, uuid, again)
		require.Equal(t, location, same)
		require.False(t, seen[uuid] || seen[location])
		seen[uuid], seen[location] = true, true
	}
	one, _ := stage("a", nil)
	two, _ := stage("a", nil)
	require.NotEqual(t, one, two)
	require.Equal(t, state, w.state())
	require.Equal(t, files, w.disk())
}
