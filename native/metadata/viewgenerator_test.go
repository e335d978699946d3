package metadata_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"piedmont/native/metadata"
)

// viewGenerator makes updates for a view, most of which make sense. It reads the
// document with encoding/json alone, so that it shares no code with what it tests.
type viewGenerator struct {
	rng   *rand.Rand
	now   int64
	keep  bool          // nothing may be made to go
	plain bool          // what iceberg-go takes otherwise doesn't occur
	fresh int           // counts what must be new then
	token func() string // if set, gives an unknown member for each object that is added
}

func newViewGenerator(seed uint64) *viewGenerator {
	return &viewGenerator{rng: rand.New(rand.NewPCG(seed, 2)), now: 2_000_000}
}

// viewDoc is what the generator must know of a view.
type viewDoc struct {
	Current  int `json:"current-version-id"`
	Versions []struct {
		ID       int   `json:"version-id"`
		SchemaID int   `json:"schema-id"`
		Time     int64 `json:"timestamp-ms"`
	} `json:"versions"`
	Log []struct {
		ID   int   `json:"version-id"`
		Time int64 `json:"timestamp-ms"`
	} `json:"version-log"`
	Schemas []struct {
		ID int `json:"schema-id"`
	} `json:"schemas"`
}

func readView(t testing.TB, text []byte) (d viewDoc) {
	t.Helper()
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d
}

func (g *viewGenerator) x() string {
	if g.token == nil {
		return ""
	}
	return `,"x-member":"` + g.token() + `"`
}

// commit is a few updates for the view.
func (g *viewGenerator) commit(t testing.TB, text []byte) []string {
	t.Helper()
	d := readView(t, text)
	g.now += int64(g.rng.IntN(2000))
	makers := []func(*viewDoc) []string{g.replace, g.replace, g.schema, g.properties, g.location}
	if !g.keep {
		makers = append(makers, g.rollback, g.limits)
	}
	var all []string
	for range 1 + g.rng.IntN(3) {
		all = append(all, makers[g.rng.IntN(len(makers))](&d)...)
	}
	return all
}

func (g *viewGenerator) schema(*viewDoc) []string { return g.schemaOf(g.rng.IntN(4)) }

func (g *viewGenerator) schemaOf(fieldID int) []string {
	return []string{fmt.Sprintf(`{"action":"add-schema","schema":{"type":"struct","schema-id":%d,"fields":[{"id":%d,"name":"c","required":false,"type":"int"%s}]%s}}`,
		g.rng.IntN(3), fieldID, g.x(), g.x())}
}

func (g *viewGenerator) version(schemaID int) string {
	var all []string
	for _, dialect := range []string{"spark", "trino", "duckdb"} {
		if g.keep || g.rng.IntN(5) > 0 {
			all = append(all, fmt.Sprintf(`{"type":"sql","sql":"select %d","dialect":%q%s}`, g.rng.IntN(3), dialect, g.x()))
		}
	}
	if g.token != nil {
		all = append(all, `{"type":"plan"`+g.x()+`}`)
	}
	if len(all) == 0 {
		all = append(all, `{"type":"sql","sql":"select 9","dialect":"spark"}`)
	}
	id, n := 1+g.rng.IntN(4), g.rng.IntN(2)
	if g.plain {
		g.fresh++
		id, n = 0, g.fresh
	}
	return fmt.Sprintf(`{"version-id":%d,"schema-id":%d,"timestamp-ms":%d,"summary":{"n":"%d"},"default-namespace":["db"],"representations":[%s]%s}`,
		id, schemaID, g.now, n, strings.Join(all, ","), g.x())
}

func (g *viewGenerator) replace(d *viewDoc) []string {
	schemaID := d.Schemas[g.rng.IntN(len(d.Schemas))].ID
	var all []string
	if g.rng.IntN(2) == 0 {
		all, schemaID = g.schema(d), -1
		if g.plain {
			g.fresh++
			all = g.schemaOf(100 + g.fresh)
		}
	}
	all = append(all, `{"action":"add-view-version","view-version":`+g.version(schemaID)+`}`)
	if g.rng.IntN(4) > 0 {
		all = append(all, `{"action":"set-current-view-version","view-version-id":-1}`)
	}
	return all
}

func (g *viewGenerator) rollback(d *viewDoc) []string {
	id := 42
	if g.rng.IntN(12) > 0 {
		id = d.Versions[g.rng.IntN(len(d.Versions))].ID
	}
	return []string{fmt.Sprintf(`{"action":"set-current-view-version","view-version-id":%d}`, id)}
}

// limits sets what decides about expiry and dialects.
func (g *viewGenerator) limits(*viewDoc) []string {
	return []string{fmt.Sprintf(`{"action":"set-properties","updates":{"version.history.num-entries":"%d","replace.drop-dialect.allowed":"%v"}}`,
		g.rng.IntN(6), g.rng.IntN(3) > 0)}
}

func (g *viewGenerator) properties(*viewDoc) []string {
	set := fmt.Sprintf(`{"action":"set-properties","updates":{"p%d":"v%d"}}`, g.rng.IntN(3), g.rng.IntN(3))
	return []string{set, fmt.Sprintf(`{"action":"remove-properties","removals":["p%d"]}`, g.rng.IntN(3))}
}

func (g *viewGenerator) location(*viewDoc) []string {
	return []string{fmt.Sprintf(`{"action":"set-location","location":"s3://b/v%d"}`, g.rng.IntN(2))}
}

// startingView is a new view with an unknown member in each object that a create has.
func startingView(t testing.TB, x func() string, properties string) *metadata.ViewDocument {
	t.Helper()
	req, err := metadata.ParseCreateView([]byte(`{"name":"v","schema":{"type":"struct","fields":[{"id":1,"name":"a","required":false,"type":"int"` + x() + `}]` + x() + `},
		"view-version":{"version-id":1,"schema-id":0,"timestamp-ms":1000000,"summary":{},"default-namespace":[],
		"representations":[{"type":"sql","sql":"select 1","dialect":"spark"` + x() + `}]` + x() + `},"properties":{` + properties + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	d, err := metadata.NewView(req, metadata.ViewOptions{Now: time.UnixMilli(1_000_000), UUID: "9c12d441-03fe-4693-9a96-a0705ddf69c1", Location: "s3://b/v"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func parseViewUpdates(t testing.TB, list []string) []metadata.ViewUpdate {
	t.Helper()
	c, err := metadata.ParseViewCommit([]byte(`{"updates":[` + strings.Join(list, ",") + `]}`))
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(list, "\n"))
	}
	return c.Updates
}
