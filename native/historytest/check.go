package historytest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// checkFor is how long porcupine may look for an order.
const checkFor = time.Minute

// Check fails the test unless an order explains the history, and says where a picture of
// it is to be found.
func (h *History) Check(t *testing.T) {
	t.Helper()
	for _, b := range h.broken {
		t.Errorf("seed %d: %s", h.o.Seed, b)
	}
	begin := time.Now()
	m := model()
	all, likely := h.narrowed()
	verdict := porcupine.CheckOperationsTimeout(m, likely, checkFor)
	if verdict != porcupine.Ok {
		verdict = porcupine.CheckOperationsTimeout(m, all, checkFor)
	}
	t.Logf("%s, checked in %s: %s", h.summary(), time.Since(begin).Round(time.Millisecond), verdict)
	if verdict == porcupine.Ok && !t.Failed() {
		return
	}
	t.Errorf("seed %d: porcupine says %s; the history: %s", h.o.Seed, verdict, h.draw(t, m))
}

// draw writes the picture of the history to a file that stays.
func (h *History) draw(t *testing.T, m porcupine.Model) string {
	t.Helper()
	all, _ := h.narrowed()
	_, info := porcupine.CheckOperationsVerbose(m, all, checkFor)
	info.AddAnnotations(h.notes)
	path := filepath.Join(os.TempDir(), fmt.Sprintf("piedmont-history-%d.html", h.o.Seed))
	if err := porcupine.VisualizePath(m, info, path); err != nil {
		return err.Error()
	}
	return path
}

// narrowed are the operations as porcupine decides them faster. An unknown change that
// somebody saw was made before they had their answer, which bounds all. One that nobody saw
// was likely never made: an order without it, which is likely, explains the history too,
// since what is unknown may come last.
func (h *History) narrowed() (all, likely []porcupine.Operation) {
	seen := h.firstSeen()
	for _, o := range h.operations {
		asked, out := o.Input.(operation), o.Output.(outcome)
		if out.result != unknown || asked.kind != change {
			all, likely = append(all, o), append(likely, o)
			continue
		}
		known := false
		for _, mark := range asked.marks() {
			if at, ok := seen[mark]; ok {
				o.Return, known = max(o.Call, min(o.Return, at)), true
			}
		}
		if all = append(all, o); known {
			likely = append(likely, o)
		}
	}
	return all, likely
}

// firstSeen is when an answer first showed each mark.
func (h *History) firstSeen() map[string]int64 {
	first := map[string]int64{}
	for _, o := range h.operations {
		asked, out := o.Input.(operation), o.Output.(outcome)
		if out.result != done || out.blind || asked.kind == list || asked.kind == exists {
			continue
		}
		t := parseTable(out.seen)
		for _, marks := range [][]string{{t.creator}, t.snapshots, t.properties} {
			for _, mark := range marks {
				if at, ok := first[mark]; !ok || o.Return < at {
					first[mark] = o.Return
				}
			}
		}
	}
	return first
}

// marks are what a change leaves in tables.
func (o operation) marks() []string {
	marks := []string{strconv.Itoa(o.id)}
	for _, p := range o.parts {
		if p.does == creates {
			marks = append(marks, p.creator(o.id))
		}
	}
	return marks
}

// Done is how many changes were acknowledged: a history without any proves nothing.
func (h *History) Done() int { return h.counted()[done] }

// counted counts the changes by their results.
func (h *History) counted() map[result]int {
	counts := map[result]int{}
	for _, o := range h.operations {
		if o.Input.(operation).id != 0 {
			counts[o.Output.(outcome).result]++
		}
	}
	return counts
}

func (h *History) summary() string {
	n, again := h.counted(), 0
	for _, o := range h.operations {
		if o.Output.(outcome).tries > 1 {
			again++
		}
	}
	return fmt.Sprintf("%d operations; changes: %d done, %d refused, %d not applied, %d unknown; %d sent again",
		len(h.operations), n[done], n[refused], n[notApplied], n[unknown], again)
}
