package postgres

import (
	"slices"
	"strings"
	"testing"

	"piedmont/native"
)

func TestEnd(t *testing.T) {
	largest := strings.Repeat("\xff", native.MaxKeyBytes)
	for prefix, want := range map[native.Key]string{
		"a": "b", "a\x00": "a\x01", "a\xfe": "a\xff", "a\xff": "b", "a\xff\xff": "b", "l\x7f": "l\x80",
		"": largest + "\xff", "\xff": largest + "\xff", "\xff\xff": largest + "\xff",
	} {
		got := string(end(prefix))
		if got != want {
			t.Errorf("the end of %q is %.20q, want %.20q", string(prefix), got, want)
		}
		for _, rest := range []native.Key{"", "\x00", "z", "\xff\xff"} {
			if string(prefix+rest) >= got {
				t.Errorf("%q isn't before the end of its prefix %q", string(prefix+rest), string(prefix))
			}
		}
	}
}

// on is a condition or a change in TestPlan.
func on(kind native.ConditionKind, key native.Key) native.Condition {
	return native.Condition{Kind: kind, Key: key, Version: native.Version{byte(kind + 1)}}
}

func write(key native.Key) native.Change { return native.Change{Key: key} }

func remove(key native.Key) native.Change { return native.Change{Key: key, Delete: true} }

func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		conditions []native.Condition
		changes    []native.Change
		careful    bool
		want       []string // statements
		shared     string   // first bytes of the classes
		alone      string
		ranges     int
	}{
		"nothing":            {},
		"swap":               {conditions: []native.Condition{on(native.AtVersion, "a")}, changes: []native.Change{write("a")}, want: []string{swapSQL}},
		"drop at version":    {conditions: []native.Condition{on(native.AtVersion, "a")}, changes: []native.Change{remove("a")}, want: []string{deleteAtSQL}},
		"only at version":    {conditions: []native.Condition{on(native.AtVersion, "a")}, want: []string{atSQL}},
		"overwrite":          {conditions: []native.Condition{on(native.Exists, "a")}, changes: []native.Change{write("a")}, want: []string{updateSQL}},
		"drop what exists":   {conditions: []native.Condition{on(native.Exists, "a")}, changes: []native.Change{remove("a")}, want: []string{deleteOneSQL}},
		"only exists":        {conditions: []native.Condition{on(native.Exists, "a")}, want: []string{existsSQL}},
		"both conditions":    {conditions: []native.Condition{on(native.Exists, "a"), on(native.AtVersion, "a")}, want: []string{atSQL}},
		"the same twice":     {conditions: []native.Condition{on(native.AtVersion, "a"), on(native.AtVersion, "a")}, want: []string{atSQL}},
		"put if absent":      {conditions: []native.Condition{on(native.Absent, "a")}, changes: []native.Change{write("a")}, want: []string{insertSQL}, shared: "a"},
		"put":                {changes: []native.Change{write("a")}, want: []string{putSQL}, shared: "a"},
		"absent":             {conditions: []native.Condition{on(native.Absent, "a")}, alone: "a", ranges: 1},
		"absent and deleted": {conditions: []native.Condition{on(native.Absent, "a")}, changes: []native.Change{remove("a")}, alone: "a", ranges: 1},
		"absent empty key":   {conditions: []native.Condition{on(native.Absent, "")}},
		"prefix empty":       {conditions: []native.Condition{on(native.PrefixEmpty, "a")}, changes: []native.Change{write("a"), write("b")}, want: []string{putSQL, putSQL}, shared: "b", alone: "a", ranges: 1},
		"delete":             {changes: []native.Change{remove("a")}, want: []string{deleteOneSQL}},
		"delete, careful":    {changes: []native.Change{remove("a")}, careful: true, want: []string{deleteSQL}, alone: "a"},
		"in order":           {conditions: []native.Condition{on(native.Exists, "c"), on(native.AtVersion, "a")}, changes: []native.Change{write("d"), remove("b")}, want: []string{atSQL, deleteOneSQL, existsSQL, putSQL}, shared: "d"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlan(c.conditions, c.changes, c.careful)
			var got []string
			for _, s := range p.steps {
				got = append(got, s.sql)
			}
			if !slices.Equal(got, c.want) || len(p.low) != c.ranges || p.hopeless {
				t.Fatalf("%d ranges, hopeless %v, statements:\n%s", len(p.low), p.hopeless, strings.Join(got, "\n"))
			}
			var want [classes]hold
			for _, b := range c.shared {
				want[classOf(native.Key(b))] = shared
			}
			for _, b := range c.alone {
				want[classOf(native.Key(b))] = alone
			}
			if p.guard != want {
				t.Fatalf("the guard is %v, want %v", p.guard, want)
			}
		})
	}
}

func TestPlanOfEverything(t *testing.T) {
	p := newPlan([]native.Condition{on(native.PrefixEmpty, "")}, nil, false)
	for class, held := range p.guard {
		if held != alone {
			t.Errorf("class %d is held %v", class, held)
		}
	}
}

func TestHopeless(t *testing.T) {
	other := on(native.AtVersion, "a")
	other.Version = native.NewVersion()
	for name, conditions := range map[string][]native.Condition{
		"exists and not":  {on(native.Exists, "a"), on(native.Absent, "a")},
		"at and absent":   {on(native.Absent, "a"), on(native.AtVersion, "a")},
		"two versions":    {on(native.AtVersion, "a"), other},
		"empty key is":    {on(native.Exists, "")},
		"empty key is at": {on(native.AtVersion, "")},
	} {
		if !newPlan(conditions, nil, false).hopeless {
			t.Errorf("%s: there is hope", name)
		}
	}
}

// TestStatements: the receipt first, the guard in the order of classes, what must be
// empty, the rows, the end.
func TestStatements(t *testing.T) {
	r := &Registry{begin: beginReadCommitted}
	p := newPlan([]native.Condition{on(native.PrefixEmpty, "b")}, []native.Change{write("c"), write("a")}, false)
	steps, sure := r.statements(p, receipt{})
	var got []string
	for _, s := range steps {
		got = append(got, s.sql)
	}
	want := []string{beginReadCommitted, receiptSQL, shareGuardSQL, holdGuardSQL, shareGuardSQL, emptySQL, putSQL, putSQL, commitSQL}
	if !slices.Equal(got, want) || sure != len(want)-1 {
		t.Fatalf("sure of %d statements:\n%s", sure, strings.Join(got, "\n"))
	}
}

// TestLoneSwap: what most commits are is one statement, and nothing else is.
func TestLoneSwap(t *testing.T) {
	r := &Registry{begin: beginReadCommitted}
	swap, change := on(native.AtVersion, "a"), write("a")
	steps, sure := r.statements(newPlan([]native.Condition{swap}, []native.Change{change}, false), receipt{})
	if len(steps) != 1 || sure != 1 || steps[0].sql != loneSwapSQL || len(steps[0].args) != 6 {
		t.Fatal(steps, sure)
	}
	for name, p := range map[string]*plan{
		"two conditions": newPlan([]native.Condition{swap, on(native.Exists, "b")}, []native.Change{change}, false),
		"two changes":    newPlan([]native.Condition{swap}, []native.Change{change, write("b")}, false),
		"a prefix":       newPlan([]native.Condition{swap, on(native.PrefixEmpty, "b")}, []native.Change{change}, false),
		"another kind":   newPlan([]native.Condition{on(native.Exists, "a")}, []native.Change{change}, false),
	} {
		if steps, sure := r.statements(p, receipt{}); len(steps) < 4 || sure != len(steps)-1 {
			t.Errorf("%s: %d statements, sure of %d", name, len(steps), sure)
		}
	}
}
