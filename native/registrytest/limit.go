package registrytest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"piedmont/native"
)

// longKey is a key of n bytes that don't shrink: a backend may count what they compress to.
func longKey(n int) native.Key {
	random := rand.NewChaCha8([32]byte{})
	key := make([]byte, n)
	_, _ = random.Read(key) // never fails
	key[0] = 'k'
	return native.Key(key)
}

// testLargestSizes writes, finds and deletes the largest records there may be.
func testLargestSizes(t *testing.T, r native.Registry) {
	key := longKey(native.MaxKeyBytes)
	value := bytes.Repeat([]byte("0123456789abcdef"), native.MaxValueBytes/16)
	c := native.Change{Key: key, Value: value, Version: native.NewVersion()}
	other := native.Change{Key: key[:len(key)-1], Value: value, Version: native.NewVersion()}
	mustCommit(t, r, c, other)
	rec, ok, err := r.Get(t.Context(), key)
	if err != nil || !ok || !bytes.Equal(rec.Value, value) || rec.Version != c.Version {
		t.Fatalf("Get of the largest record: %d bytes, %v, %v", len(rec.Value), ok, err)
	}
	recs, err := r.Scan(t.Context(), other.Key, "", 0)
	if err != nil || len(recs) != 2 || recs[1].Key != key || !bytes.Equal(recs[1].Value, value) {
		t.Fatalf("Scan of the largest records: %d, %v, want 2", len(recs), err)
	}
	err = r.Commit(t.Context(), []native.Condition{{Kind: native.AtVersion, Key: key, Version: c.Version}}, []native.Change{del(key)})
	wantOutcome(t, err, nil)
	wantAbsent(t, r, key)
}

// testTooLarge goes one over each size.
func testTooLarge(t *testing.T, r native.Registry) {
	long := longKey(native.MaxKeyBytes + 1)
	value := make([]byte, native.MaxValueBytes+1)
	for name, c := range map[string]struct {
		condition native.Condition
		change    native.Change
		message   string // a part of it: the bound
	}{
		"key of a change":   {change: put(long, ""), message: fmt.Sprint(native.MaxKeyBytes)},
		"key of a deletion": {change: del(long), message: fmt.Sprint(native.MaxKeyBytes)},
		"value":             {change: native.Change{Key: "a", Value: value}, message: fmt.Sprint(native.MaxValueBytes)},
		"key of a condition": {
			condition: native.Condition{Kind: native.Absent, Key: long}, change: put("a", ""),
			message: fmt.Sprint(native.MaxKeyBytes),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var conditions []native.Condition
			if c.condition.Key != "" {
				conditions = append(conditions, c.condition)
			}
			err := r.Commit(t.Context(), conditions, []native.Change{put("b", ""), c.change})
			wantRefusal(t, err, c.message)
			wantAbsent(t, r, "a")
			wantAbsent(t, r, "b")
		})
	}
	wantAbsent(t, r, long)
	wantKeys(t, scan(t, r, long, "", 0))
	wantKeys(t, scan(t, r, "", long, 0))
}

// testTooMany goes up to, and one over, the number of conditions and changes.
func testTooMany(t *testing.T, r native.Registry) {
	changes := make([]native.Change, native.MaxChanges+1)
	conditions := make([]native.Condition, native.MaxChanges+1)
	for i := range changes {
		changes[i] = put(native.Key(fmt.Sprintf("k%06d", i)), "")
		conditions[i] = native.Condition{Kind: native.Absent, Key: changes[i].Key}
	}
	bound := fmt.Sprint(native.MaxChanges)
	wantRefusal(t, r.Commit(t.Context(), nil, changes), bound)
	wantRefusal(t, r.Commit(t.Context(), conditions, changes[:1]), bound)
	wantAbsent(t, r, changes[0].Key)
	n := native.MaxChanges
	wantOutcome(t, r.Commit(t.Context(), conditions[:n], changes[:n]), nil)
	wantValue(t, r, changes[n-1].Key, "")
	if f := failures(t, r.Commit(t.Context(), conditions[:n], changes[n:])); len(f) != n {
		t.Fatalf("%d failures, want %d", len(f), n)
	}
}

// testMalformed gives what no caller should.
func testMalformed(t *testing.T, r native.Registry) {
	for name, changes := range map[string][]native.Change{
		"same key twice":       {put("a", "1"), put("b", ""), put("a", "2")},
		"written and deleted":  {put("a", "1"), del("a")},
		"deleted twice":        {del("a"), del("a")},
		"empty key":            {put("a", ""), put("", "")},
		"deleted an empty key": {put("a", ""), del("")},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, r.Commit(t.Context(), nil, changes), "key")
			wantKeys(t, scan(t, r, "", "", 0))
		})
	}
	unknown := []native.Condition{{Kind: native.PrefixEmpty + 1, Key: "a"}}
	wantRefusal(t, r.Commit(t.Context(), unknown, []native.Change{put("b", "")}), "condition")
	wantKeys(t, scan(t, r, "", "", 0))
}

// wantRefusal fails unless err is an ErrNotApplied that says why.
func wantRefusal(t *testing.T, err error, message string) {
	t.Helper()
	wantOutcome(t, err, native.ErrNotApplied)
	if !strings.Contains(err.Error(), message) || len(err.Error()) > 1000 {
		t.Fatalf("error is %.1000v, want it short and with %q", err, message)
	}
}
