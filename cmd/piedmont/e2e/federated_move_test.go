//go:build e2e

package e2e

import (
	"os"
	"reflect"
	"regexp"
	"testing"
)

// testMove moves a table of each kind of mount, by the lines of the README.
func (f *federation) testMove(t *testing.T) {
	hive, web := f.hive.content(), f.glueContent("web")
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile("(?s)\n## Moving a table\n.*?```python\n(.*?)```").FindSubmatch(text)
	if section == nil {
		t.Fatal("the README doesn't say how to move a table")
	}
	var counts map[string][]int
	lastLine(t, federatedPython(t, "federated_move.py", "SNIPPET="+string(section[1]), "PIEDMONT_URI="+f.URI, "PIEDMONT_KEY="+f.admin,
		"MOVES=legacy.sales.orders=moved.orders legacy.sales.events=moved.events cloud.web.clicks=moved.clicks cloud.web.visits=moved.visits old.shop.returns=moved.returns"), &counts)
	want := map[string][]int{}
	for name, n := range f.rows {
		want[name] = []int{n, n, n, n + 1} // a commit to the new name is none to the old
	}
	if !reflect.DeepEqual(counts, want) {
		t.Errorf("rows by the old and the new name, before and after a commit to the new: %v, want %v", counts, want)
	}
	if f.hive.content() != hive || f.glueContent("web") != web {
		t.Error("the old catalogs' content changed")
	}
	if _, writes := f.rest.counts(); len(writes) > 0 {
		t.Errorf("the REST catalog saw %v", writes)
	}
}
