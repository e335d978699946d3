//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestWithoutConfiguration(t *testing.T) {
	p := start(t, "", t.TempDir())
	info, err := os.Stat(filepath.Join(p.data, "admin.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("admin.key: %v, %v", info.Mode(), err)
	}
	key := p.key()
	_, secret, ok := strings.Cut(key, ":")
	if !ok {
		t.Fatalf("admin.key holds %d bytes and no id:secret", len(key))
	}
	if r := p.do("GET", "/v1/config", "", nil); r.status != http.StatusUnauthorized || r.errorType() != "NotAuthorizedException" {
		t.Errorf("without a key: %d %s", r.status, r.body)
	}
	for _, wrong := range []string{"admin:wrong", "nobody:" + secret, key + "x", secret, "x.y.z"} {
		if r := p.do("GET", "/v1/config", wrong, nil); r.status != http.StatusUnauthorized {
			t.Errorf("with a wrong key: %d %s", r.status, r.body)
		}
	}
	p.must("GET", "/v1/config", key, nil)
	for _, want := range []string{"# PyIceberg", "# Spark", "# DuckDB", p.URI} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("the start says nothing of %s:\n%s", want, p.out)
		}
	}
	if strings.Contains(p.out.String(), secret) {
		t.Error("the start prints the key")
	}
	p.stop()
	again := start(t, "", p.data)
	if again.key() != key {
		t.Error("a second start made another key")
	}
	again.must("GET", "/v1/config", key, nil)
}

func TestKeyFileReadableByOthersIsRefused(t *testing.T) {
	p := start(t, "", t.TempDir())
	p.stop()
	if err := os.Chmod(filepath.Join(p.data, "admin.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := runCommand(t, "serve", "--listen", freeAddress(t), "--data", p.data)
	if err == nil || !strings.Contains(out, "chmod 600") {
		t.Errorf("the start went on: %v\n%s", err, out)
	}
}

func TestSecondProcessOnTheSameData(t *testing.T) {
	p := start(t, "", t.TempDir())
	out, err := runCommand(t, "serve", "--listen", freeAddress(t), "--data", p.data)
	if err == nil || !strings.Contains(out, "in use by process "+strconv.Itoa(p.cmd.Process.Pid)) {
		t.Errorf("a second process on the same data: %v\n%s", err, out)
	}
	p.must("GET", "/v1/config", p.key(), nil)
}

func TestStopFinishesRequestsUnderWay(t *testing.T) {
	p := start(t, "", t.TempDir())
	key := p.key()
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"db"}})
	p.must("POST", "/v1/namespaces/db/tables", key, simpleTable("t"))
	acked := make(chan int)
	go func() {
		n := 0
		for {
			r, err := try("POST", p.URI+"/v1/namespaces/db/tables/t", key, setProperty("n", strconv.Itoa(n+1)))
			if err != nil || r.status != http.StatusOK {
				acked <- n
				return
			}
			n++
		}
	}()
	time.Sleep(200 * time.Millisecond)
	p.stop()
	n := <-acked
	if n == 0 {
		t.Fatal("no commit before the stop")
	}
	again := start(t, "", p.data)
	if r := again.must("GET", "/v1/namespaces/db/tables/t", key, nil); !strings.Contains(string(r.body), `"n":"`+strconv.Itoa(n)+`"`) && !strings.Contains(string(r.body), `"n":"`+strconv.Itoa(n+1)+`"`) {
		t.Errorf("commit %d is gone: %s", n, r.body)
	}
}

// TestSecondKeyWithoutPolicy: who has a key and no policy sees nothing at all.
func TestSecondKeyWithoutPolicy(t *testing.T) {
	dir := t.TempDir()
	adminKey, adminEntry := newKey(t, "ops")
	otherKey, otherEntry := newKey(t, "etl")
	config := writeFile(t, filepath.Join(dir, "piedmont.yaml"), `
storage: [{name: wh, location: "file://`+dir+`/wh/", local: {}}]
mounts: [{at: "", native: {id: main, warehouse: "file://`+dir+`/wh/"}, storage: [wh]}]
auth:
  admins: [ops]
  keys:
`+adminEntry+otherEntry)
	if err := os.Mkdir(filepath.Join(dir, "wh"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := start(t, config, filepath.Join(dir, "data"))
	p.must("POST", "/v1/namespaces", adminKey, map[string]any{"namespace": []string{"db"}})
	p.must("POST", "/v1/namespaces/db/tables", adminKey, simpleTable("t"))
	if r := p.must("GET", "/v1/namespaces", otherKey, nil); strings.TrimSpace(string(r.body)) != `{"namespaces":[]}` {
		t.Errorf("listing: %s", r.body)
	}
	for _, path := range []string{"/v1/namespaces/db", "/v1/namespaces/db/tables", "/v1/namespaces/db/tables/t"} {
		if r := p.do("GET", path, otherKey, nil); r.status != http.StatusNotFound {
			t.Errorf("GET %s: %d %s", path, r.status, r.body)
		}
	}
	if r := p.do("POST", "/v1/namespaces/db/tables", otherKey, simpleTable("t2")); r.status != http.StatusForbidden {
		t.Errorf("create: %d %s", r.status, r.body)
	}
	if r := p.do("DELETE", "/v1/namespaces/db/tables/t", otherKey, nil); r.status != http.StatusNotFound {
		t.Errorf("drop: %d %s", r.status, r.body)
	}
}

// newKey makes a key with the binary: the credential, and its entry indented for a
// configuration. It is the one command that prints a secret, and that is its purpose.
func newKey(t *testing.T, id string) (credential, entry string) {
	t.Helper()
	out, err := exec.Command(binary(t), "keys", "new", "--id", id, "--group", "people").Output()
	if err != nil {
		t.Fatal(err)
	}
	credential, rest, _ := strings.Cut(string(out), "\n")
	if err := book.keepCredential("the key "+id, credential); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(rest, "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			entry += "    " + line + "\n"
		}
	}
	return credential, entry
}

func TestBadConfigurationNamesEverything(t *testing.T) {
	config := writeFile(t, filepath.Join(t.TempDir(), "piedmont.yaml"), "lisen: 127.0.0.1:1\nmounts:\n  - {at: legacy, rest: {uri: nonsense}, storage: [lake]}\n")
	out, err := runCommand(t, "check", "--config", config)
	if err == nil {
		t.Fatal("a bad configuration was accepted")
	}
	for _, want := range []string{"line 1: lisen: unknown key; did you mean listen?", "mounts[0].rest.uri", "mounts[0].storage[0]"} {
		if !strings.Contains(out, want) {
			t.Errorf("no word of %q:\n%s", want, out)
		}
	}
}
