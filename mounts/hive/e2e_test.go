//go:build e2e

package hive_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/hive"
	"piedmont/mounts/hive/hivetest"
	"piedmont/mounts/metastore"
	"piedmont/mounts/mounttest"
	"piedmont/vend"
	"piedmont/vend/local"
)

// real is the metastore that .ci/hive started and its environment names.
type real struct {
	t       *testing.T
	uri     string
	version int
	dir     string
	files   string // a folder for tables
	prefix  string // of the names of this test's databases
	*hivetest.Metastore
}

func open(t *testing.T) *real {
	t.Helper()
	r := &real{t: t, uri: os.Getenv("PIEDMONT_TEST_HIVE"), dir: os.Getenv("PIEDMONT_TEST_HIVE_DIR"), files: t.TempDir()}
	if r.uri == "" {
		t.Fatal("PIEDMONT_TEST_HIVE names no metastore: run make test")
	}
	var err error
	r.version, err = strconv.Atoi(os.Getenv("PIEDMONT_TEST_HIVE_VERSION"))
	require.NoError(t, err)
	r.prefix = fmt.Sprintf("p%d_", time.Now().UnixNano())
	r.Metastore = r.dial("")
	return r
}

func (r *real) dial(catalog string) *hivetest.Metastore {
	r.t.Helper()
	m, err := hivetest.Dial(r.uri, catalog)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = m.Close() })
	return m
}

func (r *real) location(name string) string { return "file://" + r.files + "/" + name }

// database makes one for this test.
func (r *real) database(name string) string {
	r.t.Helper()
	name = r.prefix + name
	require.NoError(r.t, r.CreateDatabase(r.t.Context(), name, r.location(name), nil))
	return name
}

// metadata writes a metadata file.
func (r *real) metadata(name string, version int) string {
	r.t.Helper()
	folder := filepath.Join(r.files, name, "metadata")
	require.NoError(r.t, os.MkdirAll(folder, 0o755))
	path := filepath.Join(folder, fmt.Sprintf("%05d-%s.metadata.json", version, uuid.NewString()))
	text := fmt.Sprintf(`{"format-version":2,"table-uuid":%q,"location":%q,"current-snapshot-id":2,"refs":{"main":{"snapshot-id":2,"type":"branch"}},`+
		`"snapshots":[{"snapshot-id":1},{"snapshot-id":2}],"properties":{"v":"%d"}}`, uuid.NewString(), r.location(name), version)
	require.NoError(r.t, os.WriteFile(path, []byte(text), 0o644))
	return "file://" + path
}

func (r *real) source(change func(*hive.Options)) *hive.Source {
	r.t.Helper()
	o := hive.Options{Name: "legacy", URIs: []string{r.uri}, Now: time.Now}
	if change != nil {
		change(&o)
	}
	s, err := hive.NewSource(o)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = s.Close() })
	return s
}

// mount is the metastore as clients see it.
func (r *real) mount(change func(*hive.Options, *metastore.Options)) *metastore.Catalog {
	r.t.Helper()
	prefix, err := vend.ParseLocation("file://" + r.files)
	require.NoError(r.t, err)
	files, err := local.New("disk", prefix)
	require.NoError(r.t, err)
	set, err := vend.NewSet("legacy", &vend.Profile{Name: "disk", Prefix: prefix, Files: files})
	require.NoError(r.t, err)
	o := hive.Options{Name: "legacy", URIs: []string{r.uri}, Now: time.Now}
	m := metastore.Options{Storage: set, Documents: vend.NewDocuments(64 << 20), Now: time.Now}
	if change != nil {
		change(&o, &m)
	}
	c, err := hive.New(o, m)
	require.NoError(r.t, err)
	return c
}

func (r *real) ci(script string, arguments ...string) {
	r.t.Helper()
	out, err := exec.Command("../../.ci/"+script, arguments...).CombinedOutput()
	require.NoError(r.t, err, "%s", out)
}

// restart kills the metastore and starts it again.
func (r *real) restart() {
	r.t.Helper()
	r.ci("hive", "kill", r.dir)
	r.start()
}

func (r *real) start() {
	r.t.Helper()
	r.ci("hive", "start", strconv.Itoa(r.version), r.dir)
}

// process is the metastore's.
func (r *real) process() *os.Process {
	r.t.Helper()
	f, err := os.Open(filepath.Join(r.dir, "env"))
	require.NoError(r.t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if pid, ok := strings.CutPrefix(lines.Text(), "PID="); ok {
			n, err := strconv.Atoi(pid)
			require.NoError(r.t, err)
			p, err := os.FindProcess(n)
			require.NoError(r.t, err)
			return p
		}
	}
	r.t.Fatal("no PID")
	return nil
}

// The suite, with everything beside it in each database that isn't an Iceberg table.
func TestRealMount(t *testing.T) {
	r := open(t)
	fill := func(m *hivetest.Metastore, c mounttest.Content) {
		ctx := t.Context()
		for _, n := range c.Namespaces {
			name := n.Name.String()
			require.NoError(t, m.CreateDatabase(ctx, name, r.location(name), n.Properties))
			require.NoError(t, m.CreateTable(ctx, name, "plain", hivetest.Table{Location: r.location(name + "/plain")}))
			require.NoError(t, m.CreateTable(ctx, name, "view", hivetest.Table{Type: "VIRTUAL_VIEW"}))
		}
		for _, id := range c.Tables {
			l := id.Namespace.String() + "/" + id.Name
			require.NoError(t, m.CreateTable(ctx, id.Namespace.String(), id.Name, hivetest.Table{Location: r.location(l), Parameters: hivetest.Iceberg(r.metadata(l, 1))}))
		}
	}
	names := []string{"under_score", "d1g1ts", "1", "_", "namespaces", "tables", "null"}
	mounttest.Run(t, mounttest.Suite{
		Open:  func(_ *testing.T, c mounttest.Content) mounts.Mount { fill(r.Metastore, c); return r.mount(nil) },
		Names: names, Prefix: r.prefix,
	})
	if r.version == 2 {
		return // it has no catalogs
	}
	t.Run("Catalog", func(t *testing.T) {
		require.NoError(t, r.CreateCatalog(t.Context(), r.prefix+"spark", r.location("spark")))
		mounttest.Run(t, mounttest.Suite{
			Open: func(_ *testing.T, c mounttest.Content) mounts.Mount {
				fill(r.dial(r.prefix+"spark"), c)
				return r.mount(func(o *hive.Options, _ *metastore.Options) { o.Catalog = r.prefix + "spark" })
			},
			Names: names, Prefix: r.prefix + "c",
		})
	})
}

// Everything that can lie in a metastore is told apart.
func TestRealKinds(t *testing.T) {
	r := open(t)
	db := r.database("kinds")
	s := r.source(nil)
	put := func(name string, table hivetest.Table) {
		t.Helper()
		if table.Type != "VIRTUAL_VIEW" {
			table.Location = r.location(db + "/" + name)
		}
		require.NoError(t, r.CreateTable(t.Context(), db, name, table))
	}
	typed := func(of string) map[string]string {
		return map[string]string{"table_type": of, "metadata_location": "file:///gone/1.metadata.json"}
	}
	put("upper", hivetest.Table{Parameters: typed("ICEBERG")})
	put("lower", hivetest.Table{Parameters: typed("iceberg")})
	put("mixed", hivetest.Table{Type: "MANAGED_TABLE", Parameters: typed("IceBerg")})
	put("lost", hivetest.Table{Parameters: map[string]string{"table_type": "ICEBERG"}})
	put("similar", hivetest.Table{Parameters: typed("ICEBERGX")})
	put("another", hivetest.Table{Parameters: typed("NOTICEBERG")})
	put("view", hivetest.Table{Type: "VIRTUAL_VIEW", Parameters: typed("ICEBERG-VIEW")})
	put("view2", hivetest.Table{Type: "VIRTUAL_VIEW", Parameters: typed("iceberg-view")})
	put("hiveview", hivetest.Table{Type: "VIRTUAL_VIEW"})
	put("plain", hivetest.Table{})
	put("managed", hivetest.Table{Type: "MANAGED_TABLE"})
	put("delta", hivetest.Table{Parameters: map[string]string{"spark.sql.sources.provider": "delta"}})
	acid := map[string]string{"transactional": "true", "transactional_properties": "insert_only"}
	if r.version == 3 { // the others let nobody make one by Thrift alone
		put("acid", hivetest.Table{Type: "MANAGED_TABLE", Parameters: acid})
	}
	names, _, err := s.Objects(t.Context(), db, metastore.Table, "", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"lost", "lower", "mixed", "upper"}, names)
	names, _, err = s.Objects(t.Context(), db, metastore.View, "", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"view", "view2"}, names)
	for name, want := range map[string]string{
		"similar": "a plain Hive table (EXTERNAL_TABLE)", "another": "a plain Hive table (EXTERNAL_TABLE)", "hiveview": "a Hive view",
		"plain": "a plain Hive table (EXTERNAL_TABLE)", "managed": "a plain Hive table (", "delta": "a Delta Lake table", "acid": "a plain Hive table (MANAGED_TABLE)",
		"upper": "", "lower": "", "mixed": "", "lost": "", "view": "", "view2": "",
	} {
		if name == "acid" && r.version != 3 {
			continue
		}
		o, err := s.Object(t.Context(), db, name)
		require.NoError(t, err, name)
		require.Contains(t, o.Is, want, name)
		switch {
		case want != "":
			require.Equal(t, metastore.Other, o.Kind, name)
		case strings.HasPrefix(name, "view"):
			require.Equal(t, metastore.View, o.Kind, name)
		default:
			require.Equal(t, metastore.Table, o.Kind, name)
		}
		if want == "" && name != "lost" {
			require.Equal(t, "file:///gone/1.metadata.json", o.MetadataLocation, name)
		}
		require.WithinDuration(t, time.Now(), o.Modified, time.Hour, name)
	}
}

// What a metastore takes for another name isn't there.
func TestRealNames(t *testing.T) {
	r := open(t)
	db := r.database("names")
	require.NoError(t, r.CreateTable(t.Context(), db, "t", hivetest.Table{Location: r.location("t"), Parameters: hivetest.Iceberg("file:///gone")}))
	s := r.source(nil)
	_, err := s.Object(t.Context(), db, "t")
	require.NoError(t, err)
	for _, name := range []string{
		"nosuch", " " + db, db + " ", "@hive#" + db, "@hive", "@" + db, "@nosuch#" + db, "a b", "a'b\"", "é", "雪", "a.b", "*", db + "*", strings.Repeat("x", 1900),
	} {
		_, err := s.Database(t.Context(), name)
		require.True(t, mounts.Is(err, mounts.NoSuchNamespace), "%q: %v", name, err)
		for _, kind := range []metastore.Kind{metastore.Table, metastore.View} {
			_, _, err = s.Objects(t.Context(), name, kind, "", 0)
			require.True(t, mounts.Is(err, mounts.NoSuchNamespace), "%q: %v", name, err)
		}
		_, err = s.Object(t.Context(), name, "t")
		require.True(t, mounts.Is(err, mounts.NoSuchTable), "%q: %v", name, err)
		_, err = s.Object(t.Context(), db, name)
		require.True(t, mounts.Is(err, mounts.NoSuchTable), "%q: %v", name, err)
	}
	for _, name := range []string{" t", "t ", "T"} {
		_, err = s.Object(t.Context(), db, name)
		require.True(t, mounts.Is(err, mounts.NoSuchTable), "%q: %v", name, err)
	}
}

func TestRealCatalogs(t *testing.T) {
	r := open(t)
	s := r.source(func(o *hive.Options) { o.Catalog = "nosuch" })
	_, _, err := s.Databases(t.Context(), "", 0)
	require.True(t, mounts.Is(err, mounts.BadGateway), "%v", err)
	if r.version == 2 {
		require.ErrorContains(t, err, "is older than Hive 3 and has no catalogs")
	} else {
		require.ErrorContains(t, err, "does not have the catalog that the mount names")
	}
	s = r.source(func(o *hive.Options) { o.Catalog = "hive"; o.User = "gateway" })
	names, _, err := s.Databases(t.Context(), "", 0)
	require.NoError(t, err)
	require.Contains(t, names, "default")
	require.NoError(t, s.Health(t.Context()))
}

// Many tables are listed by one call, and created by several at once.
func TestRealMany(t *testing.T) {
	r := open(t)
	db := r.database("many")
	const n = 100
	require.NoError(t, r.CreateTables(t.Context(), db, "plain", n, func(name string) hivetest.Table { return hivetest.Table{Location: r.location(name)} }))
	began := time.Now()
	require.NoError(t, r.CreateTables(t.Context(), db, "ice", n, func(name string) hivetest.Table {
		return hivetest.Table{Location: r.location(name), Parameters: hivetest.Iceberg("file:///gone/" + name)}
	}))
	t.Logf("%d tables in %v", n, time.Since(began))
	began = time.Now()
	names, next, err := r.source(nil).Objects(t.Context(), db, metastore.Table, "", 10)
	require.NoError(t, err)
	require.Empty(t, next)
	require.Len(t, names, n)
	require.Equal(t, "ice00000", names[0])
	require.Equal(t, "ice00099", names[n-1])
	t.Logf("listed in %v", time.Since(began))
	require.Error(t, r.CreateTables(t.Context(), db, "ice", n, func(string) hivetest.Table { return hivetest.Table{} }), "they are there")
}

// Each load sees what was committed before it.
func TestRealCommits(t *testing.T) {
	r := open(t)
	db := r.database("commits")
	id := mounts.Namespace{db}.Table("t")
	location := r.location(db + "/t")
	require.NoError(t, r.CreateTable(t.Context(), db, "t", hivetest.Table{Location: location, Parameters: hivetest.Iceberg(r.metadata(db+"/t", 0))}))
	m := r.mount(nil)
	defer m.Close()
	for version := 1; version <= 20; version++ {
		require.NoError(t, r.AlterTable(t.Context(), db, "t", hivetest.Table{Location: location, Parameters: hivetest.Iceberg(r.metadata(db+"/t", version))}))
		table, err := m.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
		require.NoError(t, err)
		d, err := table.Metadata(t.Context())
		require.NoError(t, err)
		require.Contains(t, string(d.Raw()), fmt.Sprintf(`"v":"%d"`, version))
	}
	require.NoError(t, r.DropTable(t.Context(), db, "t"))
	_, err := m.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
	require.True(t, mounts.Is(err, mounts.NoSuchTable), "%v", err)
}
