//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	boundLoads   = 10_000
	boundClients = 64
	bound        = 16 // concurrency of the mount
	boundLatency = 5 * time.Millisecond
)

// TestFederatedBound reports how near a mount comes to what its bound allows: distinct tables of
// a catalog that takes some time for each answer, asked for by four times as many clients as it
// may be asked by at once. It fails where the bound isn't kept, or an answer isn't the right one.
func TestFederatedBound(t *testing.T) {
	var under, most, spent, asked atomic.Int64
	table := document("/elsewhere", 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name, isTable := strings.CutPrefix(r.URL.Path, "/v1/namespaces/db/tables/")
		if !isTable {
			_, _ = w.Write([]byte(`{"defaults":{},"overrides":{}}`))
			return
		}
		n := under.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		began := time.Now()
		time.Sleep(boundLatency)
		spent.Add(int64(time.Since(began)))
		asked.Add(1)
		under.Add(-1)
		_, _ = fmt.Fprintf(w, `{"metadata-location":"s3://elsewhere/%s","metadata":%s}`, name, table)
	}))
	defer upstream.Close()
	p := start(t, writeFile(t, filepath.Join(t.TempDir(), "piedmont.yaml"), `
mounts: [{at: up, rest: {uri: "`+upstream.URL+`", connections: `+fmt.Sprint(bound)+`}}]
`), t.TempDir())
	key := p.key()
	p.must("GET", tablePath("up.db.warm"), key, nil)
	asked.Store(0)
	spent.Store(0)
	client := &http.Client{Transport: overheard{&http.Transport{MaxIdleConnsPerHost: boundClients}}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range boundClients {
		all.Go(func() {
			for i := next.Add(1); i <= boundLoads && !t.Failed(); i = next.Add(1) {
				name := fmt.Sprintf("t%05d", i)
				r := callTable(client, p.URI+tablePath("up.db."+name), key)
				if r.status != http.StatusOK || !strings.Contains(string(r.body), "s3://elsewhere/"+name+`"`) {
					t.Errorf("load %s: %d %.200s", name, r.status, r.body)
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if asked.Load() != boundLoads || most.Load() > bound {
		t.Errorf("the catalog was asked %d times for %d tables, by %d at once of %d", asked.Load(), boundLoads, most.Load(), bound)
	}
	latency := time.Duration(spent.Load() / asked.Load())
	rate, ideal := boundLoads/took.Seconds(), bound/latency.Seconds()
	t.Logf("%d loads by %d clients of a catalog that takes %v for each (measured: %v), %d at once: %.0f/s of %.0f/s: %.2f",
		boundLoads, boundClients, boundLatency, latency.Round(10*time.Microsecond), bound, rate, ideal, rate/ideal)
}
