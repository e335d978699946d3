package metadata

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// bigTable is a v2 table with n snapshots of about 850 bytes each, as Spark writes
// them.
func bigTable(n int) []byte {
	var snaps, log strings.Builder
	for i := 1; i <= n; i++ {
		comma := ","
		if i == n {
			comma = ""
		}
		fmt.Fprintf(&snaps, `{"snapshot-id":%d,"parent-snapshot-id":%d,"sequence-number":%d,"timestamp-ms":%d,"manifest-list":"s3://bucket/warehouse/db/table/metadata/snap-%d-1-9c12d441-03fe-4693-9a96-a0705ddf69c1.avro","summary":{"operation":"append",%s"engine-name":"spark"},"schema-id":0}%s`,
			int64(1)<<60+int64(i), int64(1)<<60+int64(i-1), i, 1000+i, i, strings.Repeat(`"total-records":"123456789","added-files-size":"123456",`, 10), comma)
		fmt.Fprintf(&log, `{"timestamp-ms":%d,"snapshot-id":%d}%s`, 1000+i, int64(1)<<60+int64(i), comma)
	}
	return fmt.Appendf(nil, `{"format-version":2,"table-uuid":%q,"location":"s3://bucket/db/t","last-sequence-number":%d,"last-updated-ms":1000,"last-column-id":1,
"current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]}],
"default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[]}],"last-partition-id":999,"default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}],
"properties":{},"current-snapshot-id":%d,"refs":{"main":{"snapshot-id":%d,"type":"branch"}},
"snapshots":[%s],"statistics":[],"partition-statistics":[],"snapshot-log":[%s],"metadata-log":[]}`,
		testUUID, n, int64(1)<<60+int64(n), int64(1)<<60+int64(n), snaps.String(), log.String())
}

func appendTo(n int) string {
	id, parent := int64(1)<<60+int64(n)+1, int64(1)<<60+int64(n)
	return fmt.Sprintf(`{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":%d}],"updates":[%s,%s]}`,
		parent, addSnap(fmt.Sprint(id), fmt.Sprint(parent), fmt.Sprint(n+1), ""), setMain(fmt.Sprint(id)))
}

func benchmarkApply(b *testing.B, n int) {
	raw := bigTable(n)
	d, err := Parse(raw)
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(appendTo(n))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := ParseCommit(body)
		if err != nil {
			b.Fatal(err)
		}
		if err := d.CheckRequirements(c.Requirements); err != nil {
			b.Fatal(err)
		}
		if _, changed, err := d.Apply(c.Updates, Options{Now: at(1 << 40), MetadataLocation: "s3://m"}); err != nil || !changed {
			b.Fatal(changed, err)
		}
	}
}

func BenchmarkAppendTo10Snapshots(b *testing.B)    { benchmarkApply(b, 10) }
func BenchmarkAppendTo10000Snapshots(b *testing.B) { benchmarkApply(b, 10_000) }

// BenchmarkCopy10000Snapshots is what copying the text alone costs, to compare with.
func BenchmarkCopy10000Snapshots(b *testing.B) {
	raw := bigTable(10_000)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		_ = bytes.Clone(raw)
	}
}

func BenchmarkParse10000Snapshots(b *testing.B) {
	raw := bigTable(10_000)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstAppendTo10000Snapshots is a commit to a document nobody has touched:
// parsing it and finding its snapshots included.
func BenchmarkFirstAppendTo10000Snapshots(b *testing.B) {
	raw, body := bigTable(10_000), []byte(appendTo(10_000))
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		d, err := Parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		c, _ := ParseCommit(body)
		if _, changed, err := d.Apply(c.Updates, Options{Now: at(1 << 40)}); err != nil || !changed {
			b.Fatal(changed, err)
		}
	}
}

func BenchmarkExpire1000Of10000Snapshots(b *testing.B) {
	raw := bigTable(10_000)
	d, err := Parse(raw)
	if err != nil {
		b.Fatal(err)
	}
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = fmt.Sprint(int64(1)<<60 + int64(i) + 1)
	}
	u := updates(b, `{"action":"remove-snapshots","snapshot-ids":[`+strings.Join(ids, ",")+`]}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, changed, err := d.Apply(u, Options{Now: at(1 << 40)}); err != nil || !changed {
			b.Fatal(changed, err)
		}
	}
}

// BenchmarkParseDeepSchema is a schema nested as deeply as is allowed, all of its size
// at the bottom: the worst there is for reading level by level.
func BenchmarkParseDeepSchema(b *testing.B) {
	body := []byte(`{"updates":[{"action":"add-schema","schema":` + deepSchema(maxTypeDepth-1, strings.Repeat("d", 1<<20)) + `}]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := ParseCommit(body); err != nil {
			b.Fatal(err)
		}
	}
}

// deepSchema is a schema of that many structs inside one another, the last field with
// that doc.
func deepSchema(depth int, doc string) string {
	var b strings.Builder
	for i := range depth {
		fmt.Fprintf(&b, `{"type":"struct","fields":[{"id":%d,"name":"f","required":false,"type":`, i+1)
	}
	b.WriteString(`"int","doc":"` + doc + `"`)
	b.WriteString(strings.Repeat(`}]}`, depth))
	return b.String()
}
