package registrytest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"piedmont/native"
)

// model is what a registry should be, in the simplest way.
type model map[native.Key]native.Record

// testModel makes random commits and reads and compares each with the model.
func testModel(t *testing.T, r native.Registry) {
	m := model{}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 600 {
		step(t, r, m, rng)
	}
}

// step is one random commit, and one random read.
func step(t *testing.T, r native.Registry, m model, rng *rand.Rand) {
	t.Helper()
	conditions, changes := randomConditions(m, rng), randomChanges(rng)
	want := m.commit(conditions, changes)
	err := r.Commit(t.Context(), conditions, changes)
	if want == nil {
		wantOutcome(t, err, nil)
	} else {
		sameFailures(t, failures(t, err), want)
	}
	prefix, after, limit := randomKey(rng)[:rng.IntN(2)], native.Key(""), 1+rng.IntN(12)
	if rng.IntN(2) == 0 {
		after = randomKey(rng)
	}
	got, err := r.Scan(t.Context(), prefix, after, limit)
	if err != nil {
		t.Fatal(err)
	}
	sameRecords(t, got, m.scan(prefix, after, limit))
	key := randomKey(rng)
	rec, ok, err := r.Get(t.Context(), key)
	if wanted, exists := m[key]; err != nil || ok != exists || !sameRecord(rec, wanted) {
		t.Fatalf("Get(%q) = %v, %v, %v, want %v, %v", key, rec, ok, err, wanted, exists)
	}
}

// commit is Commit; it returns the failures.
func (m model) commit(conditions []native.Condition, changes []native.Change) []native.Failure {
	var failed []native.Failure
	for _, c := range conditions {
		found := m.find(c)
		holds := found == nil
		switch c.Kind {
		case native.AtVersion:
			holds = found != nil && found.Version == c.Version
		case native.Exists:
			holds = found != nil
		case native.Absent, native.PrefixEmpty:
		}
		if !holds {
			failed = append(failed, native.Failure{Condition: c, Found: found})
		}
	}
	if failed != nil {
		return failed
	}
	for _, c := range changes {
		if c.Delete {
			delete(m, c.Key)
		} else {
			m[c.Key] = native.Record{Key: c.Key, Value: c.Value, Version: c.Version}
		}
	}
	return nil
}

// find is the record that a condition is about.
func (m model) find(c native.Condition) *native.Record {
	if c.Kind == native.PrefixEmpty {
		if below := m.scan(c.Key, "", 1); len(below) > 0 {
			return &below[0]
		}
		return nil
	}
	if rec, ok := m[c.Key]; ok {
		return &rec
	}
	return nil
}

// scan is Scan.
func (m model) scan(prefix, after native.Key, limit int) []native.Record {
	var recs []native.Record
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if strings.HasPrefix(string(key), string(prefix)) && (after == "" || key > after) && len(recs) < limit {
			recs = append(recs, m[key])
		}
	}
	return recs
}

// randomKey is one of few, so that commits meet.
func randomKey(rng *rand.Rand) native.Key {
	const letters = "a\x00\xffz"
	key := make([]byte, 1+rng.IntN(3))
	for i := range key {
		key[i] = letters[rng.IntN(len(letters))]
	}
	return native.Key(key)
}

// randomConditions mostly hold, or nothing would ever be written.
func randomConditions(m model, rng *rand.Rand) []native.Condition {
	conditions := make([]native.Condition, rng.IntN(3))
	for i := range conditions {
		key := randomKey(rng)
		rec, exists := m[key]
		c := native.Condition{Kind: native.ConditionKind(rng.IntN(4)), Key: key}
		if rng.IntN(10) > 0 {
			c = native.Condition{Kind: native.Absent, Key: key}
			if exists {
				c = native.Condition{Kind: native.AtVersion, Key: key, Version: rec.Version}
			}
		}
		conditions[i] = c
	}
	return conditions
}

// randomChanges are of different keys, some with values of several pages.
func randomChanges(rng *rand.Rand) []native.Change {
	seen := map[native.Key]bool{}
	var changes []native.Change
	for range rng.IntN(6) {
		key := randomKey(rng)
		if seen[key] {
			continue
		}
		seen[key] = true
		if rng.IntN(3) == 0 {
			changes = append(changes, del(key))
			continue
		}
		size := rng.IntN(200)
		if rng.IntN(20) == 0 {
			size = rng.IntN(20_000)
		}
		changes = append(changes, put(key, strings.Repeat(string(key[0]), size)))
	}
	return changes
}

func sameRecord(a, b native.Record) bool {
	return a.Key == b.Key && string(a.Value) == string(b.Value) && a.Version == b.Version
}

func sameRecords(t *testing.T, got, want []native.Record) {
	t.Helper()
	if !slices.EqualFunc(got, want, sameRecord) {
		t.Fatalf("Scan = %v, want %v", got, want)
	}
}

func sameFailures(t *testing.T, got, want []native.Failure) {
	t.Helper()
	same := slices.EqualFunc(got, want, func(a, b native.Failure) bool {
		if a.Condition != b.Condition || (a.Found == nil) != (b.Found == nil) {
			return false
		}
		return a.Found == nil || sameRecord(*a.Found, *b.Found)
	})
	if !same {
		t.Fatalf("failures are %v, want %v", got, want)
	}
}
