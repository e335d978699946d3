//go:build e2e

// Package e2e tests the built binary with real clients, real storage and a real upstream
// catalog. The test command installs them; see Makefile.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// weedServer is a SeaweedFS: an S3 server and an Iceberg REST catalog.
type weedServer struct {
	dir, S3, REST, base string
}

func script(name string) string { return filepath.Join("..", "..", "..", ".ci", name) }

var (
	sharedWeed *weedServer
	weedOnce   sync.Once
	weedErr    error
)

func TestMain(m *testing.M) {
	if setting := os.Getenv(bareEnv); setting != "" {
		fmt.Fprintln(os.Stderr, serveBare(setting))
		os.Exit(1)
	}
	http.DefaultClient.Transport = overheard{http.DefaultTransport.(*http.Transport)}
	code := m.Run()
	if sharedWeed != nil {
		sharedWeed.stop()
	}
	if err := book.report(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// weed is the server that tests share. Who stops one starts their own.
func weed(t *testing.T) *weedServer {
	t.Helper()
	weedOnce.Do(func() {
		dir, err := os.MkdirTemp("", "piedmont-e2e-weed-")
		if err != nil {
			weedErr = err
			return
		}
		sharedWeed, weedErr = startWeed(dir, "")
	})
	if weedErr != nil {
		t.Fatalf("start SeaweedFS: %v", weedErr)
	}
	return sharedWeed
}

func startWeed(dir, base string) (*weedServer, error) {
	args := []string{"start", dir}
	if base != "" {
		args = append(args, base)
	}
	if out, err := exec.Command(script("weed"), args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	w := &weedServer{dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, "env"))
	for _, line := range strings.Fields(string(text)) {
		switch k, v, _ := strings.Cut(line, "="); k {
		case "S3_ENDPOINT":
			w.S3 = v
		case "REST_URI":
			w.REST = v
		case "BASE":
			w.base = v
		}
	}
	return w, err
}

func (w *weedServer) stop() { _ = exec.Command(script("weed"), "stop", w.dir).Run() }

// process is a running piedmont.
type process struct {
	*told
	t      *testing.T
	cmd    *exec.Cmd
	URI    string
	exited chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// binary is the program under test. Who starts it by other means than newCommand, which
// watches what it tells, does that too.
func binary(t *testing.T) string {
	t.Helper()
	b := os.Getenv("PIEDMONT_BIN")
	if b == "" {
		t.Fatal("PIEDMONT_BIN names no binary: run make test")
	}
	return b
}

// newCommand is a piedmont command to be run, and what it tells.
func newCommand(t *testing.T, args ...string) (*exec.Cmd, *told) {
	t.Helper()
	given := func(flag string) string {
		if i := slices.Index(args, flag); i >= 0 {
			return args[i+1]
		}
		return ""
	}
	w := watch(t, "piedmont "+args[0], given("--config"), given("--data"))
	cmd := exec.Command(binary(t), args...)
	cmd.Stdout, cmd.Stderr = w.out, w.out
	return cmd, w
}

// runCommand runs a piedmont command that may fail.
func runCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd, w := newCommand(t, args...)
	err := cmd.Run()
	return w.out.String(), err
}

// command runs a piedmont command that has to succeed.
func command(t *testing.T, args ...string) string {
	t.Helper()
	out, err := runCommand(t, args...)
	if err != nil {
		t.Fatalf("piedmont %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs piedmont serve and waits until it is ready.
func start(t *testing.T, config, data string) *process {
	t.Helper()
	for {
		p, err := tryStart(t, config, data)
		if err == nil {
			return p
		}
		if !strings.Contains(err.Error(), "address already in use") { // somebody took it since it was found free
			t.Fatal(err)
		}
	}
}

// tryStart is start for a process that may not come up.
func tryStart(t *testing.T, config, data string) (*process, error) {
	t.Helper()
	address := freeAddress(t)
	p := &process{t: t, URI: "http://" + address, exited: make(chan struct{})}
	args := []string{"serve", "--listen", address, "--data", data}
	if config != "" {
		args = append(args, "--config", config)
	}
	p.cmd, p.told = newCommand(t, args...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		if p.running() {
			p.showOperator()
		}
		p.kill()
	})
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if r, err := http.Get(p.URI + "/readyz"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return p, p.serves(address)
			}
		}
		if !p.running() {
			return nil, fmt.Errorf("piedmont ended at its start:\n%s", p.out)
		}
	}
	return nil, fmt.Errorf("piedmont isn't ready:\n%s", p.out)
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// stop asks it to end and waits.
func (p *process) stop() {
	p.t.Helper()
	p.showOperator()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(40 * time.Second):
		p.t.Fatal("piedmont didn't end")
	}
}

func (p *process) key() string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.data, "admin.key"))
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// reply is what a request got.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) errorType() string {
	var e struct {
		Error struct{ Type, Message string }
	}
	_ = json.Unmarshal(r.body, &e)
	return e.Error.Type
}

func (r reply) message() string {
	var e struct{ Error struct{ Message string } }
	_ = json.Unmarshal(r.body, &e)
	return e.Error.Message
}

// try sends one request; an error means that no whole answer came.
func try(method, uri, key string, body any) (reply, error) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return reply{}, err
		}
		in = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, uri, in)
	if err != nil {
		return reply{}, err
	}
	if key != "" {
		q.Header.Set("Authorization", "Bearer "+key)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return reply{}, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return reply{r.StatusCode, r.Header, b}, err
}

func (p *process) do(method, path, key string, body any) reply {
	p.t.Helper()
	r, err := try(method, p.URI+path, key, body)
	if err != nil {
		p.t.Fatalf("%s %s: %v\n%s", method, path, err, p.out)
	}
	return r
}

// must sends a request that has to succeed.
func (p *process) must(method, path, key string, body any) reply {
	p.t.Helper()
	r := p.do(method, path, key, body)
	if r.status/100 != 2 {
		p.t.Fatalf("%s %s: %d %s", method, path, r.status, r.body)
	}
	return r
}

// python runs a script of testdata with PyIceberg.
func python(t *testing.T, name string, env ...string) string {
	t.Helper()
	interpreter := filepath.Join(os.Getenv("PIEDMONT_TEST_CACHE"), "venv", "pyiceberg", "bin", "python")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, filepath.Join("testdata", name))
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// simpleTable is a CreateTableRequest of one column.
func simpleTable(name string) map[string]any {
	return map[string]any{
		"name": name,
		"schema": map[string]any{"type": "struct", "schema-id": 0, "fields": []any{
			map[string]any{"id": 1, "name": "id", "required": false, "type": "long"},
		}},
	}
}

func setProperty(name, value string) map[string]any {
	return map[string]any{
		"requirements": []any{},
		"updates":      []any{map[string]any{"action": "set-properties", "updates": map[string]string{name: value}}},
	}
}
