package postgres

import (
	"math"
	"slices"
	"testing"

	"piedmont/native"
)

// TestTakeIsBounded: a group has no more swaps and bytes than it may, in the order of coming,
// and a swap that alone is larger than a group goes by itself.
func TestTakeIsBounded(t *testing.T) {
	g := &group{most: 1}
	add := func(n, bytes int) {
		for range n {
			swap, change := on(native.AtVersion, "key"), write("key")
			change.Value = make([]byte, bytes-len("key")-2*len(native.Version{}))
			s := newLone(newPlan([]native.Condition{swap}, []native.Change{change}, false))
			if s.bytes != bytes {
				t.Fatalf("a swap counts as %d bytes, it has %d", s.bytes, bytes)
			}
			g.add(s)
		}
	}
	add(maxGroup+1, 100)
	add(1, 2*maxGroupBytes)
	add(3, maxGroupBytes/2)
	number := uint64(0)
	var sizes []int
	for {
		taken := g.take(math.MaxUint64)
		if len(taken) == 0 {
			break
		}
		for _, s := range taken {
			if number++; s.number != number {
				t.Fatalf("swap %d was taken in place of %d", s.number, number)
			}
		}
		sizes = append(sizes, len(taken))
	}
	if want := []int{maxGroup, 1, 1, 2, 1}; !slices.Equal(sizes, want) {
		t.Errorf("groups of %v swaps, want %v", sizes, want)
	}
}

// TestTakeOfThoseWhoWaited: who came after a connection was sought isn't told that it wasn't had.
func TestTakeOfThoseWhoWaited(t *testing.T) {
	g := &group{most: 1}
	early, late := &lone{}, &lone{}
	g.add(early)
	upTo := g.came()
	g.add(late)
	if taken := g.take(upTo); !slices.Equal(taken, []*lone{early}) {
		t.Errorf("%d swaps were taken", len(taken))
	}
	if !g.withdraw(late) || g.withdraw(early) {
		t.Error("who waits can't leave, or who was taken can")
	}
}
