package metadata_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"piedmont/mounts"
	"piedmont/native/metadata"
)

// TestUnknownMembersOfViewsSurviveAnyCommits plants a member nobody knows into every
// object that is created or added, and runs commits that expire nothing: each must
// still be there at the end.
func TestUnknownMembersOfViewsSurviveAnyCommits(t *testing.T) {
	most := 0
	for seed := range uint64(60) {
		planted := 0
		token := func() string { planted++; return fmt.Sprintf("token-%d", planted) }
		g := newViewGenerator(seed)
		g.keep, g.token = true, token
		d := startingView(t, g.x, `"version.history.num-entries":"1000"`)
		for range 20 {
			list := g.commit(t, d.Bytes())
			next, _, err := d.Apply(parseViewUpdates(t, list), metadata.ViewOptions{Now: time.UnixMilli(g.now)})
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(list, "\n"))
			}
			have := map[string]bool{}
			for _, token := range tokens(string(next.Bytes())) {
				have[token] = true
			}
			for _, token := range append(tokens(string(d.Bytes())), tokens(strings.Join(list, ""))...) {
				if !have[token] {
					t.Fatalf("seed %d: %s is lost after\n%s", seed, token, strings.Join(list, "\n"))
				}
			}
			d, most = next, max(most, len(have))
		}
	}
	if most < 50 {
		t.Errorf("at most %d members were planted: the generator has lost its way", most)
	}
}

// TestAnyCommitsLeaveAValidView runs commits of all kinds: each is refused with a kind
// that a client understands, or leads to a view that is valid, reads back as itself,
// keeps to the rules of its history, and doesn't change its base.
func TestAnyCommitsLeaveAValidView(t *testing.T) {
	applied := 0
	for seed := range uint64(80) {
		g := newViewGenerator(1000 + seed)
		d := startingView(t, g.x, "")
		for range 30 {
			list := g.commit(t, d.Bytes())
			before := string(d.Bytes())
			next, changed, err := d.Apply(parseViewUpdates(t, list), metadata.ViewOptions{Now: time.UnixMilli(g.now)})
			if string(d.Bytes()) != before {
				t.Fatalf("seed %d: the base changed\n%s", seed, strings.Join(list, "\n"))
			}
			if err != nil {
				if !mounts.Is(err, mounts.BadRequest) {
					t.Fatalf("seed %d: %v", seed, err)
				}
				continue
			}
			checkNextView(t, d, next, changed, list, g.now)
			d = next
			applied++
		}
	}
	if applied < 1000 {
		t.Errorf("only %d of 2,400 commits were applied: the generator has lost its way", applied)
	}
}

func checkNextView(t *testing.T, d, next *metadata.ViewDocument, changed bool, list []string, now int64) {
	t.Helper()
	if !changed && next != d {
		t.Fatal("no change, but another document")
	}
	again, err := metadata.ParseView(next.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, strings.Join(list, "\n"), next.Bytes())
	}
	for _, v := range []*metadata.ViewDocument{next, again} {
		if err := v.Validate(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, strings.Join(list, "\n"), v.Bytes())
		}
	}
	was, is := readView(t, d.Bytes()), readView(t, next.Bytes())
	last := is.Log[len(is.Log)-1]
	if last.ID != is.Current || was.Current != is.Current && last.Time < was.Log[len(was.Log)-1].Time {
		t.Fatalf("the log ends with %+v, the current version is %d\n%s", last, is.Current, next.Bytes())
	}
	for i, v := range is.Versions {
		if !slices.ContainsFunc(is.Schemas, func(s struct {
			ID int `json:"schema-id"`
		},
		) bool {
			return s.ID == v.SchemaID
		}) {
			t.Fatalf("version %d has no schema", v.ID)
		}
		if i > 0 && v.ID <= is.Versions[i-1].ID {
			t.Fatalf("versions out of order\n%s", next.Bytes())
		}
	}
	if !changed {
		return
	}
	// The same commit to the view as read back must come to the same, and sent again it
	// comes to nothing, unless a rollback in it or an expiry is in the way.
	fresh, err := metadata.ParseView(d.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := fresh.Apply(parseViewUpdates(t, list), metadata.ViewOptions{Now: time.UnixMilli(now)})
	if err != nil || string(other.Bytes()) != string(next.Bytes()) {
		t.Fatalf("read back, the same commit comes to something else: %v\n%s", err, strings.Join(list, "\n"))
	}
	twice, _, err := next.Apply(parseViewUpdates(t, list), metadata.ViewOptions{Now: time.UnixMilli(now)})
	if err == nil && !strings.Contains(strings.Join(list, ""), "num-entries") && twice.CurrentVersionID() != next.CurrentVersionID() {
		t.Fatalf("sent again, the commit makes version %d current, not %d\n%s", twice.CurrentVersionID(), next.CurrentVersionID(), strings.Join(list, "\n"))
	}
}
