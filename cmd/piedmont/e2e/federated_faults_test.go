//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// question is what a client asks of a mount, and what it gets when all is well.
type question struct {
	method, path string
	status       int
	answer       string
}

// questions about a table of a mount, its namespace, and what isn't there.
func (f *federation) questions(table string) []question {
	f.t.Helper()
	levels := strings.Split(table, ".")
	namespace := "/v1/namespaces/" + levels[0] + "%1F" + levels[1]
	list := []question{
		{method: "GET", path: tablePath(table)},
		{method: "HEAD", path: tablePath(table)},
		{method: "GET", path: namespace + "/tables"},
		{method: "GET", path: namespace},
		{method: "GET", path: "/v1/namespaces?parent=" + url.QueryEscape(levels[0])},
		{method: "GET", path: namespace + "/tables/nosuch"},
		{method: "HEAD", path: namespace + "/tables/nosuch"},
	}
	for i, q := range list {
		r := f.do(q.method, q.path, f.admin, nil)
		list[i].status, list[i].answer = r.status, string(r.body)
		if want := map[bool]int{true: 4, false: 2}[i > 4]; r.status/100 != want {
			f.t.Fatalf("%s %s of a healthy mount: %d %s", q.method, q.path, r.status, r.body)
		}
	}
	return list
}

// faults are what can happen to the way to a catalog. Those that leave no way at all are total.
var faults = []struct {
	name   string
	total  bool
	strike func(*line) (heal func())
}{
	{"Reset", true, func(l *line) func() { return l.ails("reset_peer", "downstream", map[string]int{"timeout": 0}) }},
	{"Silence", true, func(l *line) func() { return l.ails("latency", "downstream", map[string]int{"latency": 60_000}) }},
	{"Slow", false, func(l *line) func() { return l.ails("bandwidth", "downstream", map[string]int{"rate": 10}) }},
	{"Late", false, func(l *line) func() { return l.ails("latency", "downstream", map[string]int{"latency": 2000}) }},
	{"Down", true, (*line).cut},
}

// testFaults: a client of a mount whose catalog can't be reached gets the truth or an error
// that names the mount, never an absence. When the fault is over, nobody has to do anything.
func (f *federation) testFaults(t *testing.T) {
	before := f.burst(t)
	t.Run("Mounts", func(t *testing.T) {
		for _, table := range []string{"legacy.sales.orders", "cloud.web.visits", "old.shop.returns"} {
			mount, _, _ := strings.Cut(table, ".")
			t.Run(mount, func(t *testing.T) {
				t.Parallel()
				list := f.questions(table)
				for _, fault := range faults {
					f.checkFault(t, mount, fault.name, fault.total, list, fault.strike(f.lines[mount]))
				}
			})
		}
	})
	f.checkSpent(t, before)
}

func (f *federation) checkFault(t *testing.T, mount, fault string, total bool, list []question, heal func()) {
	t.Helper()
	statuses := make([]int, len(list))
	var all sync.WaitGroup
	for i, q := range list {
		all.Go(func() {
			began := time.Now()
			r, err := try(q.method, f.URI+q.path, f.admin, nil)
			took := time.Since(began)
			if err != nil || took > mountTimeout+3*time.Second {
				t.Errorf("%s: %s %s: %v after %v", fault, q.method, q.path, err, took)
				return
			}
			statuses[i] = r.status
			f.checkAnswer(t, mount, fault, total, q, r)
		})
	}
	if r, err := try("GET", f.URI+tablePath("own.native"), f.admin, nil); err != nil || r.status != http.StatusOK {
		t.Errorf("%s of %s: the native mount's answer: %v %d", fault, mount, err, r.status)
	}
	all.Wait()
	heal()
	healed := time.Now()
	for _, q := range list {
		for {
			r, err := try(q.method, f.URI+q.path, f.admin, nil)
			if err == nil && r.status == q.status && string(r.body) == q.answer {
				break
			}
			if time.Since(healed) > 15*time.Second {
				t.Errorf("%s is over, but %s %s gets: %v %d %s", fault, q.method, q.path, err, r.status, r.body)
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	t.Logf("%-7s %v, and well again after %v", fault, statuses, time.Since(healed).Round(10*time.Millisecond))
}

// checkAnswer is of a question while there is a fault.
func (f *federation) checkAnswer(t *testing.T, mount, fault string, total bool, q question, r reply) {
	t.Helper()
	what := fmt.Sprintf("%s of %s: %s %s", fault, mount, q.method, q.path)
	switch r.status {
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if q.method != "HEAD" && !strings.Contains(r.message(), "mount '"+mount+"'") {
			t.Errorf("%s: the error doesn't name the mount: %s", what, r.body)
		}
		f.checkDiscreet(t, what, string(r.body))
	case q.status:
		if total || string(r.body) != q.answer {
			t.Errorf("%s: %d %s", what, r.status, r.body)
		}
	default:
		t.Errorf("%s: %d %s", what, r.status, r.body)
	}
}

// testUnreachableAtStart: catalogs that can't be reached don't keep Piedmont from its start.
func (f *federation) testUnreachableAtStart(t *testing.T) {
	var heals []func()
	for _, l := range f.lines {
		heals = append(heals, l.cut())
	}
	heal := sync.OnceFunc(func() {
		for _, h := range heals {
			h()
		}
	})
	defer heal()
	config := strings.Replace(f.config, f.operator, freeAddress(t), 1)
	p := start(t, writeFile(t, filepath.Join(t.TempDir(), "piedmont.yaml"), config), t.TempDir())
	key := p.key()
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"own"}})
	p.must("POST", "/v1/namespaces/own/tables", key, simpleTable("t"))
	root := string(p.must("GET", "/v1/namespaces", key, nil).body)
	tables := []string{"legacy.sales.events", "cloud.web.visits", "old.shop.returns"}
	for _, table := range tables {
		mount, _, _ := strings.Cut(table, ".")
		if !strings.Contains(root, `["`+mount+`"]`) {
			t.Errorf("the root doesn't show %s: %s", mount, root)
		}
		if r := p.do("GET", tablePath(table), key, nil); r.status != http.StatusServiceUnavailable || !strings.Contains(r.message(), "mount '"+mount+"'") {
			t.Errorf("load %s: %d %s", table, r.status, r.body)
		}
	}
	heal()
	for deadline := time.Now().Add(15 * time.Second); len(tables) > 0 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		tables = slices.DeleteFunc(tables, func(table string) bool { return p.do("GET", tablePath(table), key, nil).status == http.StatusOK })
	}
	if len(tables) > 0 {
		t.Errorf("all catalogs are back, but not %v", tables)
	}
	p.stop()
}

// callers load tables of a mount, each its own.
func (f *federation) callers(n int, mount string) (wait func() []reply) {
	transport := overheard{&http.Transport{}}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	replies := make([]reply, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { replies[i] = f.call(client, fmt.Sprintf("%s.sales.nosuch%d", mount, i)) })
	}
	return func() []reply {
		all.Wait()
		transport.CloseIdleConnections()
		return replies
	}
}
