// Package registrytest holds every native.Registry to its contract. A backend's test
// calls Run and RunDurable, each in one line, and its benchmarks Benchmark.
package registrytest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"piedmont/native"
)

// Run tests what one open registry promises. open returns an empty registry each time
// it is called; Run closes it.
func Run(t *testing.T, open func(t *testing.T) native.Registry) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, native.Registry)
	}{
		{"Get", testGet},
		{"EmptyValue", testEmptyValue},
		{"DeleteAbsent", testDeleteAbsent},
		{"Conditions", testConditions},
		{"ConflictNamesEachFailure", testConflictNamesEachFailure},
		{"ConditionsSeeTheStateBefore", testConditionsSeeTheStateBefore},
		{"AllOrNothing", testAllOrNothing},
		{"OnlyConditions", testOnlyConditions},
		{"ScanOrderAndPrefix", testScanOrderAndPrefix},
		{"ScanAfter", testScanAfter},
		{"ScanPages", testScanPages},
		{"ScanLimit", testScanLimit},
		{"LargestSizes", testLargestSizes},
		{"TooLarge", testTooLarge},
		{"TooMany", testTooMany},
		{"Malformed", testMalformed},
		{"GivenSlices", testGivenSlices},
		{"ReturnedSlices", testReturnedSlices},
		{"EndedContext", testEndedContext},
		{"Closed", testClosed},
		{"CloseDuringCommits", func(t *testing.T, r native.Registry) { closeDuringCommits(t, r) }},
		{"Increments", testIncrements},
		{"GroupedConflicts", testGroupedConflicts},
		{"Namespaces", testNamespaces},
		{"ScanSeesOneState", testScanSeesOneState},
		{"Model", testModel},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t)
			t.Cleanup(func() { _ = r.Close() }) // some tests close it themselves
			c.test(t, r)
		})
	}
}

// put is a change that writes a record at a new version.
func put(key native.Key, value string) native.Change {
	return native.Change{Key: key, Value: []byte(value), Version: native.NewVersion()}
}

func del(key native.Key) native.Change { return native.Change{Key: key, Delete: true} }

// mustCommit commits changes without a condition.
func mustCommit(t *testing.T, r native.Registry, changes ...native.Change) {
	t.Helper()
	if err := r.Commit(t.Context(), nil, changes); err != nil {
		t.Fatalf("Commit: %v", err)
	}
}

// outcome tells which of the outcomes of a Commit err is. It fails where it is none of
// them, or several at once.
func outcome(t *testing.T, err error) error {
	t.Helper()
	if err == nil {
		return nil
	}
	var kinds []error
	for _, kind := range []error{native.ErrConflict, native.ErrUnknown, native.ErrNotApplied} {
		if errors.Is(err, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) != 1 {
		t.Fatalf("error %v is %d of ErrConflict, ErrUnknown and ErrNotApplied, want one", err, len(kinds))
	}
	return kinds[0]
}

// wantOutcome fails unless err has the outcome kind.
func wantOutcome(t *testing.T, err, kind error) {
	t.Helper()
	if got := outcome(t, err); !errors.Is(got, kind) {
		t.Fatalf("error is %v, want one of %v", err, kind)
	}
}

// failures are those of a conflict.
func failures(t *testing.T, err error) []native.Failure {
	t.Helper()
	wantOutcome(t, err, native.ErrConflict)
	var conflict *native.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("error %v holds no *ConflictError", err)
	}
	return conflict.Failures
}

// wantValue fails unless key has the value.
func wantValue(t *testing.T, r native.Registry, key native.Key, value string) {
	t.Helper()
	rec, ok, err := r.Get(t.Context(), key)
	if err != nil || !ok || string(rec.Value) != value || rec.Key != key {
		t.Fatalf("Get(%q) = %q, %v, %v, want the value %q", key, rec.Value, ok, err, value)
	}
}

// wantAbsent fails unless key doesn't exist.
func wantAbsent(t *testing.T, r native.Registry, key native.Key) {
	t.Helper()
	if rec, ok, err := r.Get(t.Context(), key); err != nil || ok || rec.Value != nil {
		t.Fatalf("Get(%q) = %q, %v, %v, want it absent", key, rec.Value, ok, err)
	}
}

// scan returns the keys of a Scan.
func scan(t *testing.T, r native.Registry, prefix, after native.Key, limit int) []native.Key {
	t.Helper()
	recs, err := r.Scan(t.Context(), prefix, after, limit)
	if err != nil {
		t.Fatalf("Scan(%q, %q, %d): %v", prefix, after, limit, err)
	}
	keys := make([]native.Key, len(recs))
	for i, rec := range recs {
		keys[i] = rec.Key
	}
	return keys
}

// wantKeys fails unless got is want.
func wantKeys(t *testing.T, got []native.Key, want ...native.Key) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got keys %q, want %q", got, want)
	}
}

// ended is a context that has ended.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
