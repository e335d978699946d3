package bolt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
	"piedmont/native"
)

// TestEarlierFormats opens a registry of every format there ever was, each with the same
// content, and serves it: what was there is there, and can be changed.
func TestEarlierFormats(t *testing.T) {
	for format := 1; format <= FormatVersion; format++ {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			name := filepath.Join("testdata", fmt.Sprintf("format-%04d", format))
			if *update && format == FormatVersion {
				writeFixture(t, name)
			}
			path := filepath.Join(t.TempDir(), "registry")
			files := readFixture(t, name, path)
			r := openTest(t, path)
			c := serve(t, r, files, madeAt.Add(time.Minute))
			readsWhatWasThere(t, r, c)
			answersAsBefore(t, r, c)
			changesWhatWasThere(t, c)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			again := serve(t, openTest(t, path), files, madeAt.Add(time.Hour))
			for table := range fixtureTables {
				wantProperties(t, again, table, append(slices.Clone(fixtureTables[table]), "after")...)
			}
		})
	}
}

// fixtureTables are the tables of a fixture, with the properties that were set on each.
var fixtureTables = map[string][]string{
	"sales.orders": {"first", "second"}, "sales.same": {"first", "second"}, "sales.old": nil, "sales.été.new": nil, "sales.dropped": nil,
}

// wantProperties loads a table and fails the test unless it has these properties.
func wantProperties(t *testing.T, c *native.Catalog, table string, names ...string) {
	t.Helper()
	loaded, err := c.LoadTable(t.Context(), mounts.Caller{}, id(table), mounts.LoadOptions{})
	if err != nil {
		t.Fatal(table, err)
	}
	d, err := loaded.Metadata(t.Context())
	if err != nil {
		t.Fatal(table, err)
	}
	properties, _, err := rawjson.Member(d.Raw(), "properties")
	if err != nil {
		t.Fatal(table, err)
	}
	for _, name := range names {
		if value, ok, err := rawjson.Member(properties, name); err != nil || !ok || string(value) != `"yes"` {
			t.Errorf("%s has %s, want %s set, %v", table, properties, name, err)
		}
	}
}

func readsWhatWasThere(t *testing.T, r *Registry, c *native.Catalog) {
	t.Helper()
	ctx, nobody := t.Context(), mounts.Caller{}
	if ids, err := native.IDs(ctx, r); err != nil || !slices.Equal(ids, []string{"main"}) {
		t.Errorf("the ids are %v, %v", ids, err)
	}
	if key, ok, err := (native.SigningKeys{Registry: r}).SigningKey(ctx, "first"); err != nil || !ok || string(key) != "a secret of no one" {
		t.Errorf("the signing key is %q, %v, %v", key, ok, err)
	}
	if p, err := c.LoadNamespace(ctx, nobody, mounts.Namespace{"sales"}); err != nil || p["owner"] != "ops" {
		t.Errorf("the namespace has %v, %v", p, err)
	}
	if n, _, err := c.ListNamespaces(ctx, nobody, mounts.Namespace{"sales"}, mounts.Page{}); err != nil || fmt.Sprint(n) != "[sales.été]" {
		t.Errorf("its children are %v, %v", n, err)
	}
	if n, _, err := c.ListTables(ctx, nobody, mounts.Namespace{"sales"}, mounts.Page{}); err != nil || fmt.Sprint(n) != "[sales.old sales.orders sales.same]" {
		t.Errorf("its tables are %v, %v", n, err)
	}
	if n, _, err := c.ListViews(ctx, nobody, mounts.Namespace{"sales"}, mounts.Page{}); err != nil || fmt.Sprint(n) != "[sales.v]" {
		t.Errorf("its views are %v, %v", n, err)
	}
	for table, properties := range fixtureTables {
		if table != "sales.dropped" {
			wantProperties(t, c, table, properties...)
		}
	}
	if _, err := c.LoadView(ctx, nobody, id("sales.v")); err != nil {
		t.Error(err)
	}
}

// answersAsBefore sends again what the fixture has receipts of.
func answersAsBefore(t *testing.T, r *Registry, c *native.Catalog) {
	t.Helper()
	ctx := t.Context()
	if _, err := c.CommitTable(ctx, with(1), id("sales.orders"), setProperty("third")); !mounts.Is(err, mounts.Replayed) {
		t.Errorf("a commit sent again: %v", err)
	}
	o, ok, err := c.Outcome(ctx, with(1))
	if err != nil || !ok || o.Fingerprint != with(1).Receipt.Fingerprint {
		t.Errorf("its outcome is %+v, %v, %v", o, ok, err)
	}
	if _, err := c.TableAt(ctx, o.MetadataLocation); err != nil {
		t.Error(err)
	}
	o, ok, err = c.Outcome(ctx, with(2))
	if err != nil || !ok || o.Refusal == nil || o.Refusal.Kind != refusal.Kind || o.Refusal.Message() != refusal.Message() {
		t.Errorf("the refusal is %+v, %v, %v", o, ok, err)
	}
	if n, err := native.Sweep(ctx, r, madeAt.Add(c.ReceiptLifetime())); n != 0 || err != nil {
		t.Errorf("%d receipts went before their time, %v", n, err)
	}
	if n, err := native.Sweep(ctx, r, madeAt.Add(c.ReceiptLifetime()+time.Minute)); n != 2 || err != nil {
		t.Errorf("%d receipts went, want 2, %v", n, err)
	}
}

func changesWhatWasThere(t *testing.T, c *native.Catalog) {
	t.Helper()
	ctx, nobody := t.Context(), mounts.Caller{}
	if _, err := c.RestoreTable(ctx, id("sales.dropped"), "", id("sales.dropped")); err != nil {
		t.Error(err)
	}
	for table := range fixtureTables {
		if _, err := c.CommitTable(ctx, nobody, id(table), setProperty("after")); err != nil {
			t.Error(table, err)
		}
	}
	if _, err := c.ReplaceView(ctx, nobody, id("sales.v"), setProperty("after")); err != nil {
		t.Error(err)
	}
	if err := c.DropNamespace(ctx, nobody, mounts.Namespace{"sales", "été"}); !mounts.Is(err, mounts.NamespaceNotEmpty) {
		t.Errorf("dropping a namespace with a table: %v", err)
	}
	loaded, err := c.LoadTable(ctx, nobody, id("sales.old"), mounts.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	around, _, _ := strings.Cut(loaded.MetadataLocation, "/metadata/")
	inside := fmt.Appendf(nil, `{"name":"x","location":%q,"schema":%s}`, around+"/inside", fixtureSchema)
	if _, err := c.CreateTable(ctx, nobody, id("sales.x"), inside); !mounts.Is(err, mounts.BadRequest) {
		t.Errorf("creating a table inside another: %v", err)
	}
	if err := c.DropTable(ctx, nobody, id("sales.old"), false); err != nil {
		t.Error(err)
	}
	if _, err := c.RestoreTable(ctx, id("sales.old"), "", id("sales.old")); err != nil {
		t.Error(err)
	}
}

// TestNewerFormat: a file of a later release is left alone, and the error says which
// formats these are.
func TestNewerFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry")
	readFixture(t, filepath.Join("testdata", "format-0001"), path)
	edit(t, path, func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte(aboutBucket)).Put([]byte(aboutFormat), binary.BigEndian.AppendUint32(nil, FormatVersion+6))
	})
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	err = wantOpenError(t, path, ErrNewerFormat)
	if want := fmt.Sprintf("it has format %d, this one knows up to %d", FormatVersion+6, FormatVersion); !strings.Contains(err.Error(), want) {
		t.Errorf("Open: %v, want %q", err, want)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed, %v", err)
	}
}
