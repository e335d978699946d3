//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"

	"piedmont/native/historytest"
)

// statementTimeout is how long replicas wait for the database.
const statementTimeout = 300 * time.Millisecond

// line is what lies between a replica and the database.
type line struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

// newLine makes one, and the URL that leads through it.
func newLine(t *testing.T, server string) (*line, string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l := &line{t: t, proxy: toxiproxy.NewProxy(api, "database", "127.0.0.1:0", u.Host)}
	if err := l.proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.proxy.Stop)
	u.Host = l.proxy.Listen
	return l, u.String()
}

// cut breaks every connection, and refuses new ones until it is healed.
func (l *line) cut() (heal func()) {
	l.proxy.Stop()
	return func() {
		if err := l.proxy.Start(); err != nil {
			l.t.Error(err)
		}
	}
}

// ails makes the line do harm in one direction until it is healed.
func (l *line) ails(kind, stream string, attributes map[string]int) (heal func()) {
	b, err := json.Marshal(map[string]any{"name": kind, "type": kind, "stream": stream, "attributes": attributes})
	if err == nil {
		_, err = l.proxy.Toxics.AddToxicJson(strings.NewReader(string(b)))
	}
	if err != nil {
		l.t.Error(err)
	}
	return func() {
		if err := l.proxy.Toxics.RemoveToxic(l.t.Context(), kind); err != nil {
			l.t.Error(err)
		}
	}
}

// trouble is a strike at a line.
func (l *line) trouble(random *rand.Rand) (what string, heal func()) {
	stream := []string{"upstream", "downstream"}[random.IntN(2)]
	kind, attributes := "", map[string]int{}
	switch random.IntN(6) {
	case 0:
		return "line cut", l.cut()
	case 1:
		kind, attributes["timeout"] = "reset_peer", random.IntN(20)
	case 2:
		kind, attributes["timeout"] = "timeout", 1+random.IntN(100)
	case 3:
		kind, attributes["bytes"] = "limit_data", random.IntN(5000) // amid a batch or its answer
	case 4:
		kind, attributes["latency"], attributes["jitter"] = "latency", 60, 60
	case 5:
		kind, attributes["average_size"], attributes["size_variation"], attributes["delay"] = "slicer", 60, 50, 2000
	}
	return fmt.Sprintf("line: %s %s %v", kind, stream, attributes), l.ails(kind, stream, attributes)
}

// shared is a site of replicas on one database, each with a line of its own to it, whose
// files are on one disk.
type shared struct {
	*site
	disk     *lossyDisk
	database string // its folder
	lines    []*line
}

func newShared(t *testing.T) *shared {
	t.Helper()
	s := &shared{site: newSite(t), disk: newLossyDisk(t)}
	s.disk.makeDir("wh")
	var at, entry string
	s.database, at = startPostgres(t)
	s.key, entry = newKey(t, "ops")
	dir := t.TempDir()
	for i := range replicas {
		l, through := newLine(t, at)
		s.lines = append(s.lines, l)
		s.configs = append(s.configs, writeFile(t, filepath.Join(dir, fmt.Sprint(i, ".yaml")), `
registry: {postgres: {url: "`+through+`", connect_timeout: 500ms, statement_timeout: `+statementTimeout.String()+`}}
storage: [{name: disk, location: "file://`+s.disk.mount+`/wh/", local: {}}]
mounts: [{at: "", native: {id: main, warehouse: "file://`+s.disk.mount+`/wh/"}, storage: [disk]}]
auth: {admins: [ops], keys: [`+flow(entry)+`]}
`))
		s.nodes = append(s.nodes, &process{told: &told{data: filepath.Join(dir, fmt.Sprint(i))}})
		s.restart(i)
	}
	t.Cleanup(func() { // before the disk goes
		for i := range s.nodes {
			s.node(i).kill()
		}
	})
	return s
}

// crash kills the database at once, and starts it again.
func (s *shared) crash() (string, func()) {
	s.postgres("kill")
	return "database killed", func() { s.postgres("start") }
}

func (s *shared) postgres(what string) {
	if out, err := exec.Command(script("postgres"), what, s.database).CombinedOutput(); err != nil {
		s.t.Errorf("%s Postgres: %v\n%s", what, err, out)
	}
}

// lateCommits is a toxic that holds up half of all commits until nobody waits for them any
// more. What asks what became of them overtakes them.
type lateCommits struct{}

// Pipe implements toxics.Toxic.
func (lateCommits) Pipe(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil {
				stub.Close()
				return
			}
			if isCommit(c.Data) && rand.IntN(2) == 0 {
				select {
				case <-time.After(2 * statementTimeout):
				case <-stub.Interrupt:
					stub.Output <- c
					return
				}
			}
			stub.Output <- c
		}
	}
}

// isCommit knows a commit by the metadata location that it binds. No question has one.
func isCommit(data []byte) bool {
	return data[0] == 'B' && bytes.Contains(data, []byte(".metadata.json"))
}

// holdUp makes commits of all replicas arrive late. Clients do little meanwhile.
func (s *shared) holdUp(h *historytest.History) (string, func()) {
	h.Rest(100 * time.Millisecond)
	toxics.Register("late-commits", new(lateCommits))
	var heals []func()
	for _, l := range s.lines {
		heals = append(heals, l.ails("late-commits", "upstream", nil))
	}
	return "commits arrive late", func() {
		time.Sleep(3 * statementTimeout)
		h.Rest(pause)
		for _, heal := range heals {
			heal()
		}
	}
}

// strike harms the database, the disk, or one or two replicas. A replica is started again
// when its line is whole.
func (s *shared) strike(random *rand.Rand, h *historytest.History) (what string, heal func()) {
	switch n := random.IntN(20); {
	case n == 0:
		return s.crash()
	case n < 4:
		return s.holdUp(h)
	case n < 7:
		f := randomDiskFault(random)
		s.disk.faults.set(f)
		return f.String(), func() { s.disk.faults.set(diskFault{}) }
	}
	i := random.IntN(replicas)
	first, healFirst := "killed", func() { s.restart(i) }
	if random.IntN(3) == 0 {
		s.node(i).kill()
	} else {
		first, healFirst = s.lines[i].trouble(random)
	}
	first = fmt.Sprintf("replica %d: %s", i, first)
	if random.IntN(3) > 0 {
		return first, healFirst
	}
	other := (i + 1 + random.IntN(replicas-1)) % replicas
	second, healSecond := s.lines[other].trouble(random)
	return fmt.Sprintf("%s; replica %d: %s", first, other, second), func() {
		healSecond()
		healFirst()
	}
}

// TestHistoriesOfReplicas: three replicas are killed, their lines to the database are cut
// and delayed, the database is killed, and the disk of their files is full or fails.
func TestHistoriesOfReplicas(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	historytest.Each(t, func(t *testing.T, seed uint64) { s.history(t, seed, s.strike, func() {}) })
}
