package metadata

import (
	"fmt"
	"strings"
	"testing"
)

// bigView is a view with n versions, each with a query of 2 KB and a schema of its own
// with 30 columns.
func bigView(n int) string {
	var schemas, versions, log []string
	for i := 1; i <= n; i++ {
		var fields []string
		for f := range 30 {
			fields = append(fields, fieldText(fmt.Sprint(f+1), fmt.Sprintf("column_%d_%d", i, f), `"string"`))
		}
		schemas = append(schemas, fmt.Sprintf(`{"type":"struct","schema-id":%d,"fields":[%s]}`, i, strings.Join(fields, ",")))
		versions = append(versions, versionOf(i, i, query(strings.Repeat("select a, b from t ", 100)+fmt.Sprint(i), "spark")))
		log = append(log, fmt.Sprintf(`{"timestamp-ms":%d,"version-id":%d}`, 1000+i, i))
	}
	return fmt.Sprintf(`{"view-uuid":%q,"format-version":1,"location":"s3://b/v","properties":{"version.history.num-entries":"%d"},"schemas":[%s],"current-version-id":%d,"versions":[%s],"version-log":[%s]}`,
		testUUID, n, strings.Join(schemas, ","), n, strings.Join(versions, ","), strings.Join(log, ","))
}

func benchmarkReplaceView(b *testing.B, n int) {
	text := bigView(n)
	d := mustParseView(b, text)
	body := []byte(`{"updates":[` + strings.Join(append([]string{addSchemaOf(fieldText("1", "n", `"int"`))},
		replaceBy(versionOf(1, -1, query("select now", "spark")))...), ",") + `]}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := ParseViewCommit(body)
		if err != nil {
			b.Fatal(err)
		}
		if _, changed, err := d.Apply(c.Updates, ViewOptions{Now: at(5000)}); err != nil || !changed {
			b.Fatal(changed, err)
		}
	}
}

func BenchmarkReplaceViewOf10Versions(b *testing.B)   { benchmarkReplaceView(b, 10) }
func BenchmarkReplaceViewOf1000Versions(b *testing.B) { benchmarkReplaceView(b, 1000) }

// BenchmarkAdd10000VersionsAtOnce is the worst a body of a few MB can ask for.
func BenchmarkAdd10000VersionsAtOnce(b *testing.B) {
	var all []string
	for i := range 10_000 {
		all = append(all, addVersion(sql(i)), setVersion(-1))
	}
	d := mustParseView(b, viewV1)
	u := viewUpdates(b, all...)
	for b.Loop() {
		if _, changed, err := d.Apply(u, ViewOptions{Now: at(5000)}); err != nil || !changed {
			b.Fatal(changed, err)
		}
	}
}
