//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// bareEnv makes the test binary serve what TestSpeedOnPostgres compares with: it holds the
// address, and the database's URL.
const bareEnv = "PIEDMONT_TEST_BARE"

// serveBare answers GET with what one SELECT by primary key finds, and POST with one UPDATE in a
// transaction of its own: the least that a catalog on this database could do.
func serveBare(setting string) error {
	address, url, _ := strings.Cut(setting, " ")
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var value []byte
		var err error
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			_, err = pool.Exec(r.Context(), "UPDATE bare SET value = $2 WHERE key = $1", r.URL.Path, make([]byte, 250))
		} else {
			err = pool.QueryRow(r.Context(), "SELECT value FROM bare WHERE key = $1", r.URL.Path).Scan(&value)
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write(value)
	}))
}

const (
	speedTables  = 64
	speedWorkers = 16
	speedRound   = time.Second
	speedRounds  = 3
)

// TestSpeedOnPostgres reports, and judges nothing: how many loads and commits a second one
// replica answers, next to a bare server that does one statement for each.
func TestSpeedOnPostgres(t *testing.T) {
	url := postgresURL(t)
	warehouse, err := os.MkdirTemp("/dev/shm", "piedmont-speed-") // so that the registry alone counts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(warehouse) })
	key, entry := newKey(t, "ops")
	p := start(t, writeFile(t, filepath.Join(t.TempDir(), "piedmont.yaml"), `
registry: {postgres: {url: "`+url+`"}}
storage: [{name: ram, location: "file://`+warehouse+`/", local: {}}]
mounts: [{at: "", native: {id: main, warehouse: "file://`+warehouse+`/"}, storage: [ram]}]
auth: {admins: [ops], keys: [`+strings.ReplaceAll(flow(entry), "\n", "")+`]}
`), t.TempDir())
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"db"}})
	var size int
	for i := range speedTables {
		size = len(p.must("POST", "/v1/namespaces/db/tables", key, simpleTable(fmt.Sprint("t", i))).body)
	}
	bare := startBare(t, url, size)
	ours := func(i int) string { return fmt.Sprintf("%s/v1/namespaces/db/tables/t%d", p.URI, i) }
	body := []byte(`{"requirements":[],"updates":[{"action":"set-properties","updates":{"k":"%d"}}]}`)

	report := func(what string, a, b float64) {
		t.Logf("%s with %d clients: %.0f/s, a bare server %.0f/s: %.2f", what, speedWorkers, a, b, a/b)
	}
	loads, selects := alternate(
		func(i int, _ int64) error { return expect(http.MethodGet, ours(i), key, nil) },
		func(i int, _ int64) error { return expect(http.MethodGet, fmt.Sprintf("%s/t%d", bare, i), "", nil) })
	report("loads", loads(t), selects(t))
	commits, updates := alternate(
		func(i int, n int64) error {
			return expect(http.MethodPost, ours(i), key, fmt.Appendf(nil, string(body), n))
		},
		func(i int, n int64) error {
			return expect(http.MethodPost, fmt.Sprintf("%s/t%d", bare, i), "", fmt.Appendf(nil, string(body), n))
		})
	report("commits to tables of their own", commits(t), updates(t))
}

func startBare(t *testing.T, url string, size int) string {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	_, err = pool.Exec(t.Context(), `CREATE TABLE bare (key text PRIMARY KEY, value bytea NOT NULL)`)
	for i := 0; i < speedTables && err == nil; i++ {
		_, err = pool.Exec(t.Context(), `INSERT INTO bare VALUES ($1, $2)`, fmt.Sprintf("/t%d", i), make([]byte, size))
	}
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), bareEnv+"="+address+" "+url)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); expect(http.MethodGet, "http://"+address+"/t0", "", nil) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the bare server isn't ready")
		}
	}
	return "http://" + address
}

// speedClient has a connection for each worker.
var speedClient = &http.Client{Transport: overheard{&http.Transport{MaxIdleConnsPerHost: speedWorkers}}, Timeout: 30 * time.Second}

// expect sends a request that has to succeed.
func expect(method, url, key string, body []byte) error {
	r, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := speedClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, url, answer.Status)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// alternate lets two kinds of work take turns, so that a machine that others use is as slow for both, and
// returns each one's rate.
func alternate(first, second func(table int, n int64) error) (a, b func(*testing.T) float64) {
	works := []func(int, int64) error{first, second}
	done, spent, failures := make([]int64, 2), make([]time.Duration, 2), make([]error, 2)
	for round := range 2 * speedRounds {
		which := round % 2
		var count atomic.Int64
		var failed atomic.Pointer[error]
		var wg sync.WaitGroup
		begin := time.Now()
		for w := range speedWorkers {
			wg.Go(func() {
				for i := w; time.Since(begin) < speedRound && failed.Load() == nil; i += speedWorkers {
					if err := works[which](i%speedTables, count.Add(1)); err != nil {
						failed.Store(&err)
					}
				}
			})
		}
		wg.Wait()
		done[which], spent[which] = done[which]+count.Load(), spent[which]+time.Since(begin)
		if err := failed.Load(); err != nil {
			failures[which] = *err
		}
	}
	rate := func(which int) func(*testing.T) float64 {
		return func(t *testing.T) float64 {
			t.Helper()
			if failures[which] != nil {
				t.Fatal(failures[which])
			}
			return float64(done[which]) / spent[which].Seconds()
		}
	}
	return rate(0), rate(1)
}
