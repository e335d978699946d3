package metadata

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"

	"piedmont/cache/rawjson"
)

// TestMetadataLogIsCarried: what is handed on from document to document is what reading the
// document would find, whoever wrote the log and however many entries fall out at once.
func TestMetadataLogIsCarried(t *testing.T) {
	for name, log := range map[string]string{
		"none":    `null`,
		"empty":   ` [ ] `,
		"ours":    `[{"timestamp-ms":1,"metadata-file":"a"},{"timestamp-ms":2,"metadata-file":"b"}]`,
		"foreign": "[\n  { \"timestamp-ms\" : 1, \"metadata-file\" : \"[a],{b}\\\"\" } ,\n  {\"timestamp-ms\":2,\"metadata-file\":\"b\",\"x\":[1, 2]}\n ]",
	} {
		t.Run(name, func(t *testing.T) {
			d := mustParse(t, with(t, tableV2, "metadata-log", log))
			want := d.MetadataLog()
			for i := range 12 {
				most := []int{100, 4, 6, 1, 3, 100}[i/2]
				file := fmt.Sprint("m", i)
				next, changed, err := d.Apply(updates(t, setProps("write.metadata.previous-versions-max", fmt.Sprint(most), "i", fmt.Sprint(i))), Options{Now: at(5000 + int64(i)), MetadataLocation: file})
				if err != nil || !changed {
					t.Fatal(changed, err)
				}
				if want = append(want, file); len(want) > most {
					want = want[len(want)-most:]
				}
				if got := next.MetadataLog(); !slices.Equal(got, want) {
					t.Fatalf("after %d commits the log has %q, want %q", i+1, got, want)
				}
				raw, _ := next.top.Get("metadata-log")
				if found, err := rawjson.Offsets(raw); err != nil || !json.Valid(raw) || !slices.Equal(found, next.foundLogs().metadata) {
					t.Fatalf("entries begin at %v, but at %v was carried: %v %s", found, next.foundLogs().metadata, err, raw)
				}
				d = next
			}
		})
	}
}

// TestDocumentsLetGoOfTheirBases: a table that is committed to for ever doesn't fill the memory.
func TestDocumentsLetGoOfTheirBases(t *testing.T) {
	d := mustParse(t, tableV2)
	first := weak.Make(d)
	for i := range 3 {
		d = apply(t, d, setProps("i", fmt.Sprint(i)), addSnap(fmt.Sprint(7_000+i), "null", fmt.Sprint(50+i), ""))
	}
	runtime.GC()
	if first.Value() != nil {
		t.Error("a document three commits later still holds the first")
	}
	runtime.KeepAlive(d)
}
