package mounttest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// ReadOnlySuite is a mount to be tested as one that can't be written.
type ReadOnlySuite struct {
	// Open makes a mount whose source holds the content, as Suite has it.
	Open func(t *testing.T, c Content) mounts.Mount
	// Kind is what messages call the mount's kind.
	Kind string
	// Mutations counts what reached the source so far that was no read.
	Mutations func() int
}

// RunReadOnly sends every write there is to a mount, through a tree. Each is refused by name,
// commits as Forbidden and all else as Unsupported, nothing but reads reaches the source, and
// what it holds stays as it was.
func RunReadOnly(t *testing.T, s ReadOnlySuite) {
	t.Helper()
	content := Suite{}.content()
	m := s.Open(t, content)
	w := &writes{suite: s, mount: m, other: &untouched{Mount: m, t: t}}
	for name, writes := range map[string]bool{
		"NamespaceWriter": can[mounts.NamespaceWriter](m), "TableWriter": can[mounts.TableWriter](m), "ViewWriter": can[mounts.ViewWriter](m),
		"TableRenamer": can[mounts.TableRenamer](m), "TransactionCommitter": can[mounts.TransactionCommitter](m),
	} {
		require.False(t, writes, "the mount claims to be a %s", name)
	}
	var err error
	w.tree, err = mounts.NewTree("test", []mounts.Point{
		{At: mounts.Namespace{"far", "away"}, Mount: m, Kind: s.Kind}, {At: mounts.Namespace{"own"}, Mount: w.other, Kind: "native"},
	})
	require.NoError(t, err)
	t.Run("Namespaces", func(t *testing.T) { w.namespaces(t) })
	t.Run("Tables", func(t *testing.T) { w.tables(t) })
	t.Run("Views", func(t *testing.T) { w.views(t) })
	t.Run("AcrossMounts", func(t *testing.T) { w.acrossMounts(t) })
	t.Run("NothingChanged", func(t *testing.T) {
		require.Zero(t, s.Mutations(), "writes reached the source")
		r := &reader{Mount: m, content: content}
		testListNamespaces(t, r)
		testListTables(t, r)
		testLoadNamespace(t, r)
		testTableExists(t, r)
	})
	require.NoError(t, m.Close())
}

// writes is what the tests of writing to a mount that can't be written work on. It hangs at
// far.away, beside one at own that can be written but must not be asked.
type writes struct {
	suite ReadOnlySuite
	mount mounts.Mount
	other *untouched
	tree  *mounts.Tree
}

func can[Capability any](m mounts.Mount) bool { _, ok := m.(Capability); return ok }

// at resolves a dotted name, a table's or view's unless it ends with a dot.
func (w *writes) at(t *testing.T, dotted string) mounts.Target {
	t.Helper()
	path, namespace := strings.CutSuffix(dotted, ".")
	levels := mounts.Namespace(strings.Split(path, "."))
	var target mounts.Target
	var err error
	if namespace {
		target, err = w.tree.Resolve(t.Context(), Caller, levels)
	} else {
		target, err = w.tree.ResolveTable(t.Context(), Caller, levels.Parent().Table(levels.Last()))
	}
	require.NoError(t, err)
	return target
}

// refused checks that a write was refused by name.
func (w *writes) refused(t *testing.T, err error, kind mounts.Kind, words ...string) {
	t.Helper()
	wantKind(t, err, kind, words)
	e, ok := err.(*mounts.Error) //nolint:errorlint // the tree returns it unwrapped
	require.True(t, ok, "%T", err)
	require.NotEmpty(t, e.Op)
	for _, word := range words {
		require.Contains(t, e.Message(), word)
	}
	require.Zero(t, w.suite.Mutations(), "%v", err)
}

// who is how a refusal names the mount.
func (w *writes) who() string { return "mount at 'far.away' (" + w.suite.Kind + ")" }

func (w *writes) namespaces(t *testing.T) {
	create := func(dotted string) error {
		_, err := w.tree.CreateNamespace(t.Context(), Caller, w.at(t, dotted), map[string]string{"k": "v"})
		return err
	}
	w.refused(t, create("far.away.new."), mounts.Unsupported, w.who(), "far.away.new")
	w.refused(t, create("far.away.many.new."), mounts.Unsupported, w.who(), "far.away.many.new")
	for _, there := range []string{"far.away.many.", "far.away.", "far."} {
		w.refused(t, create(there), mounts.AlreadyExists, "Namespace already exists: "+strings.TrimSuffix(there, "."))
	}
	for _, dotted := range []string{"far.away.many.", "far.away.empty.", "far.away.missing."} {
		words := []string{w.who(), strings.TrimSuffix(dotted, ".")}
		w.refused(t, w.tree.DropNamespace(t.Context(), Caller, w.at(t, dotted)), mounts.Unsupported, words...)
		_, err := w.tree.UpdateProperties(t.Context(), Caller, w.at(t, dotted), []string{"owner"}, map[string]string{"k": "v"})
		w.refused(t, err, mounts.Unsupported, words...)
	}
	for _, place := range []string{"far.away.", "far."} {
		w.refused(t, w.tree.DropNamespace(t.Context(), Caller, w.at(t, place)), mounts.Unsupported, "mount point")
		_, err := w.tree.UpdateProperties(t.Context(), Caller, w.at(t, place), nil, map[string]string{"k": "v"})
		w.refused(t, err, mounts.Unsupported, "mount point")
	}
}

func (w *writes) tables(t *testing.T) {
	for _, name := range []string{"far.away.many.t1", "far.away.many.missing", "far.away.missing.t1"} {
		at, words := w.at(t, name), []string{w.who(), name}
		for _, body := range [][]byte{createBody("x", ""), createBody("x", `,"stage-create":true`), []byte("not json")} {
			_, err := w.tree.CreateTable(t.Context(), Caller, at, body)
			w.refused(t, err, mounts.Unsupported, words...)
		}
		for _, overwrite := range []bool{false, true} {
			_, err := w.tree.RegisterTable(t.Context(), Caller, at, mounts.RegisterRequest{MetadataLocation: "s3://lake/x.metadata.json", Overwrite: overwrite})
			w.refused(t, err, mounts.Unsupported, words...)
			w.refused(t, w.tree.DropTable(t.Context(), Caller, at, overwrite), mounts.Unsupported, words...)
		}
		_, err := w.tree.UnregisterTable(t.Context(), Caller, at)
		w.refused(t, err, mounts.Unsupported, words...)
		for _, body := range [][]byte{setProperty("k", "v"), setProperty("k", "v", `{"type":"assert-create"}`), []byte("not json")} {
			_, err := w.tree.CommitTable(t.Context(), Caller, at, body)
			w.refused(t, err, mounts.Forbidden, words...)
		}
	}
}

// views: a mount without views has none that could be changed.
func (w *writes) views(t *testing.T) {
	change, commit, words := mounts.NoSuchView, mounts.NoSuchView, []string{"far.away.many.v"}
	if can[mounts.ViewReader](w.mount) {
		change, commit, words = mounts.Unsupported, mounts.Forbidden, append(words, w.who())
	}
	at := w.at(t, "far.away.many.v")
	_, err := w.tree.CreateView(t.Context(), Caller, at, []byte(`{}`))
	w.refused(t, err, mounts.Unsupported, w.who(), "far.away.many.v")
	_, err = w.tree.RegisterView(t.Context(), Caller, at, "s3://lake/x.metadata.json")
	w.refused(t, err, mounts.Unsupported, w.who(), "far.away.many.v")
	_, err = w.tree.ReplaceView(t.Context(), Caller, at, []byte(`{}`))
	w.refused(t, err, commit, words...)
	w.refused(t, w.tree.DropView(t.Context(), Caller, at), change, words...)
	w.refused(t, w.tree.RenameView(t.Context(), Caller, at, w.at(t, "far.away.many.w")), change, words...)
	w.refused(t, w.tree.RenameView(t.Context(), Caller, w.at(t, "own.many.v"), at), mounts.Unsupported, w.who(), "own.many.v")
}

// acrossMounts: what has one side in another mount is refused before that is asked.
func (w *writes) acrossMounts(t *testing.T) {
	here, own := "far.away.many.t1", "own.many.t1"
	for _, names := range [][2]string{{here, "far.away.many.t9"}, {here, own}, {own, here}, {here, "far.away.missing.t1"}} {
		err := w.tree.RenameTable(t.Context(), Caller, w.at(t, names[0]), w.at(t, names[1]))
		w.refused(t, err, mounts.Unsupported, w.who(), names[0], names[1])
	}
	change := func(dotted string) mounts.TableChange {
		return mounts.TableChange{Target: w.at(t, dotted), Body: setProperty("k", "v")}
	}
	for _, changes := range [][]mounts.TableChange{{change(here)}, {change(own), change(here)}, {change(here), change(own)}} {
		w.refused(t, w.tree.CommitTransaction(t.Context(), Caller, changes), mounts.Forbidden, w.who(), here, "nothing was changed")
	}
}

// untouched is a mount that can be written, and fails the test when it is.
type untouched struct {
	mounts.Mount
	mounts.ViewReader
	t *testing.T
}

var _ interface {
	mounts.TableRenamer
	mounts.TransactionCommitter
	mounts.ViewWriter
} = (*untouched)(nil)

func (u *untouched) written(op string) error {
	u.t.Errorf("%s reached the other mount", op)
	return nil
}

func (u *untouched) RenameTable(context.Context, mounts.Caller, mounts.Target, mounts.Target) error {
	return u.written("RenameTable")
}

func (u *untouched) CommitTransaction(context.Context, mounts.Caller, []mounts.TableChange) error {
	return u.written("CommitTransaction")
}

func (u *untouched) CreateView(context.Context, mounts.Caller, mounts.Identifier, []byte) (*mounts.View, error) {
	return nil, u.written("CreateView")
}

func (u *untouched) RegisterView(context.Context, mounts.Caller, mounts.Identifier, string) (*mounts.View, error) {
	return nil, u.written("RegisterView")
}

func (u *untouched) ReplaceView(context.Context, mounts.Caller, mounts.Identifier, []byte) (*mounts.View, error) {
	return nil, u.written("ReplaceView")
}

func (u *untouched) DropView(context.Context, mounts.Caller, mounts.Identifier) error {
	return u.written("DropView")
}

func (u *untouched) RenameView(context.Context, mounts.Caller, mounts.Target, mounts.Target) error {
	return u.written("RenameView")
}
