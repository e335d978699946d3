package mounts_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

var (
	ctx  = context.Background()
	who  = mounts.Caller{Principal: "tester"}
	sick = &mounts.Error{Kind: mounts.Unavailable, Detail: "down"}
)

// readable is a catalog in memory that can only be read. Namespaces exist by their
// encoded path; each maps to the names of its tables.
type readable struct {
	mu         sync.Mutex
	namespaces map[string][]string
	fail       error      // what every call answers, if set
	extra      [][]string // namespaces that each list holds besides, as sloppy upstreams do
	asked      []string   // the namespaces and tables asked for
	closed     atomic.Int32
}

func reading(paths ...string) *readable {
	m := &readable{namespaces: map[string][]string{}}
	for _, p := range paths {
		path, tables, _ := strings.Cut(p, ":")
		n := ns(path)
		for depth := 1; depth <= len(n); depth++ {
			m.namespaces[n[:depth].Encode()] = append(m.namespaces[n[:depth].Encode()], []string{}...)
		}
		if tables != "" {
			m.namespaces[n.Encode()] = strings.Split(tables, ",")
		}
	}
	return m
}

// ns is the namespace of levels joined by slashes.
func ns(path string) mounts.Namespace {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// ask takes note of a question and says whether it can be answered.
func (m *readable) ask(n mounts.Namespace, name string) error {
	m.asked = append(m.asked, strings.Join(append(slices.Clone(n), name), "/"))
	if m.fail != nil {
		return m.fail
	}
	if _, ok := m.namespaces[n.Encode()]; !ok && len(n) > 0 {
		return &mounts.Error{Kind: mounts.NoSuchNamespace, Name: n.String()}
	}
	return nil
}

func page(sorted []string, p mounts.Page) ([]string, string) {
	from, _ := slices.BinarySearch(sorted, p.Token)
	sorted = sorted[from:]
	if p.Size > 0 && len(sorted) > p.Size {
		return sorted[:p.Size], sorted[p.Size]
	}
	return sorted, ""
}

func (m *readable) ListNamespaces(_ context.Context, _ mounts.Caller, parent mounts.Namespace, p mounts.Page) ([]mounts.Namespace, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask(parent, ""); err != nil {
		return nil, "", err
	}
	var levels []string
	for path := range m.namespaces {
		n := mounts.Namespace(strings.Split(path, mounts.Separator))
		if len(n) == len(parent)+1 && n.HasPrefix(parent) {
			levels = append(levels, n.Last())
		}
	}
	slices.Sort(levels)
	levels, next := page(levels, p)
	var list []mounts.Namespace
	for _, level := range levels {
		list = append(list, parent.Child(level))
	}
	for _, n := range m.extra {
		list = append(list, n)
	}
	return list, next, nil
}

func (m *readable) LoadNamespace(_ context.Context, _ mounts.Caller, n mounts.Namespace) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask(n, ""); err != nil {
		return nil, err
	}
	return map[string]string{"inner": n.String()}, nil
}

func (m *readable) ListTables(_ context.Context, _ mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.Identifier, string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask(n, ""); err != nil {
		return nil, "", err
	}
	names, next := page(slices.Sorted(slices.Values(m.namespaces[n.Encode()])), p)
	var list []mounts.Identifier
	for _, name := range names {
		list = append(list, n.Table(name))
	}
	return list, next, nil
}

func (m *readable) LoadTable(ctx context.Context, c mounts.Caller, id mounts.Identifier, _ mounts.LoadOptions) (*mounts.Table, error) {
	if err := m.TableExists(ctx, c, id); err != nil {
		return nil, err
	}
	return &mounts.Table{Version: id.String(), Metadata: func(context.Context) (mounts.Document, error) {
		return nil, &mounts.Error{Kind: mounts.NotFound, Name: id.String(), Detail: "The metadata file of {name} is gone"}
	}}, nil
}

func (m *readable) TableExists(_ context.Context, _ mounts.Caller, id mounts.Identifier) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask(id.Namespace, id.Name); err != nil && !mounts.Is(err, mounts.NoSuchNamespace) {
		return err
	}
	if !slices.Contains(m.namespaces[id.Namespace.Encode()], id.Name) {
		return &mounts.Error{Kind: mounts.NoSuchTable, Name: id.String()}
	}
	return nil
}

func (m *readable) Close() error {
	m.closed.Add(1)
	return nil
}

// folding is a catalog that ignores case, as Hive does.
type folding struct{ *readable }

func (folding) Canonical(name string) string { return strings.ToLower(name) }

// writable can be changed as well.
type writable struct{ *readable }

func writing(paths ...string) writable { return writable{reading(paths...)} }

func (m writable) CreateNamespace(_ context.Context, _ mounts.Caller, n mounts.Namespace, p map[string]string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask(n.Parent(), ""); err != nil {
		return nil, err
	}
	if _, taken := m.namespaces[n.Encode()]; taken {
		return nil, &mounts.Error{Kind: mounts.AlreadyExists, Name: n.String(), Detail: "{name} exists"}
	}
	m.namespaces[n.Encode()] = nil
	return p, nil
}

func (m writable) DropNamespace(_ context.Context, _ mounts.Caller, n mounts.Namespace) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask(n, ""); err != nil {
		return err
	}
	delete(m.namespaces, n.Encode())
	return nil
}

func (m writable) UpdateProperties(_ context.Context, _ mounts.Caller, n mounts.Namespace, removals []string, _ map[string]string) (mounts.PropertiesUpdate, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return mounts.PropertiesUpdate{Removed: removals}, m.ask(n, "")
}

func (m writable) CreateTable(_ context.Context, _ mounts.Caller, id mounts.Identifier, _ []byte) (*mounts.Table, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ask(id.Namespace, id.Name); err != nil {
		return nil, err
	}
	m.namespaces[id.Namespace.Encode()] = append(m.namespaces[id.Namespace.Encode()], id.Name)
	return &mounts.Table{Version: id.String(), Metadata: func(context.Context) (mounts.Document, error) {
		return nil, &mounts.Error{Kind: mounts.NotFound, Name: id.String(), Detail: "The metadata file of {name} is gone"}
	}}, nil
}

func (m writable) RegisterTable(ctx context.Context, c mounts.Caller, id mounts.Identifier, _ mounts.RegisterRequest) (*mounts.Table, error) {
	return m.CreateTable(ctx, c, id, nil)
}

func (m writable) CommitTable(ctx context.Context, c mounts.Caller, id mounts.Identifier, _ []byte) (*mounts.Table, error) {
	return m.LoadTable(ctx, c, id, mounts.LoadOptions{})
}

func (m writable) UnregisterTable(ctx context.Context, c mounts.Caller, id mounts.Identifier) (*mounts.Table, error) {
	return m.LoadTable(ctx, c, id, mounts.LoadOptions{})
}

func (m writable) DropTable(ctx context.Context, c mounts.Caller, id mounts.Identifier, _ bool) error {
	return m.TableExists(ctx, c, id)
}

func (m writable) RenameTable(ctx context.Context, c mounts.Caller, from, _ mounts.Target) error {
	return from.Restore(m.TableExists(ctx, c, from.Inner()))
}

// message is what a client would be told.
func message(t testing.TB, err error) string {
	t.Helper()
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	return e.Message()
}

// at mounts a catalog at a path of levels joined by slashes.
func at(path string, m mounts.Mount) mounts.Point {
	p := mounts.Point{At: ns(path), Mount: m, Kind: "upstream"}
	if _, ok := m.(mounts.NamespaceWriter); ok {
		p.Kind = "native"
	}
	return p
}

func tree(t testing.TB, points ...mounts.Point) *mounts.Tree {
	t.Helper()
	made, err := mounts.NewTree("piedmont", points)
	require.NoError(t, err)
	return made
}

func resolve(t testing.TB, in *mounts.Tree, path string) mounts.Target {
	t.Helper()
	target, err := in.Resolve(ctx, who, ns(path))
	require.NoError(t, err)
	return target
}

func resolveTable(t testing.TB, in *mounts.Tree, path, name string) mounts.Target {
	t.Helper()
	target, err := in.ResolveTable(ctx, who, ns(path).Table(name))
	require.NoError(t, err)
	return target
}

// listed is every page of a listing, as paths joined by slashes.
func listed(t testing.TB, in *mounts.Tree, path string, size int) []string {
	t.Helper()
	parent, names, token := resolve(t, in, path), []string(nil), ""
	for range 1000 {
		list, next, err := in.ListNamespaces(ctx, who, parent, mounts.Page{Token: token, Size: size})
		require.NoError(t, err)
		for _, n := range list {
			names = append(names, strings.Join(n, "/"))
		}
		if next == "" {
			return names
		}
		require.NotEqual(t, token, next, "the list doesn't end")
		token = next
	}
	t.Fatal("the list doesn't end")
	return nil
}
