//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	hangCallers = 50
	hangRounds  = 4
	// spentSlack is for connections that one burst needs and another doesn't. What each caller
	// or question left behind would be more.
	spentSlack = 12
	hangRound  = 1200 * time.Millisecond // two thirds of mountTimeout would end some callers' wait
)

// call loads one table; a reply without a status is an error.
func (f *federation) call(client *http.Client, table string) reply {
	q, err := http.NewRequest(http.MethodGet, f.URI+tablePath(table), nil)
	if err != nil {
		return reply{body: []byte(err.Error())}
	}
	q.Header.Set("Authorization", "Bearer "+f.admin)
	r, err := client.Do(q)
	if err != nil {
		return reply{body: []byte(err.Error())}
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return reply{body: []byte(err.Error())}
	}
	return reply{r.StatusCode, r.Header, body}
}

// testHang: while a metastore hangs and many wait for it, nobody else waits longer.
func (f *federation) testHang(t *testing.T) {
	before := f.burst(t)
	const attempts = 3 // others use this machine's cores as well
	for attempt := 1; ; attempt++ {
		quiet, hung := f.interleave(t)
		worse := ""
		for table, q := range quiet {
			a, b := p99(q), p99(hung[table])
			t.Logf("%-17s p99 %v of %d loads while all is quiet, %v of %d while %d callers wait for the metastore",
				table, a.Round(10*time.Microsecond), len(q), b.Round(10*time.Microsecond), len(hung[table]), hangCallers)
			if b > max(2*a, a+5*time.Millisecond) {
				worse += " " + table
			}
		}
		if worse == "" {
			break
		}
		if attempt == attempts {
			t.Errorf("in %d measurements others waited, in the last those of%s", attempts, worse)
			break
		}
	}
	f.hangToTheEnd(t)
	f.checkSpent(t, before)
}

// interleave measures loads of the other mounts in turns: quiet, hung, quiet, hung.
func (f *federation) interleave(t *testing.T) (quiet, hung map[string][]time.Duration) {
	t.Helper()
	quiet, hung = map[string][]time.Duration{}, map[string][]time.Duration{}
	for range hangRounds {
		f.waitFor(t, "the metastore's mount", func() bool {
			return f.do("GET", tablePath("legacy.sales.events"), f.admin, nil).status == http.StatusOK
		})
		f.measure(t, quiet)
		goOn := f.hive.hangs()
		wait := f.callers(hangCallers, "legacy")
		f.waitFor(t, "all callers to wait", func() bool { return f.held(t) == hangCallers })
		f.measure(t, hung)
		if n := f.held(t); n != hangCallers {
			t.Errorf("only %d callers waited to the end of the measurement", n)
		}
		goOn()
		for _, r := range wait() {
			if r.status != http.StatusNotFound && r.status != http.StatusServiceUnavailable && r.status != http.StatusGatewayTimeout {
				t.Errorf("after the metastore went on: %d %s", r.status, r.body)
			}
		}
	}
	return quiet, hung
}

// measure loads a table of each other mount again and again.
func (f *federation) measure(t *testing.T, into map[string][]time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(hangRound)
	for _, table := range []string{"own.native", "cloud.web.visits", "old.shop.returns"} {
		all.Go(func() {
			var took []time.Duration
			client := &http.Client{Transport: overheard{&http.Transport{}}, Timeout: time.Minute}
			defer client.CloseIdleConnections()
			for time.Now().Before(end) {
				began := time.Now()
				if r := f.call(client, table); r.status != http.StatusOK {
					t.Errorf("load %s: %d %s", table, r.status, r.body)
				}
				took = append(took, time.Since(began))
				time.Sleep(time.Millisecond)
			}
			mu.Lock()
			defer mu.Unlock()
			into[table] = append(into[table], took...)
		})
	}
	all.Wait()
}

func p99(took []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[len(sorted)*99/100]
}

// hangToTheEnd: nobody waits longer than the mount's timeout, all are told why, and there is
// an answer again when the metastore goes on.
func (f *federation) hangToTheEnd(t *testing.T) {
	t.Helper()
	f.waitFor(t, "the metastore's mount", func() bool {
		return f.do("GET", tablePath("legacy.sales.events"), f.admin, nil).status == http.StatusOK
	})
	goOn := f.hive.hangs()
	defer goOn()
	began := time.Now()
	statuses := map[int]int{}
	for _, r := range f.callers(hangCallers, "legacy")() {
		statuses[r.status]++
		if (r.status != http.StatusServiceUnavailable && r.status != http.StatusGatewayTimeout) || !strings.Contains(r.message(), "mount 'legacy'") {
			t.Errorf("while the metastore hangs: %d %s", r.status, r.body)
		}
		f.checkDiscreet(t, "while the metastore hangs", string(r.body))
	}
	took := time.Since(began)
	if took > mountTimeout+2*time.Second {
		t.Errorf("callers waited %v, the timeout is %v", took, mountTimeout)
	}
	goOn()
	healed := time.Now()
	f.waitFor(t, "the metastore's mount", func() bool {
		return f.do("GET", tablePath("legacy.sales.events"), f.admin, nil).status == http.StatusOK
	})
	t.Logf("%d callers were answered %v within %v, and well again %v after the metastore was", hangCallers, statuses,
		took.Round(time.Millisecond), time.Since(healed).Round(time.Millisecond))
}

func (f *federation) waitFor(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

var heldGauge = regexp.MustCompile(`(?m)^piedmont_mount_(?:under_way|waiting)\{kind="hive",mount="legacy"\} (\d+)$`)

// held is how many callers the metastore's mount holds.
func (f *federation) held(t *testing.T) (n int) {
	t.Helper()
	gauges := heldGauge.FindAllStringSubmatch(f.operators(t, "/metrics"), -1)
	if len(gauges) != 2 {
		t.Fatalf("the metrics have %d gauges of the mount", len(gauges))
	}
	for _, g := range gauges {
		v, err := strconv.Atoi(g[1])
		if err != nil {
			t.Fatal(err)
		}
		n += v
	}
	return n
}

func (f *federation) operators(t *testing.T, path string) string {
	t.Helper()
	r, err := try("GET", "http://"+f.operator+path, "", nil)
	if err != nil || r.status != http.StatusOK {
		t.Fatalf("the operator's %s: %v %d", path, err, r.status)
	}
	return string(r.body)
}

// spent is what the process holds.
type spent struct{ goroutines, sockets int }

func (f *federation) spent(t *testing.T) (s spent) {
	t.Helper()
	if _, err := fmt.Sscanf(f.operators(t, "/debug/pprof/goroutine?debug=1"), "goroutine profile: total %d", &s.goroutines); err != nil {
		t.Fatal(err)
	}
	folder := fmt.Sprintf("/proc/%d/fd", f.cmd.Process.Pid)
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if to, err := os.Readlink(filepath.Join(folder, file.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			s.sockets++
		}
	}
	return s
}

// burst lets many ask each mount at once, and says what the process holds afterwards: as many
// connections as it ever keeps.
func (f *federation) burst(t *testing.T) spent {
	t.Helper()
	for _, mount := range []string{"legacy", "cloud", "old"} {
		for _, r := range f.callers(hangCallers, mount)() {
			if r.status != http.StatusNotFound {
				t.Errorf("a caller of the healthy mount %s: %d %s", mount, r.status, r.body)
			}
		}
	}
	time.Sleep(200 * time.Millisecond) // the server sees that clients left
	return f.spent(t)
}

// checkSpent: whatever happened, the process holds no more than before when all is well.
func (f *federation) checkSpent(t *testing.T, before spent) {
	t.Helper()
	var now spent
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if now = f.burst(t); now.goroutines <= before.goroutines+spentSlack && now.sockets <= before.sockets+spentSlack {
			t.Logf("held before: %+v, and now: %+v", before, now)
			return
		}
	}
	t.Errorf("held before: %+v, and now: %+v\n%s", before, now, f.operators(t, "/debug/pprof/goroutine?debug=1"))
}
