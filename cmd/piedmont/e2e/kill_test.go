//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

const (
	killRounds  = 20
	killWriters = 8
)

// TestKilledDuringCommits kills the process during commits from eight writers, restarts it
// and looks: every acknowledged commit is there, and no table is half changed.
func TestKilledDuringCommits(t *testing.T) {
	data := t.TempDir()
	p := start(t, "", data)
	key := p.key()
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"db"}})
	for w := range killWriters {
		p.must("POST", "/v1/namespaces/db/tables", key, simpleTable(fmt.Sprint("t", w)))
	}
	var acked [killWriters]int
	for range killRounds {
		commitUntilKilled(p, key, &acked)
		p = start(t, "", data)
		for w := range killWriters {
			checkTable(t, p, key, w, &acked)
		}
	}
	total := 0
	for _, n := range acked {
		total += n
	}
	t.Logf("%d commits acknowledged over %d kills", total, killRounds)
	if total < 1000 {
		t.Errorf("only %d commits: too few to mean much", total)
	}
}

// commitUntilKilled lets each writer count up properties "a" and "b" of its table together.
func commitUntilKilled(p *process, key string, acked *[killWriters]int) {
	var wg sync.WaitGroup
	for w := range killWriters {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := acked[w] + 1; ; n++ {
				body := map[string]any{"updates": []any{
					map[string]any{"action": "set-properties", "updates": map[string]string{"a": strconv.Itoa(n), "b": strconv.Itoa(n)}},
				}}
				r, err := try("POST", p.URI+fmt.Sprint("/v1/namespaces/db/tables/t", w), key, body)
				if err != nil || r.status != http.StatusOK {
					return
				}
				acked[w] = n
			}
		}()
	}
	time.Sleep(time.Duration(100+rand.IntN(300)) * time.Millisecond)
	p.kill()
	wg.Wait()
}

// checkTable compares a table with what was acknowledged, and takes over what it says.
func checkTable(t *testing.T, p *process, key string, w int, acked *[killWriters]int) {
	t.Helper()
	r := p.must("GET", fmt.Sprint("/v1/namespaces/db/tables/t", w), key, nil)
	var table struct {
		Metadata struct{ Properties map[string]string }
	}
	if err := json.Unmarshal(r.body, &table); err != nil {
		t.Fatal(err)
	}
	a, b := table.Metadata.Properties["a"], table.Metadata.Properties["b"]
	n, _ := strconv.Atoi(a)
	if a != b || n < acked[w] || n > acked[w]+1 {
		t.Fatalf("table t%d: a=%q b=%q after %d acknowledged commits", w, a, b, acked[w])
	}
	acked[w] = n
}
