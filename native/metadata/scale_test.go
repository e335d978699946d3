package metadata

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

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
		start := time.Now()
		next, _, err := mustParse(t, tableV2).Apply(u, Options{Now: at(5000)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		if name == "add-snapshot" {
			start = time.Now()
			expire := make([]string, 0, 2*n)
			for i := range n {
				expire = append(expire, removeSnaps(fmt.Sprint(i+1)))
			}
			apply(t, next, expire...)
			if took := time.Since(start); took > 5*time.Second {
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
	start := time.Now()
	apply(t, mustParse(t, tableV2), addSchemaOf(append(fields, baseTS)...), setLastSchema, addSpecOf(partitionBy("11", "identity", "x")))
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
