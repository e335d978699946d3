//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	replicas       = 3
	replicaWriters = 8
)

// appendsEach is how many rows each writer appends. All writers want the same table, so most
// tries are in vain; PIEDMONT_TEST_APPENDS asks for more than a run of all tests has time
// for.
func appendsEach(t *testing.T) int {
	t.Helper()
	n := os.Getenv("PIEDMONT_TEST_APPENDS")
	if n == "" {
		return 20
	}
	each, err := strconv.Atoi(n)
	if err != nil || each < 1 {
		t.Fatalf("PIEDMONT_TEST_APPENDS=%s: want a number", n)
	}
	return each
}

// cluster is replicas on one Postgres, with their tables on S3, behind a balancer that
// knows nothing of HTTP.
type cluster struct {
	t      *testing.T
	key    string
	config string
	mu     sync.Mutex
	nodes  [replicas]*process
	next   atomic.Int64
	URI    string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{t: t}
	var entry string
	c.key, entry = newKey(t, "ops")
	w := weed(t)
	c.config = writeFile(t, filepath.Join(dir, "piedmont.yaml"), `
registry: {postgres: {url: "`+postgresURL(t)+`"}}
storage:
  - {name: lake, location: "s3://lake/", s3: {endpoint: "`+w.S3+`", region: us-east-1, path_style: true, access_key_id: admin, secret_access_key: adminsecret}}
mounts: [{at: "", native: {id: main, warehouse: "s3://lake/`+strings.ToLower(t.Name())+`/"}, storage: [lake]}]
auth: {admins: [ops], keys: [`+strings.ReplaceAll(flow(entry), "\n", "")+`]}
`)
	for i := range c.nodes {
		c.nodes[i] = start(t, c.config, filepath.Join(dir, fmt.Sprint(i)))
	}
	c.balance()
	return c
}

// flow is a key's entry as a YAML flow mapping.
func flow(entry string) string {
	var id, sum, principal string
	for _, line := range strings.Split(entry, "\n") {
		k, v, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), ": ")
		switch k {
		case "id":
			id = v
		case "sha256":
			sum = v
		case "principal":
			principal = v
		}
	}
	return fmt.Sprintf(`{id: %s, sha256: "%s", principal: %s}`, id, sum, principal)
}

// postgresURL starts a database for the test.
func postgresURL(t *testing.T) string {
	t.Helper()
	_, at := startPostgres(t)
	return at
}

// startPostgres starts a database for the test: the folder that the script knows it by,
// and its URL.
func startPostgres(t *testing.T) (dir, at string) {
	t.Helper()
	dir = t.TempDir()
	if out, err := exec.Command(script("postgres"), "start", dir).CombinedOutput(); err != nil {
		t.Fatalf("start Postgres: %v\n%s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(script("postgres"), "remove", dir).Run() })
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(text)) {
		if url, ok := strings.CutPrefix(line, "POSTGRES_URL="); ok {
			return dir, strings.ReplaceAll(url, `\`, "") // quoted for a shell
		}
	}
	t.Fatalf("no URL in %s", text)
	return "", ""
}

// balance passes each connection on to the next replica.
func (c *cluster) balance() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = l.Close() })
	c.URI = "http://" + l.Addr().String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go c.pass(client)
		}
	}()
}

func (c *cluster) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	c.mu.Lock()
	node := c.nodes[c.next.Add(1)%replicas]
	c.mu.Unlock()
	server, err := net.Dial("tcp", strings.TrimPrefix(node.URI, "http://"))
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
}

// restart kills a replica and starts another in its place.
func (c *cluster) restart(i int) {
	c.mu.Lock()
	old := c.nodes[i]
	c.mu.Unlock()
	old.kill()
	fresh := start(c.t, c.config, old.data)
	c.mu.Lock()
	c.nodes[i] = fresh
	c.mu.Unlock()
}

// appendFromAll lets all writers append to db.shared, and checks that each row is there
// once, and that there is a snapshot for each.
func (c *cluster) appendFromAll() {
	c.t.Helper()
	p := c.nodes[0]
	p.must("POST", "/v1/namespaces", c.key, map[string]any{"namespace": []string{"db"}})
	p.must("POST", "/v1/namespaces/db/tables", c.key, map[string]any{"name": "shared", "schema": map[string]any{
		"type": "struct", "schema-id": 0, "fields": []any{map[string]any{"id": 1, "name": "row", "required": false, "type": "string"}},
	}})
	each := appendsEach(c.t)
	var wg sync.WaitGroup
	for w := range replicaWriters {
		wg.Add(1)
		go func() {
			defer wg.Done()
			out := strings.TrimSpace(c.writer(w))
			c.t.Log(out[strings.LastIndex(out, "\n")+1:])
		}()
	}
	wg.Wait()
	var loaded struct {
		Metadata struct {
			Snapshots []struct{ Summary map[string]string }
		}
	}
	c.mu.Lock()
	p = c.nodes[0]
	c.mu.Unlock()
	if err := json.Unmarshal(p.must("GET", "/v1/namespaces/db/tables/shared", c.key, nil).body, &loaded); err != nil {
		c.t.Fatal(err)
	}
	seen := map[string]int{}
	for _, s := range loaded.Metadata.Snapshots {
		seen[s.Summary["row"]]++
	}
	for w := range replicaWriters {
		for n := range each {
			if row := fmt.Sprintf("%d-%d", w, n); seen[row] != 1 {
				c.t.Errorf("row %s was appended %d times", row, seen[row])
			}
		}
	}
	if len(loaded.Metadata.Snapshots) != replicaWriters*each {
		c.t.Errorf("%d snapshots, want %d", len(loaded.Metadata.Snapshots), replicaWriters*each)
	}
}

func (c *cluster) writer(w int) string {
	each := appendsEach(c.t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute+time.Duration(each)*12*time.Second)
	defer cancel()
	interpreter := filepath.Join(os.Getenv("PIEDMONT_TEST_CACHE"), "venv", "pyiceberg", "bin", "python")
	cmd := exec.CommandContext(ctx, interpreter, filepath.Join("testdata", "append.py"))
	cmd.Env = append(os.Environ(), "PIEDMONT_URI="+c.URI, "PIEDMONT_KEY="+c.key, "S3_ENDPOINT="+weed(c.t).S3,
		fmt.Sprint("WRITER=", w), fmt.Sprint("APPENDS=", each), "OMP_NUM_THREADS=1", "ARROW_NUM_THREADS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Errorf("writer %d: %v\n%s", w, err, out)
	}
	return string(out)
}

func TestReplicasShareOneTable(t *testing.T) {
	startCluster(t).appendFromAll()
}

// TestReplicasKilled kills a replica every few seconds under the same load.
func TestReplicasKilled(t *testing.T) {
	c := startCluster(t)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Second):
				c.restart(i % replicas)
			}
		}
	}()
	c.appendFromAll()
	close(done)
	<-stopped
}
