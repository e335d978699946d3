package native_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/native/bolt"
	"piedmont/vend"
	"piedmont/vend/local"
)

// faultyRegistry is a registry whose commits can be made to fail.
type faultyRegistry struct {
	native.Registry
	mu     sync.Mutex
	before func(context.Context) error // an error keeps the commit from happening
	after  func() error                // an error hides that it happened
	reads  error                       // what every Get and Scan answers
}

func (r *faultyRegistry) hooks() (before func(context.Context) error, after func() error, reads error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.before, r.after, r.reads
}

// set arms the registry; nil is no fault.
func (r *faultyRegistry) set(before func(context.Context) error, after func() error, reads error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.before, r.after, r.reads = before, after, reads
}

func (r *faultyRegistry) Commit(ctx context.Context, conditions []native.Condition, changes []native.Change) error {
	before, after, _ := r.hooks()
	if before != nil {
		if err := before(ctx); err != nil {
			return err
		}
	}
	err := r.Registry.Commit(ctx, conditions, changes)
	if err == nil && after != nil {
		return after()
	}
	return err
}

func (r *faultyRegistry) Get(ctx context.Context, k native.Key) (native.Record, bool, error) {
	if _, _, err := r.hooks(); err != nil {
		return native.Record{}, false, err
	}
	return r.Registry.Get(ctx, k)
}

func (r *faultyRegistry) Scan(ctx context.Context, prefix, after native.Key, limit int) ([]native.Record, error) {
	if _, _, err := r.hooks(); err != nil {
		return nil, err
	}
	return r.Registry.Scan(ctx, prefix, after, limit)
}

// faultyFiles is a local disk on which creating can be made to fail.
type faultyFiles struct {
	*local.Files
	mu     sync.Mutex
	create func(l vend.Location, write func() error) error
	remove func(l vend.Location) error // before a deletion; an error keeps it from happening
}

func (f *faultyFiles) set(create func(vend.Location, func() error) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.create = create
}

func (f *faultyFiles) Create(ctx context.Context, l vend.Location, data []byte) error {
	f.mu.Lock()
	create := f.create
	f.mu.Unlock()
	write := func() error { return f.Files.Create(ctx, l, data) }
	if create == nil {
		return write()
	}
	return create(l, write)
}

func (f *faultyFiles) setDelete(remove func(vend.Location) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove = remove
}

func (f *faultyFiles) Delete(ctx context.Context, l vend.Location) error {
	f.mu.Lock()
	remove := f.remove
	f.mu.Unlock()
	if remove != nil {
		if err := remove(l); err != nil {
			return err
		}
	}
	return f.Files.Delete(ctx, l)
}

// world is two native mounts over one registry and disk that can fail, with the
// namespaces ns and other and the table ns.t in the first.
type world struct {
	t              *testing.T
	dir            string
	registry       *faultyRegistry
	files          *faultyFiles
	storage        *vend.Set
	main, second   *native.Catalog
	mainAt, teamAt *mounts.Point
	opened         []*native.Catalog
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	registry, err := bolt.Open(filepath.Join(t.TempDir(), "registry.db"), bolt.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, registry.Close()) })
	w.registry = &faultyRegistry{Registry: registry}
	prefix, err := vend.ParseLocation("file://" + w.dir)
	require.NoError(t, err)
	files, err := local.New("disk", prefix)
	require.NoError(t, err)
	w.files = &faultyFiles{Files: files}
	w.storage, err = vend.NewSet("", &vend.Profile{Name: "disk", Prefix: prefix, Files: w.files})
	require.NoError(t, err)
	w.main, w.second = w.open("main"), w.open("second")
	w.mainAt = &mounts.Point{Kind: "native", Mount: w.main}
	w.teamAt = &mounts.Point{At: mounts.Namespace{"team"}, Kind: "native", Mount: w.second}
	for _, c := range []*native.Catalog{w.main, w.second} {
		for _, n := range []string{"ns", "other"} {
			_, err := c.CreateNamespace(t.Context(), mounts.Caller{}, mounts.Namespace{n}, nil)
			require.NoError(t, err)
		}
	}
	_, err = w.main.CreateTable(t.Context(), mounts.Caller{}, id("ns.t"), []byte(newTableBody("t")))
	require.NoError(t, err)
	return w
}

// open makes a mount of that id, as another process would.
func (w *world) open(mountID string) *native.Catalog {
	c, err := native.New(native.Options{
		ID: mountID, Registry: w.registry, Warehouse: "file://" + w.dir + "/" + mountID, Storage: w.storage, Now: time.Now,
		Documents: vend.NewDocuments(64 << 20),
	})
	require.NoError(w.t, err)
	w.opened = append(w.opened, c)
	return c
}

// state is every record of the registry.
func (w *world) state() map[string]string {
	w.t.Helper()
	records, err := w.registry.Registry.Scan(w.t.Context(), "", "", 0)
	require.NoError(w.t, err)
	all := map[string]string{}
	for _, r := range records {
		all[string(r.Key)] = string(r.Version[:]) + string(r.Value)
	}
	return all
}

// disk are all files, with their locations as keys, once what is being deleted is gone.
func (w *world) disk() map[string]bool {
	w.t.Helper()
	for _, c := range w.opened {
		c.Settle()
	}
	all := map[string]bool{}
	require.NoError(w.t, filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all["file://"+path] = true
		}
		return err
	}))
	return all
}

func id(dotted string) mounts.Identifier {
	levels := strings.Split(dotted, ".")
	return mounts.Namespace(levels[:len(levels)-1]).Table(levels[len(levels)-1])
}

const schema = `{"type":"struct","fields":[{"id":1,"name":"id","required":false,"type":"long"}]}`

func newTableBody(name string) string {
	return `{"name":"` + name + `","schema":` + schema + `,"properties":{"write.metadata.previous-versions-max":"10000"}}`
}

func setPropertyBody(key, value string) []byte {
	return []byte(`{"requirements":[],"updates":[{"action":"set-properties","updates":{"` + key + `":"` + value + `"}}]}`)
}

// document is what a load finds, decoded as far as these tests look.
type document struct {
	Location   string            `json:"location"`
	Properties map[string]string `json:"properties"`
	Snapshots  []struct {
		ID int64 `json:"snapshot-id"`
	} `json:"snapshots"`
	SnapshotLog []struct {
		ID int64 `json:"snapshot-id"`
	} `json:"snapshot-log"`
	MetadataLog []struct {
		File string `json:"metadata-file"`
	} `json:"metadata-log"`
}

func (w *world) load(c *native.Catalog, name string) (*mounts.Table, document) {
	w.t.Helper()
	table, err := c.LoadTable(w.t.Context(), mounts.Caller{}, id(name), mounts.LoadOptions{})
	require.NoError(w.t, err)
	raw, err := table.Metadata(w.t.Context())
	require.NoError(w.t, err)
	var d document
	require.NoError(w.t, json.Unmarshal(raw.Raw(), &d))
	return table, d
}
