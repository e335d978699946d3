package mounttest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// racers is how many do the same at once.
const racers = 8

// race runs them all and gives their errors.
func race(n int, do func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// wantOneWinner: one had no error, and all others one of the kind.
func wantOneWinner(t *testing.T, errs []error, kind mounts.Kind) {
	t.Helper()
	winners := 0
	for _, err := range errs {
		if err == nil {
			winners++
			continue
		}
		wantKind(t, err, kind, "a loser")
	}
	require.Equal(t, 1, winners)
}

func testOneCreateWins(t *testing.T, w Writable) {
	for round := range 5 {
		n := mounts.Namespace{fmt.Sprint("n", round)}
		wantOneWinner(t, race(racers, func(int) error {
			_, err := w.CreateNamespace(t.Context(), Caller, n, nil)
			return err
		}), mounts.AlreadyExists)
		var won atomic.Pointer[mounts.Table]
		wantOneWinner(t, race(racers, func(int) error {
			table, err := w.CreateTable(t.Context(), Caller, n.Table("t"), createBody("t", ""))
			if err == nil {
				won.Store(table)
			}
			return err
		}), mounts.AlreadyExists)
		sameTable(t, won.Load(), load(t, w, n.Table("t")))
		wantOneWinner(t, race(racers, func(int) error { return w.DropTable(t.Context(), Caller, n.Table("t"), false) }), mounts.NoSuchTable)
		wantOneWinner(t, race(racers, func(int) error { return w.DropNamespace(t.Context(), Caller, n) }), mounts.NoSuchNamespace)
	}
}

// Commits that don't contradict each other all succeed, and none is lost.
func testAllCommitsLand(t *testing.T, w Writable) {
	n := mounts.Namespace{"n"}
	mustCreateNamespace(t, w, n, nil)
	id := n.Table("t")
	uuid := member[string](t, mustCreate(t, w, id), "table-uuid")
	const each = 5
	for _, err := range race(racers, func(i int) error {
		for k := range each {
			if _, err := w.CommitTable(t.Context(), Caller, id, setProperty(fmt.Sprintf("k%d-%d", i, k), "v", assertUUID(uuid))); err != nil {
				return err
			}
		}
		return nil
	}) {
		require.NoError(t, err)
	}
	stored := properties(t, load(t, w, id))
	for i := range racers {
		for k := range each {
			require.Equal(t, "v", stored[fmt.Sprintf("k%d-%d", i, k)])
		}
	}
}

// Of commits that each require the state before them, one succeeds.
func testOneConditionalCommitWins(t *testing.T, w Writable) {
	n := mounts.Namespace{"n"}
	mustCreateNamespace(t, w, n, nil)
	id := n.Table("t")
	mustCreate(t, w, id)
	for round := range 5 {
		current := member[int](t, load(t, w, id), "current-schema-id")
		wantOneWinner(t, race(racers, func(i int) error {
			_, err := w.CommitTable(t.Context(), Caller, id, fmt.Appendf(nil,
				`{"requirements":[{"type":"assert-current-schema-id","current-schema-id":%d}],"updates":[`+
					`{"action":"add-schema","schema":{"type":"struct","fields":[{"id":1,"name":"id","required":true,"type":"long"},{"id":%d,"name":"c%d_%d","required":false,"type":"int"}]}},`+
					`{"action":"set-current-schema","schema-id":-1}]}`, current, 10+round*racers+i, round, i))
			return err
		}), mounts.CommitFailed)
	}
}

// No table is left in a namespace that is gone.
func testCreateAndDropNamespaceRace(t *testing.T, w Writable) {
	for round := range 20 {
		n := mounts.Namespace{fmt.Sprint("n", round)}
		mustCreateNamespace(t, w, n, nil)
		errs := race(2, func(i int) error {
			if i == 0 {
				return w.DropNamespace(t.Context(), Caller, n)
			}
			_, err := w.CreateTable(t.Context(), Caller, n.Table("t"), createBody("t", ""))
			return err
		})
		dropped, created := errs[0], errs[1]
		_, err := w.LoadNamespace(t.Context(), Caller, n)
		exists := w.TableExists(t.Context(), Caller, n.Table("t"))
		if dropped == nil {
			wantKind(t, created, mounts.NoSuchNamespace, "the namespace was dropped first")
			wantKind(t, err, mounts.NoSuchNamespace, n)
			wantKind(t, exists, mounts.NoSuchTable, n)
			continue
		}
		wantKind(t, dropped, mounts.NamespaceNotEmpty, "the table was created first")
		require.NoError(t, created)
		require.NoError(t, err)
		require.NoError(t, exists)
	}
}

// A table ends up under one name, and no commit to it is lost on the way.
func testRenamesRace(t *testing.T, w Writable) {
	n := mounts.Namespace{"n"}
	mustCreateNamespace(t, w, n, nil)
	mustCreate(t, w, n.Table("t"))
	wantOneWinner(t, race(racers, func(i int) error { return rename(t, w, n.Table("t"), n.Table(fmt.Sprint("to", i))) }), mounts.NoSuchTable)
	tables := pageTables(t, w, n, 0)
	require.Len(t, tables, 1)

	from, to := tables[0], n.Table("last")
	errs := race(2, func(i int) error {
		if i == 0 {
			return rename(t, w, from, to)
		}
		_, err := w.CommitTable(t.Context(), Caller, from, setProperty("k", "v"))
		return err
	})
	require.NoError(t, errs[0], "a rename doesn't lose against commits")
	stored := properties(t, load(t, w, to))
	if errs[1] == nil {
		require.Equal(t, "v", stored["k"])
	} else {
		wantKind(t, errs[1], mounts.NoSuchTable, "the rename was first")
	}
}
