//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReadmeStart does what the README tells a new user, in a clone: its first command,
// and its Python, with nothing changed but the port.
func TestReadmeStart(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "piedmont")
	if out, err := exec.Command("git", "clone", "-q", root, clone).CombinedOutput(); err != nil {
		t.Fatalf("clone: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(clone, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	serve := strings.TrimSpace(block(t, text, "sh")) + " --listen " + address
	snippet := strings.ReplaceAll(block(t, text, "python"), "127.0.0.1:8181", address)

	cmd := exec.Command("sh", "-c", serve)
	cmd.Dir = clone
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	told := watch(t, "the README's start", "", filepath.Join(clone, "piedmont-data"))
	out := told.out
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	waitReady(t, "http://"+address, out)
	if err := told.serves(address); err != nil {
		t.Fatal(err)
	}

	script := writeFile(t, filepath.Join(clone, "snippet.py"), snippet)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, filepath.Join(os.Getenv("PIEDMONT_TEST_CACHE"), "venv", "pyiceberg", "bin", "python"), script)
	run.Dir = clone
	printed, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(printed), "note: ") {
		t.Errorf("the README's Python: %v\n%s\n%s", err, printed, out)
	}
}

func block(t *testing.T, text []byte, language string) string {
	t.Helper()
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatalf("the README has no %s block", language)
	}
	return string(m[1])
}

// waitReady waits for a server that has to be compiled first.
func waitReady(t *testing.T, uri string, out *lockedBuffer) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		r, err := http.Get(uri + "/readyz")
		if err != nil {
			continue
		}
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatalf("not ready:\n%s", out)
}
