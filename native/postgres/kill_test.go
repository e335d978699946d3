//go:build e2e

package postgres

import (
	"bufio"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// server is a PostgreSQL of a test's own.
type server struct {
	t   *testing.T
	dir string
}

func (s server) do(command string) {
	s.t.Helper()
	cmd := exec.Command("../../.ci/postgres", command, s.dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s the server: %v", command, err)
	}
}

// url leads to it.
func (s server) url() string {
	s.t.Helper()
	return s.said("POSTGRES_URL")
}

// said is what the server's script wrote down.
func (s server) said(name string) string {
	s.t.Helper()
	f, err := os.Open(filepath.Join(s.dir, "env"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+"="); ok {
			return strings.ReplaceAll(value, `\`, "")
		}
	}
	s.t.Fatal("the server has no " + name)
	return ""
}

// TestServerKilled kills the server while clients of three replicas commit, again and
// again. What was acknowledged is there when it is back.
func TestServerKilled(t *testing.T) {
	s := server{t, t.TempDir()}
	s.do("start")
	defer s.do("remove")
	url := s.url()
	l := &ledger{outcomes: map[string]error{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	for i := range 3 {
		r, err := Open(t.Context(), url, Options{StatementTimeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for c := range 3 {
			clients.Go(func() { l.commitUntil(ctx, t, r, 3*i+c) })
		}
	}
	for round := range 5 {
		time.Sleep(time.Duration(200+rand.IntN(400)) * time.Millisecond)
		if round%2 == 0 {
			s.do("kill")
		} else {
			s.do("stop")
		}
		s.do("start")
	}
	time.Sleep(200 * time.Millisecond)
	stop()
	clients.Wait()
	r := openTest(t, url)
	defer r.Close()
	l.check(t, r)
}
