package survey_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/metastore/metastoretest"
	"piedmont/mounts/survey"
	"piedmont/vend"
)

// memory is a storage without a disk below.
type memory struct {
	mu     sync.Mutex
	prefix vend.Location
	files  map[string][]byte
	sick   error // what every reading says
}

func (m *memory) Read(_ context.Context, l vend.Location, _ int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sick != nil {
		return nil, m.sick
	}
	if err := vend.CheckFile(m.prefix, l); err != nil {
		return nil, err
	}
	b, ok := m.files[l.String()]
	if !ok {
		return nil, vend.NotFound(l, nil)
	}
	return b, nil
}

func (m *memory) Create(_ context.Context, l vend.Location, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[l.String()] = data
	return nil
}

func (m *memory) Delete(context.Context, vend.Location) error { return nil }

// world is a metastore, mounted, with its storage.
type world struct {
	t      *testing.T
	point  *mounts.Point
	source *metastoretest.Source
	files  *memory
}

func newWorld(t *testing.T, at string) *world {
	t.Helper()
	prefix, err := vend.ParseLocation("s3://lake/" + at)
	require.NoError(t, err)
	w := &world{t: t, source: metastoretest.New(), files: &memory{prefix: prefix, files: map[string][]byte{}}}
	set, err := vend.NewSet(at, &vend.Profile{Name: "lake", Prefix: prefix, Files: w.files})
	require.NoError(t, err)
	c, err := metastore.New(metastore.Options{
		Name: at, Kind: "hive", Source: w.source, Storage: set, Documents: vend.NewDocuments(1 << 20), Now: time.Now,
	})
	require.NoError(t, err)
	w.point = &mounts.Point{At: mounts.Namespace{at}, Kind: "hive", Mount: c}
	return w
}

// put writes a metadata file and points an object to it.
func (w *world) put(db, name string, kind metastore.Kind, text string) {
	w.t.Helper()
	l, err := vend.ParseLocation(fmt.Sprintf("s3://lake/%s/%s/%s/metadata/00001-%s.metadata.json", w.point.At, db, name, uuid.NewString()))
	require.NoError(w.t, err)
	require.NoError(w.t, w.files.Create(context.Background(), l, []byte(text)))
	w.source.Put(db, name, metastore.Object{Kind: kind, MetadataLocation: l.String()})
}

// table puts a table with a document of its own.
func (w *world) table(db, name string) {
	w.t.Helper()
	w.put(db, name, metastore.Table, fmt.Sprintf(`{"format-version":2,"table-uuid":%q,"location":"s3://lake/%s/%s/%s","snapshots":[]}`,
		uuid.NewString(), w.point.At, db, name))
}

// tables puts n tables t00000, t00001, … into databases db0, db1, …, each of size tables.
func (w *world) tables(n, size int) {
	w.t.Helper()
	for i := range n {
		db := fmt.Sprintf("db%d", i/size)
		if i%size == 0 {
			w.source.PutDatabase(db, nil)
		}
		w.table(db, fmt.Sprintf("t%05d", i))
	}
}

// run is a survey of some mounts.
func run(t *testing.T, ctx context.Context, set func(*survey.Options), points ...*mounts.Point) (*survey.Report, []survey.Line, error) { //nolint:revive // the test comes first
	t.Helper()
	var lines []survey.Line
	o := survey.Options{
		Caller: mounts.Caller{Principal: "admin"}, Now: time.Now,
		Lines: func(l survey.Line) error { lines = append(lines, l); return nil },
	}
	for _, p := range points {
		o.Mounts = append(o.Mounts, survey.Mount{Point: p, Identity: "of " + p.Name()})
	}
	if set != nil {
		set(&o)
	}
	report, err := survey.Run(ctx, o)
	return report, lines, err
}

func surveyed(t *testing.T, set func(*survey.Options), points ...*mounts.Point) (*survey.Report, []survey.Line) {
	t.Helper()
	report, lines, err := run(t, t.Context(), set, points...)
	require.NoError(t, err)
	return report, lines
}

// tablesOf are the tables of lines by name; each may stand there once.
func tablesOf(t *testing.T, lines []survey.Line) map[string]*survey.Table {
	t.Helper()
	found := map[string]*survey.Table{}
	for _, l := range lines {
		if l.Table != nil {
			require.NotContains(t, found, l.Table.Name)
			found[l.Table.Name] = l.Table
		}
	}
	return found
}

// written is lines as they are written, sorted by kind and name.
func written(t *testing.T, lines []survey.Line) string {
	t.Helper()
	var all []string
	for _, l := range lines {
		text, err := json.Marshal(l)
		require.NoError(t, err)
		all = append(all, string(text))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func unavailable(detail string) error { return &mounts.Error{Kind: mounts.Unavailable, Detail: detail} }
