//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
)

const powerCuts = 20

// TestPowerCutsDuringCommits is TestKilledDuringCommits on a disk that forgets what wasn't
// synced: registry, metadata files and the admin key alike.
func TestPowerCutsDuringCommits(t *testing.T) {
	disk := newLossyDisk(t)
	data := filepath.Join(disk.mount, "data")
	p := start(t, "", data)
	key := p.key()
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"db"}})
	for w := range killWriters {
		p.must("POST", "/v1/namespaces/db/tables", key, simpleTable(fmt.Sprint("t", w)))
	}
	var acked [killWriters]int
	for range powerCuts {
		commitUntilKilled(p, key, &acked)
		disk.crash()
		p = start(t, "", data)
		if p.key() != key {
			t.Fatal("the admin key is gone")
		}
		for w := range killWriters {
			checkTable(t, p, key, w, &acked)
		}
	}
	total := 0
	for _, n := range acked {
		total += n
	}
	t.Logf("%d commits acknowledged over %d power cuts", total, powerCuts)
	p.kill()
}
