package metadata

import (
	"strings"
	"testing"
)

func parseCommit(t *testing.T, requirement string, list ...string) *Commit {
	t.Helper()
	c, err := ParseCommit([]byte(`{"requirements":[` + requirement + `],"updates":[` + strings.Join(list, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACommitThatIsInAlreadyIsRecognised(t *testing.T) {
	sent := []string{addSnap(snap3, snap2, "3", `,"x":{"a":1,"b":2}`), setMain(snap3), setProps("a", "b")}
	d := apply(t, mustParse(t, tableV2), sent...)
	uuid := `{"type":"assert-table-uuid","uuid":"` + testUUID + `"},{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":` + snap2 + `}`
	for name, c := range map[string]struct {
		want        bool
		requirement string
		updates     []string
	}{
		"the same":            {true, uuid, sent},
		"spelled differently": {true, uuid, []string{addSnap(snap3, snap2, "3", `, "x" : {"b":2,"a":1}`), setMain(snap3)}},
		"another table":       {false, strings.Replace(uuid, testUUID, otherUUID, 1), sent},
		"another content":     {false, uuid, []string{addSnap(snap3, snap2, "3", `,"x":{"a":1}`), setMain(snap3)}},
		"another snapshot":    {false, uuid, []string{addSnap(snap4, snap2, "3", ""), setMain(snap4)}},
		"one of two":          {false, uuid, append([]string{addSnap(snap4, snap2, "3", "")}, sent...)},
		"another property":    {false, uuid, append([]string{setProps("a", "c")}, sent...)},
		"no snapshot":         {false, uuid, []string{setProps("a", "b")}},
		"an unknown ref":      {false, uuid, append([]string{setMain(snap4)}, sent...)},
	} {
		if got := parseCommit(t, c.requirement, c.updates...).AlreadyIn(d); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	moved := apply(t, d, addSnap(snap4, snap3, "4", ""), setMain(snap4))
	if parseCommit(t, uuid, sent...).AlreadyIn(moved) {
		t.Error("main has moved on, but the commit counts as the last")
	}
	if parseCommit(t, uuid, sent...).AlreadyIn(mustParse(t, with(t, tableV2, "snapshots", "[{}]"))) {
		t.Error("a broken document shows a commit")
	}
}
