package metadata

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// maxCost is what one commit of the tests below may cost in processor time, the race
// detector's included: some four times what it does, and far from what a square costs.
const maxCost = 12 * time.Second

// cost is the processor time that f takes. Time on the clock would count what else the
// machine has to do.
func cost(t *testing.T, f func()) time.Duration {
	t.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	f()
	return used() - before
}

// TestManyUpdatesCostNoSquare applies commits of 20,000 updates of one kind. Whatever
// grows with the square of their number takes minutes here.
func TestManyUpdatesCostNoSquare(t *testing.T) {
	const n = 20_000
	many := func(f func(i int) string) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = f(i)
		}
		return all
	}
	for name, list := range map[string][]string{
		"add-spec":     many(func(i int) string { return addSpecOf(partitionBy("1", fmt.Sprintf("bucket[%d]", i+1), "b")) }),
		"add-order":    many(func(i int) string { return addOrderOf(sortBy("1", fmt.Sprintf("bucket[%d]", i+1))) }),
		"add-schema":   many(func(i int) string { return addSchemaOf(baseID, baseTS, fieldText(fmt.Sprint(i+10), "n", `"int"`)) }),
		"add-snapshot": many(func(i int) string { return addSnap(fmt.Sprint(i+1), "", "1", "") }),
		"set-ref":      many(func(i int) string { return strings.Replace(setMain(snap1), "main", fmt.Sprint("b", i), 1) }),
		"statistics": many(func(i int) string {
			return `{"action":"set-statistics","statistics":` + statisticsText(fmt.Sprint(i), "p", "") + `}`
		}),
		"set-property": many(func(i int) string { return setProps(fmt.Sprint("p", i), "v") }),
		"move-main":    many(func(i int) string { return setMain([]string{snap1, snap2}[i%2]) }),
		"encryption": many(func(i int) string {
			return fmt.Sprintf(`{"action":"add-encryption-key","encryption-key":{"key-id":"%d","encrypted-key-metadata":"bQ=="}}`, i)
		}),
		"remove-schema": many(func(i int) string { return `{"action":"remove-schemas","schema-ids":[1]}` }),
	} {
		u := updates(t, list...)
		var next *Document
		took := cost(t, func() {
			var err error
			if next, _, err = mustParse(t, tableV2).Apply(u, Options{Now: at(5000)}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if took > maxCost {
			t.Errorf("%s took %v", name, took)
		}
		if name == "add-snapshot" {
			expire := make([]string, 0, 2*n)
			for i := range n {
				expire = append(expire, removeSnaps(fmt.Sprint(i+1)))
			}
			if took := cost(t, func() { apply(t, next, expire...) }); took > maxCost {
				t.Errorf("expiring one by one took %v", took)
			}
		}
	}
}

// TestWideSchemas adds a schema of 20,000 columns with long names, each in a struct of
// its own: names written out in full would take the square.
func TestWideSchemas(t *testing.T) {
	var fields []string
	for i := range 20_000 {
		fields = append(fields, fieldText(fmt.Sprint(2*i+10), strings.Repeat("n", 100)+fmt.Sprint(i),
			`{"type":"struct","fields":[`+fieldText(fmt.Sprint(2*i+11), "in", `"int"`)+`]}`))
	}
	took := cost(t, func() {
		apply(t, mustParse(t, tableV2), addSchemaOf(append(fields, baseTS)...), setLastSchema, addSpecOf(partitionBy("11", "identity", "x")))
	})
	if took > maxCost {
		t.Errorf("took %v", took)
	}
	t.Logf("%v of processor time", took)
}

// TestManyViewVersionsCostNoSquare is a commit of 20,000 versions, each with a schema of
// its own, and one version with as many dialects.
func TestManyViewVersionsCostNoSquare(t *testing.T) {
	var all, dialects []string
	for i := range 20_000 {
		all = append(all, addSchemaOf(fieldText(fmt.Sprint(i+10), "n", `"int"`)), addVersion(versionOf(1, -1, query("a", "spark"))), setVersion(-1))
		dialects = append(dialects, query("a", fmt.Sprint("d", i)))
	}
	for name, list := range map[string][]string{
		"versions": all,
		"dialects": append(replaceBy(versionOf(1, 0, dialects...)), setProps(dropDialectAllowed, "true")),
	} {
		u := viewUpdates(t, list...)
		took := cost(t, func() {
			if _, changed, err := mustParseView(t, viewV1).Apply(u, ViewOptions{Now: at(5000)}); err != nil || !changed {
				t.Errorf("%s: %v", name, err)
			}
		})
		if took > maxCost {
			t.Errorf("%s took %v", name, took)
		}
		t.Logf("%s: %v of processor time", name, took)
	}
}
