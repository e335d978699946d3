package historytest

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// story is a history told line by line: each operation begins and ends before the next,
// but for those of unknown outcome.
type story struct {
	at         int64
	operations []porcupine.Operation
}

func (s *story) tell(o operation, out outcome) *story {
	end := s.at + 1
	if out.result == unknown {
		end = math.MaxInt64
	}
	s.operations = append(s.operations, porcupine.Operation{Input: o, Output: out, Call: s.at, Return: end})
	s.at += 2
	return s
}

// during is an operation that is under way while the last one is.
func (s *story) during(o operation, out outcome) *story {
	last := s.operations[len(s.operations)-1]
	s.operations = append(s.operations, porcupine.Operation{Input: o, Output: out, Call: last.Call, Return: last.Return})
	return s
}

func (s *story) create(id, name int) *story {
	return s.tell(operation{id: id, kind: change, parts: []part{{does: creates, name: name}}}, outcome{seen: table{creator: part{name: name}.creator(id)}.String()})
}

func loaded(name int) operation { return operation{kind: load, name: name} }

func sees(seen string) outcome { return outcome{seen: seen} }

func appending(id, name int, creator, main string) operation {
	return operation{id: id, kind: change, parts: []part{{does: appends, name: name, seen: sighting{creator: creator, main: main}}}}
}

// skewed appends to one table if the other is as it was created.
func skewed(id, name, other int) operation {
	at := func(n int) sighting { return sighting{creator: part{name: n}.creator(n + 1)} }
	return operation{id: id, kind: change, parts: []part{
		{does: appends, name: name, seen: at(name)}, {does: asserts, name: other, seen: at(other)},
	}}
}

var (
	ok      = outcome{blind: true}
	open    = outcome{result: unknown}
	gone    = outcome{result: refused, why: missing}
	inUse   = outcome{result: refused, why: taken}
	against = outcome{result: refused, why: failed}
	nothing = outcome{result: notApplied}
	dropA   = operation{id: 8, kind: drop, name: 0}
	aToB    = operation{id: 9, kind: rename, name: 0, to: 1}
	bothSet = operation{id: 7, kind: change, parts: []part{{does: sets, name: 0}, {does: sets, name: 1}}}
	oneSets = operation{id: 7, kind: change, parts: []part{{does: sets, name: 0}}}
)

// TestModel: each promise has a history that keeps it and one that breaks it.
func TestModel(t *testing.T) {
	for _, c := range []struct {
		name    string
		holds   bool
		history *story
	}{
		{"read what was written", true, new(story).create(1, 0).tell(loaded(0), sees("1a|||"))},
		{"a created table is missing", false, new(story).create(1, 0).tell(loaded(0), gone)},
		{"exists", false, new(story).create(1, 0).tell(operation{kind: exists}, gone)},
		{"listed", true, new(story).create(1, 0).create(2, 2).tell(operation{kind: list}, sees("a,c"))},
		{"not listed", false, new(story).create(1, 0).create(2, 2).tell(operation{kind: list}, sees("a"))},
		{"created twice", false, new(story).create(1, 0).create(2, 0)},
		{"taken", true, new(story).create(1, 0).tell(operation{id: 2, kind: change, parts: []part{{does: creates}}}, inUse)},
		{"not taken at all", false, new(story).tell(operation{id: 2, kind: change, parts: []part{{does: creates}}}, inUse)},

		{"append behind append", true, new(story).create(1, 0).tell(appending(2, 0, "1a", ""), sees("1a|2||")).tell(appending(3, 0, "1a", "2"), sees("1a|2,3||"))},
		{"two appends behind one", false, new(story).create(1, 0).tell(appending(2, 0, "1a", ""), sees("1a|2||")).tell(appending(3, 0, "1a", ""), sees("1a|3||"))},
		{"a lost update", false, new(story).create(1, 0).tell(appending(2, 0, "1a", ""), sees("1a|2||")).tell(loaded(0), sees("1a|||"))},
		{"a refused append", true, new(story).create(1, 0).tell(appending(2, 0, "1a", ""), sees("1a|2||")).tell(appending(3, 0, "1a", ""), against)},
		{"refused without a reason", false, new(story).create(1, 0).tell(appending(3, 0, "1a", ""), against)},
		{"refused, and yet applied", false, new(story).create(1, 0).tell(appending(2, 0, "1a", "9"), against).tell(loaded(0), sees("1a|2||"))},
		{"append to another table of that name", false, new(story).create(1, 0).tell(dropA, ok).create(2, 0).tell(appending(3, 0, "1a", ""), sees("2a|3||"))},
		{"reads go back", false, new(story).create(1, 0).tell(oneSets, open).tell(loaded(0), sees("1a||7|7")).tell(loaded(0), sees("1a|||"))},

		{"unknown and applied", true, new(story).create(1, 0).tell(oneSets, open).tell(loaded(0), sees("1a||7|7"))},
		{"unknown and not applied", true, new(story).create(1, 0).tell(oneSets, open).tell(loaded(0), sees("1a|||"))},
		{"unknown and applied late", true, new(story).create(1, 0).tell(oneSets, open).tell(loaded(0), sees("1a|||")).tell(loaded(0), sees("1a||7|7"))},
		{"unknown and applied twice", false, new(story).create(1, 0).tell(dropA, open).tell(loaded(0), gone).create(2, 0).tell(loaded(0), gone)},
		{"not applied and applied", false, new(story).create(1, 0).tell(oneSets, nothing).tell(loaded(0), sees("1a||7|7"))},

		{"renamed", true, new(story).create(1, 0).tell(aToB, ok).tell(loaded(0), gone).tell(loaded(1), sees("1a|||"))},
		{"renamed and still there", false, new(story).create(1, 0).tell(aToB, ok).tell(loaded(0), sees("1a|||"))},
		{"renamed over another", false, new(story).create(1, 0).create(2, 1).tell(aToB, ok)},
		{"listed under both names", false, new(story).create(1, 0).tell(aToB, ok).during(operation{kind: list}, sees("a,b"))},
		{"listed under neither", false, new(story).create(1, 0).tell(aToB, ok).during(operation{kind: list}, sees(""))},
		{"an unknown rename of which half is seen", false, new(story).create(1, 0).tell(aToB, open).tell(loaded(1), sees("1a|||")).tell(loaded(0), sees("1a|||"))},
		{"dropped", true, new(story).create(1, 0).tell(dropA, ok).tell(loaded(0), gone)},
		{"dropped and still there", false, new(story).create(1, 0).tell(dropA, ok).tell(loaded(0), sees("1a|||"))},
		{"dropped twice", false, new(story).create(1, 0).tell(dropA, ok).tell(dropA, ok)},

		{"both tables", true, new(story).create(1, 0).create(2, 1).tell(bothSet, ok).tell(loaded(0), sees("1a||7|7")).tell(loaded(1), sees("2b||7|7"))},
		{"half of an acknowledged transaction", false, new(story).create(1, 0).create(2, 1).tell(bothSet, ok).tell(loaded(0), sees("1a||7|7")).tell(loaded(1), sees("2b|||"))},
		{"half of an unknown transaction", false, new(story).create(1, 0).create(2, 1).tell(bothSet, open).tell(loaded(0), sees("1a||7|7")).tell(loaded(1), sees("2b|||"))},
		{"half of a transaction under way", false, new(story).create(1, 0).create(2, 1).tell(bothSet, open).tell(loaded(1), sees("2b||7|7")).tell(loaded(0), sees("1a|||"))},
		{"a transaction without its table", false, new(story).create(1, 0).tell(bothSet, ok)},
		{"one of two that assert each other's table", true, new(story).create(1, 0).create(2, 1).tell(skewed(3, 0, 1), ok).tell(skewed(4, 1, 0), against)},
		{"both that assert each other's table", false, new(story).create(1, 0).create(2, 1).tell(skewed(3, 0, 1), ok).during(skewed(4, 1, 0), ok)},
		{"a transaction refused", true, new(story).create(1, 0).tell(bothSet, gone)},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.holds, porcupine.CheckOperations(model(), c.history.operations))
		})
	}
}

// TestNarrowed: what is narrowed has the verdict that the whole has.
func TestNarrowed(t *testing.T) {
	late := new(story).create(1, 0).tell(oneSets, open).tell(loaded(0), sees("1a||7|7"))
	never := new(story).create(1, 0).tell(oneSets, open).tell(loaded(0), sees("1a|||"))
	refuses := new(story).create(1, 0).tell(appending(2, 0, "1a", ""), open).tell(appending(3, 0, "1a", ""), against)
	for name, c := range map[string]struct {
		story        *story
		likely       int
		until        int64
		all, withOut bool
	}{
		"seen":                      {late, 3, late.operations[2].Return, true, true},
		"never seen":                {never, 2, math.MaxInt64, true, true},
		"not seen, but a reason":    {refuses, 2, math.MaxInt64, true, false},
		"seen before it was asked":  {new(story).create(1, 0).tell(loaded(0), sees("1a||7|7")).tell(oneSets, open), 3, 4, false, false},
		"an unknown drop is likely": {new(story).create(1, 0).tell(dropA, open).tell(loaded(0), gone), 3, math.MaxInt64, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := New(Options{})
			h.operations = c.story.operations
			all, likely := h.narrowed()
			require.Len(t, likely, c.likely)
			for _, o := range all {
				if o.Output.(outcome).result == unknown {
					require.Equal(t, c.until, o.Return)
				}
			}
			require.Equal(t, c.all, porcupine.CheckOperations(model(), all))
			require.Equal(t, c.withOut, porcupine.CheckOperations(model(), likely))
		})
	}
}
