package registrytest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"piedmont/native"
)

// RunDurable tests that what was acknowledged is there after the registry was closed
// and opened again. open opens the registry in dir, the same one each time it is called
// with the same dir; a backend that needs no folder takes dir as a name. RunDurable closes it.
func RunDurable(t *testing.T, open func(t *testing.T, dir string) native.Registry) {
	t.Helper()
	t.Run("Records", func(t *testing.T) { testReopen(t, open) })
	t.Run("CloseDuringCommits", func(t *testing.T) {
		dir := t.TempDir()
		want := closeDuringCommits(t, open(t, dir))
		r := open(t, dir)
		defer closeIt(t, r)
		wantKeys(t, scan(t, r, "", "", 0), want...) // far fewer than MaxScan
	})
	t.Run("Model", func(t *testing.T) { testReopenModel(t, open) })
}

// testReopen reopens after a write, a change and a deletion.
func testReopen(t *testing.T, open func(t *testing.T, dir string) native.Registry) {
	dir := t.TempDir()
	r := open(t, dir)
	kept, changed := put("kept", "1"), put("changed", "2")
	mustCommit(t, r, kept, put("changed", "1"), put("deleted", "1"), put("empty", ""))
	mustCommit(t, r, changed, del("deleted"))
	closeIt(t, r)
	r = open(t, dir)
	defer closeIt(t, r)
	wantKeys(t, scan(t, r, "", "", 0), "changed", "empty", "kept")
	wantValue(t, r, "changed", "2")
	wantValue(t, r, "empty", "")
	for _, c := range []native.Change{kept, changed} {
		err := r.Commit(t.Context(), []native.Condition{{Kind: native.AtVersion, Key: c.Key, Version: c.Version}}, nil)
		if err != nil {
			t.Fatalf("the version of %q isn't the one written: %v", c.Key, err)
		}
	}
}

// testReopenModel makes random commits with a reopening now and then.
func testReopenModel(t *testing.T, open func(t *testing.T, dir string) native.Registry) {
	dir := t.TempDir()
	m := model{}
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 6 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			r := open(t, dir)
			defer closeIt(t, r)
			got, err := r.Scan(t.Context(), "", "", 0)
			if err != nil {
				t.Fatal(err)
			}
			sameRecords(t, got, m.scan("", "", native.MaxScan))
			for range 40 {
				step(t, r, m, rng)
			}
		})
	}
}

func closeIt(t *testing.T, r native.Registry) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}
