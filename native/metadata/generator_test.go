package metadata_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// generator makes updates for a document, most of which make sense. It reads the
// document with encoding/json alone, so that it shares no code with what it tests.
type generator struct {
	rng      *rand.Rand
	snapshot int64 // the last snapshot id given out
	now      int64
	// keep says that nothing may be made to go: what a document holds must survive.
	keep bool
	// number says that added partition fields get their ids from the generator.
	number bool
	// token, if set, gives an unknown member for each object that is added.
	token func() string
}

func newGenerator(seed uint64) *generator {
	return &generator{rng: rand.New(rand.NewPCG(seed, 1)), snapshot: 1 << 60, now: 2_000_000}
}

// doc is what the generator must know of a document.
type doc struct {
	Version int   `json:"format-version"`
	Last    int64 `json:"last-sequence-number"`
	NextRow int64 `json:"next-row-id"`
	Column  int   `json:"last-column-id"`
	Current int   `json:"current-schema-id"`
	Spec    int   `json:"default-spec-id"`
	Schemas []struct {
		ID     int               `json:"schema-id"`
		Fields []json.RawMessage `json:"fields"`
	} `json:"schemas"`
	Partition int `json:"last-partition-id"`
	Specs     []struct {
		ID     int `json:"spec-id"`
		Fields []struct {
			Source    int    `json:"source-id"`
			Transform string `json:"transform"`
			ID        int    `json:"field-id"`
		} `json:"fields"`
	} `json:"partition-specs"`
	Orders []struct {
		ID int `json:"order-id"`
	} `json:"sort-orders"`
	Snapshots []snapshotID `json:"snapshots"`
	Refs      map[string]struct {
		ID int64 `json:"snapshot-id"`
	} `json:"refs"`
}

type snapshotID struct {
	ID int64 `json:"snapshot-id"`
}

type column struct {
	ID   int
	Name string
	Type string
}

func (d *doc) columns() (all []column) {
	for _, s := range d.Schemas {
		if s.ID != d.Current {
			continue
		}
		for _, raw := range s.Fields {
			var c column
			if json.Unmarshal(raw, &c) == nil {
				all = append(all, c)
			}
		}
	}
	return all
}

// commit is a few updates for the document.
func (g *generator) commit(t testing.TB, text []byte) []string {
	t.Helper()
	var d doc
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	makers := []func(*doc) []string{g.append, g.append, g.schema, g.spec, g.order, g.properties, g.refs, g.statistics, g.location, g.upgrade}
	if !g.keep {
		makers = append(makers, g.removals, g.expire)
	}
	var all []string
	for range 1 + g.rng.IntN(4) {
		all = append(all, makers[g.rng.IntN(len(makers))](&d)...)
	}
	return all
}

// x is a member nobody knows, with a comma before it.
func (g *generator) x() string {
	if g.token == nil {
		return ""
	}
	return `,"x-member":"` + g.token() + `"`
}

func (g *generator) append(d *doc) []string {
	g.snapshot++
	d.Last++
	g.now += 1000
	more := g.x()
	if main, ok := d.Refs["main"]; ok {
		more += fmt.Sprintf(`,"parent-snapshot-id":%d`, main.ID)
	}
	if d.Version >= 3 {
		more += fmt.Sprintf(`,"first-row-id":%d,"added-rows":7`, d.NextRow)
		d.NextRow += 7
	}
	if d.Version >= 2 {
		more += fmt.Sprintf(`,"sequence-number":%d`, d.Last)
	}
	all := []string{fmt.Sprintf(`{"action":"add-snapshot","snapshot":{"snapshot-id":%d,"timestamp-ms":%d,"manifest-list":"s3://b/%d","summary":{"operation":"append"},"schema-id":%d%s}}`,
		g.snapshot, g.now, g.snapshot, d.Current, more)}
	d.Snapshots = append(d.Snapshots, snapshotID{g.snapshot})
	if g.rng.IntN(4) > 0 {
		all = append(all, fmt.Sprintf(`{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":%d}`, g.snapshot))
	}
	return all
}

func (g *generator) schema(d *doc) []string {
	var fields []string
	for _, s := range d.Schemas {
		if s.ID != d.Current {
			continue
		}
		for _, raw := range s.Fields {
			if g.rng.IntN(8) > 0 {
				fields = append(fields, string(raw))
			}
		}
	}
	if g.rng.IntN(3) > 0 {
		types := []string{`"int"`, `"long"`, `"string"`, `"timestamptz"`, `"date"`, `"decimal(9,2)"`}
		d.Column++
		fields = append(fields, fmt.Sprintf(`{"id":%d,"name":"c%d","required":false,"type":%s%s}`, d.Column, d.Column, types[g.rng.IntN(len(types))], g.x()))
	}
	all := []string{`{"action":"add-schema","schema":{"type":"struct","schema-id":0,"fields":[` + strings.Join(fields, ",") + `]` + g.x() + `}}`}
	if g.rng.IntN(2) == 0 {
		all = append(all, `{"action":"set-current-schema","schema-id":-1}`)
	}
	return all
}

func (g *generator) transform(typ string) string {
	switch typ {
	case "timestamptz", "date":
		return []string{"day", "month", "year", "identity"}[g.rng.IntN(4)]
	case "string":
		return []string{"truncate[4]", "bucket[8]", "identity"}[g.rng.IntN(3)]
	}
	return []string{"bucket[4]", "identity"}[g.rng.IntN(2)]
}

func (g *generator) spec(d *doc) []string {
	var fields []string
	for i, c := range d.columns() {
		if g.rng.IntN(3) == 0 {
			transform, more := g.transform(c.Type), g.x()
			if g.number {
				more += fmt.Sprintf(`,"field-id":%d`, d.fieldID(c.ID, transform, len(fields)))
			}
			fields = append(fields, fmt.Sprintf(`{"source-id":%d,"transform":%q,"name":"p_%s_%d"%s}`, c.ID, transform, c.Name, i, more))
		}
	}
	all := []string{`{"action":"add-spec","spec":{"spec-id":0,"fields":[` + strings.Join(fields, ",") + `]}}`}
	if g.rng.IntN(2) == 0 {
		all = append(all, `{"action":"set-default-spec","spec-id":-1}`)
	}
	return all
}

// fieldID is the id that the spec asks for: that of an equal field, else a new one.
func (d *doc) fieldID(source int, transform string, i int) int {
	if d.Version == 1 {
		return 1000 + i
	}
	for _, s := range d.Specs {
		for _, f := range s.Fields {
			if f.Source == source && f.Transform == transform {
				return f.ID
			}
		}
	}
	d.Partition++
	return d.Partition
}

func (g *generator) order(d *doc) []string {
	var fields []string
	for _, c := range d.columns() {
		if g.rng.IntN(3) == 0 {
			fields = append(fields, fmt.Sprintf(`{"source-id":%d,"transform":%q,"direction":"asc","null-order":"nulls-last"%s}`, c.ID, g.transform(c.Type), g.x()))
		}
	}
	all := []string{fmt.Sprintf(`{"action":"add-sort-order","sort-order":{"order-id":%d,"fields":[%s]}}`, min(1, len(fields)), strings.Join(fields, ","))}
	if g.rng.IntN(2) == 0 {
		all = append(all, `{"action":"set-default-sort-order","sort-order-id":-1}`)
	}
	return all
}

func (g *generator) properties(*doc) []string {
	set := fmt.Sprintf(`{"action":"set-properties","updates":{"p%d":"v%d"}}`, g.rng.IntN(4), g.rng.IntN(4))
	if g.rng.IntN(3) == 0 {
		return []string{set, fmt.Sprintf(`{"action":"remove-properties","removals":["p%d"]}`, g.rng.IntN(4))}
	}
	return []string{set}
}

// someSnapshot is one of the document's, now and then one that isn't there.
func (g *generator) someSnapshot(d *doc) int64 {
	if len(d.Snapshots) == 0 || g.rng.IntN(12) == 0 {
		return 42
	}
	return d.Snapshots[g.rng.IntN(len(d.Snapshots))].ID
}

func (g *generator) refs(d *doc) []string {
	name := []string{"main", "dev", "audit"}[g.rng.IntN(3)]
	more := []string{"", `,"min-snapshots-to-keep":2`, `,"max-snapshot-age-ms":5`, `,"max-ref-age-ms":6`}[g.rng.IntN(4)]
	return []string{fmt.Sprintf(`{"action":"set-snapshot-ref","ref-name":%q,"type":"branch","snapshot-id":%d%s}`, name, g.someSnapshot(d), more)}
}

func (g *generator) statistics(d *doc) []string {
	id := g.someSnapshot(d)
	if g.keep {
		g.snapshot++ // of a snapshot that has none yet: nothing is replaced
		id = g.snapshot
	}
	if g.rng.IntN(2) == 0 {
		return []string{fmt.Sprintf(`{"action":"set-partition-statistics","partition-statistics":{"snapshot-id":%d,"statistics-path":"p","file-size-in-bytes":1%s}}`, id, g.x())}
	}
	return []string{fmt.Sprintf(`{"action":"set-statistics","statistics":{"snapshot-id":%d,"statistics-path":"s","file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[{"type":"t","snapshot-id":%d,"sequence-number":1,"fields":[1],"properties":{"ndv":"3"}%s}]%s}}`, id, id, g.x(), g.x())}
}

func (g *generator) location(*doc) []string {
	return []string{fmt.Sprintf(`{"action":"set-location","location":"s3://b/l%d"}`, g.rng.IntN(3))}
}

func (g *generator) upgrade(d *doc) []string {
	if g.rng.IntN(6) > 0 {
		return nil
	}
	d.Version = min(d.Version+1, 3)
	return []string{fmt.Sprintf(`{"action":"upgrade-format-version","format-version":%d}`, d.Version)}
}

func (g *generator) removals(d *doc) []string {
	switch g.rng.IntN(6) {
	case 0:
		return []string{`{"action":"remove-snapshot-ref","ref-name":"dev"}`}
	case 1:
		return []string{fmt.Sprintf(`{"action":"remove-statistics","snapshot-id":%d}`, g.someSnapshot(d))}
	case 2:
		return []string{fmt.Sprintf(`{"action":"remove-partition-statistics","snapshot-id":%d}`, g.someSnapshot(d))}
	case 3:
		return []string{fmt.Sprintf(`{"action":"remove-schemas","schema-ids":[%d]}`, d.Schemas[g.rng.IntN(len(d.Schemas))].ID)}
	case 4:
		return []string{`{"action":"remove-snapshot-ref","ref-name":"main"}`}
	}
	return []string{fmt.Sprintf(`{"action":"remove-partition-specs","spec-ids":[%d]}`, d.Specs[g.rng.IntN(len(d.Specs))].ID)}
}

func (g *generator) expire(d *doc) []string {
	id := g.someSnapshot(d)
	if id == 42 {
		return nil
	}
	d.Snapshots = slices.DeleteFunc(d.Snapshots, func(s snapshotID) bool { return s.ID == id })
	return []string{fmt.Sprintf(`{"action":"remove-snapshots","snapshot-ids":[%d]}`, id)}
}
