package registrytest

import (
	"testing"

	"piedmont/native"
)

type conditionCase struct {
	name      string
	condition native.Condition
	holds     bool
	found     native.Key // where it fails; "" for none
}

// conditionCases are about a registry that holds "dir/a", "dir/b", "dir\x00" and "x\xff".
func conditionCases(present native.Version) []conditionCase {
	other := native.NewVersion()
	return []conditionCase{
		{"AtVersion same", native.Condition{Kind: native.AtVersion, Key: "dir/a", Version: present}, true, ""},
		{"AtVersion other", native.Condition{Kind: native.AtVersion, Key: "dir/a", Version: other}, false, "dir/a"},
		{"AtVersion zero", native.Condition{Kind: native.AtVersion, Key: "dir/a"}, false, "dir/a"},
		{"AtVersion absent", native.Condition{Kind: native.AtVersion, Key: "dir/c", Version: present}, false, ""},
		{"AtVersion absent, zero", native.Condition{Kind: native.AtVersion, Key: "dir/c"}, false, ""},
		{"Exists", native.Condition{Kind: native.Exists, Key: "dir/b"}, true, ""},
		{"Exists absent", native.Condition{Kind: native.Exists, Key: "dir/"}, false, ""},
		{"Exists empty key", native.Condition{Kind: native.Exists}, false, ""},
		{"Absent", native.Condition{Kind: native.Absent, Key: "dir/aa"}, true, ""},
		{"Absent prefix of others", native.Condition{Kind: native.Absent, Key: "dir"}, true, ""},
		{"Absent present", native.Condition{Kind: native.Absent, Key: "dir/b"}, false, "dir/b"},
		{"Absent empty key", native.Condition{Kind: native.Absent}, true, ""},
		{"PrefixEmpty", native.Condition{Kind: native.PrefixEmpty, Key: "dir/c"}, true, ""},
		{"PrefixEmpty after all", native.Condition{Kind: native.PrefixEmpty, Key: "x\xff\xff"}, true, ""},
		{"PrefixEmpty of a key itself", native.Condition{Kind: native.PrefixEmpty, Key: "dir/b"}, false, "dir/b"},
		{"PrefixEmpty finds the first", native.Condition{Kind: native.PrefixEmpty, Key: "dir/"}, false, "dir/a"},
		{"PrefixEmpty with 0x00", native.Condition{Kind: native.PrefixEmpty, Key: "dir"}, false, "dir\x00"},
		{"PrefixEmpty with 0xff", native.Condition{Kind: native.PrefixEmpty, Key: "x"}, false, "x\xff"},
		{"PrefixEmpty of everything", native.Condition{Kind: native.PrefixEmpty}, false, "dir\x00"},
	}
}

func testConditions(t *testing.T, r native.Registry) {
	a := put("dir/a", "value of dir/a")
	mustCommit(t, r, a)
	for _, key := range []native.Key{"dir/b", "dir\x00", "x\xff"} {
		mustCommit(t, r, put(key, "value of "+string(key)))
	}
	for _, c := range conditionCases(a.Version) {
		t.Run(c.name, func(t *testing.T) {
			target := native.Key("!" + c.name)
			err := r.Commit(t.Context(), []native.Condition{c.condition}, []native.Change{put(target, "")})
			if c.holds {
				wantOutcome(t, err, nil)
				mustCommit(t, r, del(target))
				return
			}
			f := failures(t, err)
			if len(f) != 1 || f[0].Condition != c.condition {
				t.Fatalf("failures are %v, want one of %v", f, c.condition)
			}
			wantFound(t, f[0].Found, c.found)
			wantAbsent(t, r, target)
		})
	}
	mustCommit(t, r, del("dir/a"), del("dir/b"), del("dir\x00"), del("x\xff"))
	if err := r.Commit(t.Context(), []native.Condition{{Kind: native.PrefixEmpty}}, nil); err != nil {
		t.Fatalf("PrefixEmpty of an empty registry: %v", err)
	}
}

// wantFound fails unless found is the record that testConditions made under key.
func wantFound(t *testing.T, found *native.Record, key native.Key) {
	t.Helper()
	switch {
	case key == "" && found == nil:
	case key == "" || found == nil:
		t.Fatalf("found %v, want %q", found, key)
	case found.Key != key || string(found.Value) != "value of "+string(key) || found.Version == native.Version{}:
		t.Fatalf("found %q with %q at %x, want the record of %q", found.Key, found.Value, found.Version, key)
	}
}

func testConflictNamesEachFailure(t *testing.T, r native.Registry) {
	a := put("a", "value of a")
	mustCommit(t, r, a, put("b", "value of b"))
	conditions := []native.Condition{
		{Kind: native.Absent, Key: "b"},
		{Kind: native.Exists, Key: "a"},
		{Kind: native.AtVersion, Key: "a", Version: native.NewVersion()},
		{Kind: native.Absent, Key: "c"},
		{Kind: native.Exists, Key: "c"},
		{Kind: native.PrefixEmpty, Key: ""},
		{Kind: native.Absent, Key: "b"},
		{Kind: native.AtVersion, Key: "a", Version: a.Version},
	}
	f := failures(t, r.Commit(t.Context(), conditions, []native.Change{put("d", "")}))
	want := []struct {
		condition int
		found     native.Key
	}{{0, "b"}, {2, "a"}, {4, ""}, {5, "a"}, {6, "b"}}
	if len(f) != len(want) {
		t.Fatalf("%d failures %v, want %d", len(f), f, len(want))
	}
	for i, w := range want {
		if f[i].Condition != conditions[w.condition] {
			t.Fatalf("failure %d is of %v, want %v", i, f[i].Condition, conditions[w.condition])
		}
		wantFound(t, f[i].Found, w.found)
	}
	wantAbsent(t, r, "d")
}

// testConditionsSeeTheStateBefore holds conditions to the state before the changes of
// the same Commit.
func testConditionsSeeTheStateBefore(t *testing.T, r native.Registry) {
	a := put("ns/a", "")
	err := r.Commit(t.Context(), []native.Condition{
		{Kind: native.Absent, Key: "ns/a"}, {Kind: native.PrefixEmpty, Key: "ns/"},
	}, []native.Change{a})
	wantOutcome(t, err, nil)
	err = r.Commit(t.Context(), []native.Condition{{Kind: native.AtVersion, Key: "ns/a", Version: a.Version}},
		[]native.Change{put("ns/a", "new")})
	wantOutcome(t, err, nil)
	err = r.Commit(t.Context(), []native.Condition{{Kind: native.PrefixEmpty, Key: "ns/"}}, []native.Change{del("ns/a")})
	wantOutcome(t, err, native.ErrConflict)
	err = r.Commit(t.Context(), []native.Condition{{Kind: native.Exists, Key: "ns/b"}}, []native.Change{put("ns/b", "")})
	wantOutcome(t, err, native.ErrConflict)
	wantKeys(t, scan(t, r, "", "", 0), "ns/a")
}

func testOnlyConditions(t *testing.T, r native.Registry) {
	wantOutcome(t, r.Commit(t.Context(), nil, nil), nil)
	mustCommit(t, r, put("a", "value of a"))
	wantOutcome(t, r.Commit(t.Context(), []native.Condition{{Kind: native.Exists, Key: "a"}}, nil), nil)
	f := failures(t, r.Commit(t.Context(), []native.Condition{{Kind: native.Absent, Key: "a"}}, nil))
	wantFound(t, f[0].Found, "a")
}
