package router

import (
	"strings"
	"testing"

	"piedmont/mounts"
)

// TestEveryKindHasAStatus: a kind without one would be answered as a fault of ours.
func TestEveryKindHasAStatus(t *testing.T) {
	kinds := 0
	for k := mounts.Kind(0); k.String() != "unknown kind"; k++ {
		if k == mounts.Replayed {
			continue // never an answer: once takes it
		}
		kinds++
		s, ok := statuses[k]
		if !ok || s.code < 400 || s.code > 504 || s.typ == "" {
			t.Errorf("%v: %+v", k, s)
		}
		if strings.Contains(s.typ, "Unknown") != (k == mounts.CommitStateUnknown) {
			t.Errorf("%v has the type %s", k, s.typ)
		}
	}
	if kinds != len(statuses) || kinds < 20 {
		t.Errorf("%d kinds, %d statuses", kinds, len(statuses))
	}
}

// TestCommitsThatFailSurely: what tells a client that nothing was done, so that it deletes
// the files it wrote, is never an answer to a fault of ours.
func TestCommitsThatFailSurely(t *testing.T) {
	for k, s := range statuses {
		on := s
		if special, ok := commitStatuses[k]; ok {
			on = special
		}
		switch {
		case s.code < 500 && on != s:
			t.Errorf("%v is %+v on a commit", k, on)
		case s.code >= 500 && k != mounts.Unavailable && on.typ != "CommitStateUnknownException":
			t.Errorf("%v is %+v on a commit", k, on)
		}
	}
}
