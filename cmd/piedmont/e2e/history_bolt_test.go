//go:build e2e

package e2e

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"piedmont/native/historytest"
)

// TestHistoriesOfOneProcess: one process over a file is killed, loses its power, and has a
// disk that is full or fails at some step.
func TestHistoriesOfOneProcess(t *testing.T) {
	t.Parallel() // both kinds mostly wait
	historytest.Each(t, historyOfOneProcess)
}

func historyOfOneProcess(t *testing.T, seed uint64) {
	disk := newLossyDisk(t)
	disk.random = rand.New(rand.NewPCG(seed, 2<<32))
	s := newSite(t)
	s.configs, s.nodes = []string{""}, []*process{start(t, "", filepath.Join(disk.mount, "data"))}
	s.key = s.nodes[0].key()
	cutPower := func() {
		s.node(0).kill()
		disk.crash()
		s.restart(0)
	}
	killed := func(*rand.Rand, *historytest.History) (string, func()) {
		s.node(0).kill()
		return "killed", func() { s.restart(0) }
	}
	unplugged := func(*rand.Rand, *historytest.History) (string, func()) {
		s.node(0).kill()
		disk.crash()
		return "power cut", func() { s.restart(0) }
	}
	// a registry that can't trust its disk writes nothing until it is started again
	ailing := func(random *rand.Rand, _ *historytest.History) (string, func()) {
		f, cut := randomDiskFault(random), random.IntN(2) == 0
		disk.faults.set(f)
		return f.String(), func() {
			disk.faults.set(diskFault{})
			if cut {
				cutPower()
				return
			}
			s.node(0).kill()
			s.restart(0)
		}
	}
	s.history(t, seed, func(random *rand.Rand, h *historytest.History) (string, func()) {
		return []strike{killed, unplugged, ailing, ailing}[random.IntN(4)](random, h)
	}, cutPower)
	s.node(0).kill()
}
