package bolt

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"piedmont/mounts"
	"piedmont/native"
	"piedmont/vend"
)

// Before a format is released, this may write its fixture anew; afterwards never again, since
// files like it are out there.
var update = flag.Bool("update", false, "write the registry of the current format in testdata anew")

// shelf is a storage in memory.
type shelf struct {
	mu    sync.Mutex
	files map[string][]byte
}

func (s *shelf) Read(_ context.Context, l vend.Location, _ int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data, ok := s.files[l.String()]; ok {
		return data, nil
	}
	return nil, vend.NotFound(l, nil)
}

func (s *shelf) Create(_ context.Context, l vend.Location, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.files[l.String()]; ok {
		return vend.Exists(l, nil)
	}
	s.files[l.String()] = bytes.Clone(data)
	return nil
}

func (s *shelf) Delete(_ context.Context, l vend.Location) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, l.String())
	return nil
}

// madeAt is when the fixtures' changes were made.
var madeAt = time.UnixMilli(1_800_000_000_000)

const undropWindow = 24 * time.Hour

// serve is a catalog over a registry, by a clock that stands.
func serve(t *testing.T, r *Registry, files *shelf, now time.Time) *native.Catalog {
	t.Helper()
	prefix, err := vend.ParseLocation("s3://lake")
	if err != nil {
		t.Fatal(err)
	}
	storage, err := vend.NewSet("", &vend.Profile{Name: "lake", Prefix: prefix, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	c, err := native.New(native.Options{
		ID: "main", Registry: r, Warehouse: "s3://lake/main", Storage: storage, UndropWindow: undropWindow, Now: func() time.Time { return now },
		Documents: vend.NewDocuments(1 << 20),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func id(dotted string) mounts.Identifier {
	levels := strings.Split(dotted, ".")
	return mounts.Namespace(levels[:len(levels)-1]).Table(levels[len(levels)-1])
}

const (
	fixtureSchema = `{"type":"struct","fields":[{"id":1,"name":"id","required":false,"type":"long"}]}`
	fixtureView   = `{"name":"v","schema":` + fixtureSchema + `,"properties":{"a":"b"},"view-version":{"version-id":1,"timestamp-ms":1,"schema-id":0,
		"default-namespace":["sales"],"summary":{},"representations":[{"type":"sql","sql":"select 1","dialect":"spark"}]}}`
)

func newTable(formatVersion int) []byte {
	return fmt.Appendf(nil, `{"name":"t","schema":%s,"properties":{"format-version":"%d"}}`, fixtureSchema, formatVersion)
}

func setProperty(name string) []byte {
	return fmt.Appendf(nil, `{"updates":[{"action":"set-properties","updates":{%q:"yes"}}]}`, name)
}

// with is a caller whose requests carry an Idempotency-Key.
func with(key byte) mounts.Caller {
	return mounts.Caller{Principal: "etl", Receipt: &mounts.Receipt{Key: [16]byte{key}, Fingerprint: [32]byte{1, key}}}
}

var refusal = &mounts.Error{Kind: mounts.CommitFailed, Op: "updateTable", Name: "sales.orders", Detail: "Requirement failed: {name}"}

// fill is what every fixture holds: one of each kind of record.
func fill(ctx context.Context, r *Registry, c *native.Catalog) error {
	nobody := mounts.Caller{}
	two := func(_ any, err error) error { return err }
	err := errors.Join(
		native.SigningKeys{Registry: r}.AddSigningKey(ctx, "first", []byte("a secret of no one")),
		two(c.CreateNamespace(ctx, nobody, mounts.Namespace{"sales"}, map[string]string{"owner": "ops"})),
		two(c.CreateNamespace(ctx, nobody, mounts.Namespace{"sales", "été"}, nil)),
		two(c.CreateTable(ctx, nobody, id("sales.orders"), newTable(2))),
		two(c.CommitTable(ctx, with(1), id("sales.orders"), setProperty("first"))),
		two(c.CommitTable(ctx, nobody, id("sales.orders"), setProperty("second"))),
		c.KeepRefusal(ctx, with(2), refusal),
		two(c.CreateTable(ctx, nobody, id("sales.old"), newTable(1))),
		two(c.CreateTable(ctx, nobody, id("sales.été.new"), newTable(3))),
		two(c.CreateTable(ctx, nobody, id("sales.dropped"), newTable(2))),
		c.DropTable(ctx, nobody, id("sales.dropped"), false),
		two(c.CreateView(ctx, nobody, id("sales.v"), []byte(fixtureView))),
	)
	if err != nil {
		return err
	}
	table, err := c.LoadTable(ctx, nobody, id("sales.orders"), mounts.LoadOptions{})
	if err != nil {
		return err
	}
	return two(c.RegisterTable(ctx, nobody, id("sales.same"), mounts.RegisterRequest{MetadataLocation: table.MetadataLocation}))
}

// writeFixture writes the two files of a format: the registry, and the metadata files of
// its tables.
func writeFixture(t *testing.T, name string) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, FormatVersion)
	path := filepath.Join(t.TempDir(), "registry")
	r, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	files := &shelf{files: map[string][]byte{}}
	c := serve(t, r, files, madeAt)
	if err := errors.Join(fill(t.Context(), r, c), c.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	// bbolt makes files larger by megabytes that hold nothing yet: the pages behind the last
	// that was written can go.
	pages := (len(bytes.TrimRight(raw, "\x00")) + os.Getpagesize() - 1) / os.Getpagesize()
	if _, err := w.Write(raw[:pages*os.Getpagesize()]); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive := &txtar.Archive{Comment: []byte("The metadata files of the tables in " + filepath.Base(name) + ".gz.\n")}
	for file, data := range files.files {
		archive.Files = append(archive.Files, txtar.File{Name: file, Data: append(data, '\n')})
	}
	slices.SortFunc(archive.Files, func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) })
	if err := errors.Join(os.WriteFile(name+".gz", packed.Bytes(), 0o644), os.WriteFile(name+".txtar", txtar.Format(archive), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// readFixture unpacks a format's registry to a path, and its metadata files.
func readFixture(t *testing.T, name, path string) *shelf {
	t.Helper()
	packed, err := os.Open(name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile(name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := &shelf{files: map[string][]byte{}}
	for _, f := range archive.Files {
		files.files[f.Name] = f.Data
	}
	return files
}
