package registrytest

import (
	"bytes"
	"errors"
	"testing"

	"piedmont/native"
)

func testGet(t *testing.T, r native.Registry) {
	wantAbsent(t, r, "a")
	wantAbsent(t, r, "")
	first, second := put("a", "one"), put("a", "two")
	mustCommit(t, r, first, put("b", "other"))
	rec, ok, err := r.Get(t.Context(), "a")
	if err != nil || !ok || rec.Version != first.Version {
		t.Fatalf("Get = %v, %v, %v, want version %x", rec, ok, err, first.Version)
	}
	wantValue(t, r, "a", "one")
	mustCommit(t, r, second)
	wantValue(t, r, "a", "two")
	if rec, _, _ := r.Get(t.Context(), "a"); rec.Version != second.Version {
		t.Fatalf("version is %x after the second write, want %x", rec.Version, second.Version)
	}
	mustCommit(t, r, del("a"))
	wantAbsent(t, r, "a")
	wantValue(t, r, "b", "other")
}

func testEmptyValue(t *testing.T, r native.Registry) {
	mustCommit(t, r, put("empty", ""), native.Change{Key: "nil"})
	for _, key := range []native.Key{"empty", "nil"} {
		rec, ok, err := r.Get(t.Context(), key)
		if err != nil || !ok || len(rec.Value) != 0 {
			t.Fatalf("Get(%q) = %v, %v, %v, want an empty record", key, rec, ok, err)
		}
	}
	wantKeys(t, scan(t, r, "", "", 0), "empty", "nil")
	err := r.Commit(t.Context(), []native.Condition{{Kind: native.Absent, Key: "empty"}}, nil)
	if f := failures(t, err); f[0].Found == nil || len(f[0].Found.Value) != 0 {
		t.Fatalf("Found = %v, want the empty record", f[0].Found)
	}
}

func testDeleteAbsent(t *testing.T, r native.Registry) {
	mustCommit(t, r, put("b", ""))
	mustCommit(t, r, del("a"), del("c"))
	wantKeys(t, scan(t, r, "", "", 0), "b")
}

func testAllOrNothing(t *testing.T, r native.Registry) {
	mustCommit(t, r, put("kept", "old"))
	changes := []native.Change{put("a", "1"), put("kept", "new"), put("z", "2")}
	err := r.Commit(t.Context(), []native.Condition{{Kind: native.Absent, Key: "kept"}}, changes)
	wantOutcome(t, err, native.ErrConflict)
	wantKeys(t, scan(t, r, "", "", 0), "kept")
	wantValue(t, r, "kept", "old")
	err = r.Commit(t.Context(), []native.Condition{{Kind: native.Exists, Key: "kept"}}, append(changes, del("nothing")))
	if err != nil {
		t.Fatal(err)
	}
	wantKeys(t, scan(t, r, "", "", 0), "a", "kept", "z")
	wantValue(t, r, "kept", "new")
}

// testGivenSlices changes what it gave a Commit once that returned.
func testGivenSlices(t *testing.T, r native.Registry) {
	value := []byte("given")
	conditions := []native.Condition{{Kind: native.Absent, Key: "a"}}
	changes := []native.Change{{Key: "a", Value: value, Version: native.NewVersion()}}
	if err := r.Commit(t.Context(), conditions, changes); err != nil {
		t.Fatal(err)
	}
	if string(value) != "given" || conditions[0].Key != "a" || changes[0].Key != "a" {
		t.Fatal("Commit changed what it was given")
	}
	copy(value, "GIVEN")
	wantValue(t, r, "a", "given")
	err := r.Commit(t.Context(), conditions, changes)
	conditions[0].Key = "b"
	if f := failures(t, err); f[0].Condition.Key != "a" {
		t.Fatalf("the conflict is of %q after the given conditions changed, want \"a\"", f[0].Condition.Key)
	}
}

// testReturnedSlices writes to, and past the end of, what reads returned.
func testReturnedSlices(t *testing.T, r native.Registry) {
	mustCommit(t, r, put("a", "first"), put("b", "second"), put("c", "third"))
	rec, _, err := r.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	spoil(rec.Value)
	recs, err := r.Scan(t.Context(), "", "", 0)
	if err != nil || len(recs) != 3 {
		t.Fatalf("Scan = %d records, %v, want 3", len(recs), err)
	}
	spoil(recs[0].Value)
	if !bytes.Equal(recs[1].Value, []byte("second")) {
		t.Fatalf("a write to the first record made the second %q", recs[1].Value)
	}
	err = r.Commit(t.Context(), []native.Condition{{Kind: native.Absent, Key: "b"}}, nil)
	spoil(failures(t, err)[0].Found.Value)
	for key, value := range map[native.Key]string{"a": "first", "b": "second", "c": "third"} {
		wantValue(t, r, key, value)
	}
}

// spoil overwrites b and what lies behind it.
func spoil(b []byte) {
	for i := range b {
		b[i] = '#'
	}
	_ = append(b, "##########"...)
}

func testEndedContext(t *testing.T, r native.Registry) {
	mustCommit(t, r, put("a", "old"))
	ctx := ended(t)
	if _, ok, err := r.Get(ctx, "a"); !errors.Is(err, ctx.Err()) || ok {
		t.Errorf("Get = %v, %v, want the context's error", ok, err)
	}
	if recs, err := r.Scan(ctx, "", "", 0); !errors.Is(err, ctx.Err()) || recs != nil {
		t.Errorf("Scan = %v, %v, want the context's error", recs, err)
	}
	err := r.Commit(ctx, nil, []native.Change{put("a", "new")})
	if !errors.Is(err, ctx.Err()) {
		t.Errorf("Commit: %v, want the context's error", err)
	}
	wantOutcome(t, err, native.ErrNotApplied)
	wantValue(t, r, "a", "old")
}

func testClosed(t *testing.T, r native.Registry) {
	mustCommit(t, r, put("a", ""))
	if err := r.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if _, ok, err := r.Get(t.Context(), "a"); err == nil || ok {
		t.Errorf("Get = %v, %v, want an error", ok, err)
	}
	if _, err := r.Scan(t.Context(), "", "", 0); err == nil {
		t.Error("Scan answers, want an error")
	}
	wantOutcome(t, r.Commit(t.Context(), nil, []native.Change{put("b", "")}), native.ErrNotApplied)
	_ = r.Close() // must return, whatever it says
}
