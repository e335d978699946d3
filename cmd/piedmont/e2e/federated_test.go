//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/glue"
	hms "github.com/beltran/gohive/hive_metastore"
	"github.com/rs/zerolog"

	"piedmont/mounts/hive/hivetest"
)

// metastoreServer is a Hive Metastore.
type metastoreServer struct {
	t       *testing.T
	dir     string
	version int
	URI     string
	process *os.Process
}

// startMetastore runs one with its data in dir.
func startMetastore(t *testing.T, version int, dir string) *metastoreServer {
	t.Helper()
	if out, err := exec.Command(script("hive"), "start", strconv.Itoa(version), dir).CombinedOutput(); err != nil {
		t.Fatalf("start a Hive Metastore: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(script("hive"), "stop", dir).Run() })
	m := &metastoreServer{t: t, dir: dir, version: version}
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	for _, entry := range strings.Fields(string(text)) {
		switch k, v, _ := strings.Cut(entry, "="); k {
		case "HIVE_URI":
			m.URI = v
		case "PID":
			var pid int
			if pid, err = strconv.Atoi(v); err == nil {
				m.process, err = os.FindProcess(pid)
			}
		}
	}
	if err != nil || m.process == nil || m.URI == "" {
		t.Fatalf("the metastore's env: %v\n%s", err, text)
	}
	return m
}

// hangs stops the process, until it is told to go on. Its threads stop one after the other.
func (m *metastoreServer) hangs() (goOn func()) {
	m.t.Helper()
	if err := m.process.Signal(syscall.SIGSTOP); err != nil {
		m.t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); !m.stopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatal("the metastore doesn't stop")
		}
	}
	return func() { _ = m.process.Signal(syscall.SIGCONT) }
}

// stopped says whether all its threads are.
func (m *metastoreServer) stopped() bool {
	m.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", m.process.Pid))
	if err != nil || len(threads) == 0 {
		m.t.Fatalf("the metastore's threads: %v", err)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		_, state, _ := strings.Cut(string(text), ") ")
		if err == nil && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// fill connects to it, to make what PyIceberg doesn't.
func (m *metastoreServer) fill() *hivetest.Metastore {
	m.t.Helper()
	c, err := hivetest.Dial(m.URI, "")
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Close() })
	return c
}

// client is Hive's own, one connection.
func (m *metastoreServer) client() *hms.ThriftHiveMetastoreClient {
	m.t.Helper()
	u, err := url.Parse(m.URI)
	if err != nil {
		m.t.Fatal(err)
	}
	config := &thrift.TConfiguration{ConnectTimeout: 10 * time.Second, SocketTimeout: time.Minute}
	conn := thrift.NewTBufferedTransport(thrift.NewTSocketConf(u.Host, config), 1<<16)
	if err := conn.Open(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = conn.Close() })
	p := thrift.NewTBinaryProtocolConf(conn, config)
	return hms.NewThriftHiveMetastoreClient(thrift.NewTStandardClient(p, p))
}

// content is everything that the metastore holds, word for word.
func (m *metastoreServer) content() string {
	m.t.Helper()
	c, ctx := m.client(), m.t.Context()
	var all []any
	databases, err := c.GetAllDatabases(ctx)
	for i := 0; i < len(databases) && err == nil; i++ {
		var d *hms.Database
		var tables []string
		if d, err = c.GetDatabase(ctx, databases[i]); err == nil {
			tables, err = c.GetAllTables(ctx, databases[i])
			all = append(all, d)
		}
		for j := 0; j < len(tables) && err == nil; j++ {
			q := hms.NewGetTableRequest()
			q.DbName, q.TblName = databases[i], tables[j]
			var r *hms.GetTableResult_
			if r, err = c.GetTableReq(ctx, q); err == nil {
				all = append(all, r.Table)
			}
		}
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return asJSON(m.t, all)
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// federation is one Piedmont over a catalog of its own and three others: a Hive Metastore at
// legacy, a Glue at cloud and an Iceberg REST catalog at old. Between it and each of these is a
// line that can fail.
type federation struct {
	t        *testing.T
	files    string // the folder of tables on this disk
	weed     *weedServer
	hive     *metastoreServer
	glue     string
	rest     *recorder
	lines    map[string]*line // by mount
	operator string
	config   string         // its text
	rows     map[string]int // what was made beside Piedmont
	*process
	admin string // its key
}

// mountTimeout bounds what Piedmont asks the others.
const mountTimeout = 3 * time.Second

func newFederation(t *testing.T) *federation {
	t.Helper()
	f := &federation{t: t, files: t.TempDir(), weed: weed(t), glue: os.Getenv("PIEDMONT_TEST_AWS"), lines: map[string]*line{}}
	if f.glue == "" {
		t.Fatal("PIEDMONT_TEST_AWS names no Glue: run make test")
	}
	f.hive = startMetastore(t, 3, t.TempDir())
	f.seed()
	f.rest = recordUpstream(t, f.weed.REST)
	through := map[string]string{}
	for mount, at := range map[string]string{"legacy": f.hive.URI, "cloud": f.glue, "old": f.rest.uri} {
		f.lines[mount], through[mount] = newLine(t, at)
	}
	zerolog.SetGlobalLevel(zerolog.Disabled) // the lines' own log
	f.operator = freeAddress(t)
	s3 := `s3: {endpoint: "` + f.weed.S3 + `", region: us-east-1, path_style: true, access_key_id: admin, secret_access_key: adminsecret}`
	hive := `hive: {uris: ["` + through["legacy"] + `"], timeout: ` + mountTimeout.String() + `}, storage: [lake, disk]`
	f.config = `
operator: ` + f.operator + `
storage:
  - {name: lake, location: "s3://lake/", ` + s3 + `}
  - {name: warehouse, location: "s3://warehouse/", ` + s3 + `}
  - {name: disk, location: "file://` + f.files + `/", local: {}}
mounts:
  - {at: "", native: {id: main, warehouse: "s3://lake/own/"}, storage: [lake, warehouse, disk]}
  - {at: legacy, ` + hive + `}
  - {at: remembered, ` + hive + `, fresh_for: ` + freshFor.String() + `}
  - {at: cloud, glue: {region: eu-west-1, endpoint: "` + through["cloud"] + `", access_key_id: AKIDFEDERATED, secret_access_key: glue-secret-of-the-tests,
     calls_per_second: 1000, timeout: ` + mountTimeout.String() + `}, storage: [lake, disk]}
  - {at: old, rest: {uri: "` + through["old"] + `", warehouse: warehouse, credential: "admin:adminsecret", timeout: ` + mountTimeout.String() + `}, storage: [warehouse]}
`
	f.process = start(t, writeFile(t, filepath.Join(t.TempDir(), "piedmont.yaml"), f.config), t.TempDir())
	f.admin = f.key()
	return f
}

// seed fills the other catalogs by their own clients.
func (f *federation) seed() {
	f.t.Helper()
	out := federatedPython(f.t, "federated_seed.py", "FILES=file://"+f.files, "HIVE_URI="+f.hive.URI, "HIVE_VERSION=3",
		"S3_ENDPOINT="+f.weed.S3, "GLUE_ENDPOINT="+f.glue, "REST_URI="+f.weed.REST)
	lastLine(f.t, out, &f.rows)
	plainHive(f.t, f.hive, f.files)
}

// plainHive puts beside the Iceberg tables what is none.
func plainHive(t *testing.T, m *metastoreServer, files string) {
	t.Helper()
	c := m.fill()
	err := c.CreateTable(t.Context(), "sales", "plain", hivetest.Table{Location: "file://" + files + "/hive/sales/plain"})
	if err == nil {
		err = c.CreateTable(t.Context(), "sales", "report", hivetest.Table{Type: "VIRTUAL_VIEW"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// glueContent is all that Glue has of a database's tables.
func (f *federation) glueContent(database string) string {
	f.t.Helper()
	c := glue.New(glue.Options{
		Region: "eu-west-1", BaseEndpoint: &f.glue,
		Credentials: credentials.NewStaticCredentialsProvider("AKIDFEDERATED", "glue-secret-of-the-tests", ""),
	})
	tables, err := c.GetTables(f.t.Context(), &glue.GetTablesInput{DatabaseName: aws.String(database)})
	if err != nil {
		f.t.Fatal(err)
	}
	return asJSON(f.t, tables.TableList)
}

// federatedPython runs a script with a PyIceberg that speaks to Hive and Glue.
func federatedPython(t *testing.T, path string, env ...string) string {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join("testdata", path)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(os.Getenv("PIEDMONT_TEST_CACHE"), "venv", "pyiceberg-hive", "bin", "python"), path)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(path), err, out)
	}
	return string(out)
}

// lastLine reads the JSON that a script ends with.
func lastLine(t *testing.T, out string, into any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), into); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
}

// TestFederated: each part goes on with what the one before left.
func TestFederated(t *testing.T) {
	f := newFederation(t)
	t.Run("Tree", f.testTree)
	t.Run("Freshness", f.testFreshness)
	t.Run("Appends", f.testAppends)
	t.Run("Move", f.testMove)
	t.Run("Faults", f.testFaults)
	t.Run("UnreachableAtStart", f.testUnreachableAtStart)
	t.Run("Hang", f.testHang)
}

// path of a table in the REST protocol, of its name in the tree.
func tablePath(name string) string {
	levels := strings.Split(name, ".")
	return fmt.Sprintf("/v1/namespaces/%s/tables/%s", strings.Join(levels[:len(levels)-1], "%1F"), levels[len(levels)-1])
}
