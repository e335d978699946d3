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
	return callTable(client, f.URI+tablePath(table), f.admin)
}

func callTable(client *http.Client, url, key string) reply {
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return reply{body: []byte(err.Error())}
	}
	q.Header.Set("Authorization", "Bearer "+key)
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

// hanging is a mount whose catalog can be made to hang.
type hanging struct {
	mount, kind string
	table       string // of the mount
	hangs       func() (goOn func())
	rounds      int
}

// hangings are a metastore whose process is stopped, and catalogs that take every question and
// answer none.
func (f *federation) hangings() []hanging {
	silent := func(mount string) func() func() {
		return func() func() { return f.lines[mount].ails("latency", "downstream", map[string]int{"latency": 60_000}) }
	}
	return []hanging{
		{"legacy", "hive", "legacy.sales.events", f.hive.hangs, hangRounds},
		{"cloud", "glue", "cloud.web.visits", silent("cloud"), hangRounds / 2},
		{"old", "rest", "old.shop.returns", silent("old"), hangRounds / 2},
	}
}

// testHang: while a catalog hangs and many wait for it, nobody else waits longer.
func (f *federation) testHang(t *testing.T) {
	before := f.burst(t)
	for _, h := range f.hangings() {
		t.Run(h.mount, func(t *testing.T) {
			f.isolates(t, h)
			f.hangToTheEnd(t, h)
		})
	}
	f.checkSpent(t, before)
}

func (f *federation) isolates(t *testing.T, h hanging) {
	t.Helper()
	const attempts = 3 // others use this machine's cores as well
	for attempt := 1; ; attempt++ {
		quiet, hung := f.interleave(t, h)
		worse := ""
		for table, q := range quiet {
			a, b := p99(q), p99(hung[table])
			t.Logf("%-19s p99 %v of %d loads while all is quiet, %v of %d while %d callers wait for %s",
				table, a.Round(10*time.Microsecond), len(q), b.Round(10*time.Microsecond), len(hung[table]), hangCallers, h.mount)
			if b > max(2*a, a+5*time.Millisecond) {
				worse += " " + table
			}
		}
		if worse == "" {
			return
		}
		if attempt == attempts {
			t.Errorf("in %d measurements others waited, in the last those of%s", attempts, worse)
			return
		}
	}
}

// interleave measures loads of the other mounts in turns: quiet, hung, quiet, hung.
func (f *federation) interleave(t *testing.T, h hanging) (quiet, hung map[string][]time.Duration) {
	t.Helper()
	quiet, hung = map[string][]time.Duration{}, map[string][]time.Duration{}
	var others []string
	for _, table := range []string{"own.native", "legacy.sales.events", "cloud.web.visits", "old.shop.returns"} {
		if table != h.table {
			others = append(others, table)
		}
	}
	for range h.rounds {
		f.waitForMount(t, h)
		f.measure(t, others, quiet)
		goOn := h.hangs()
		wait := f.callers(hangCallers, h.mount)
		f.waitFor(t, "all callers to wait", func() bool { return f.held(t, h) == hangCallers })
		f.measure(t, others, hung)
		if n := f.held(t, h); n != hangCallers {
			t.Errorf("only %d callers waited to the end of the measurement", n)
		}
		goOn()
		for _, r := range wait() {
			if r.status != http.StatusNotFound && r.status != http.StatusServiceUnavailable && r.status != http.StatusGatewayTimeout {
				t.Errorf("after %s went on: %d %s", h.mount, r.status, r.body)
			}
		}
	}
	return quiet, hung
}

// measure loads tables again and again.
func (f *federation) measure(t *testing.T, tables []string, into map[string][]time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	end := time.Now().Add(hangRound)
	for _, table := range tables {
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
// an answer again when the catalog goes on.
func (f *federation) hangToTheEnd(t *testing.T, h hanging) {
	t.Helper()
	f.waitForMount(t, h)
	goOn := sync.OnceFunc(h.hangs())
	defer goOn()
	began := time.Now()
	statuses := map[int]int{}
	for _, r := range f.callers(hangCallers, h.mount)() {
		statuses[r.status]++
		if (r.status != http.StatusServiceUnavailable && r.status != http.StatusGatewayTimeout) || !strings.Contains(r.message(), "mount '"+h.mount+"'") {
			t.Errorf("while %s hangs: %d %s", h.mount, r.status, r.body)
		}
		f.checkDiscreet(t, "while "+h.mount+" hangs", string(r.body))
	}
	took := time.Since(began)
	if took > mountTimeout+2*time.Second {
		t.Errorf("callers waited %v, the timeout is %v", took, mountTimeout)
	}
	goOn()
	healed := time.Now()
	f.waitForMount(t, h)
	t.Logf("%d callers were answered %v within %v, and well again %v after the catalog was", hangCallers, statuses,
		took.Round(time.Millisecond), time.Since(healed).Round(time.Millisecond))
}

func (f *federation) waitForMount(t *testing.T, h hanging) {
	t.Helper()
	f.waitFor(t, "the mount "+h.mount, func() bool { return f.do("GET", tablePath(h.table), f.admin, nil).status == http.StatusOK })
}

func (f *federation) waitFor(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

// held is how many callers the mount holds.
func (f *federation) held(t *testing.T, h hanging) (n int) {
	t.Helper()
	gauge := regexp.MustCompile(`(?m)^piedmont_mount_(?:under_way|waiting)\{kind="` + h.kind + `",mount="` + h.mount + `"\} (\d+)$`)
	gauges := gauge.FindAllStringSubmatch(f.operators(t, "/metrics"), -1)
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
