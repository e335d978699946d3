package metadata

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"piedmont/mounts"
)

// mutations calls visit with every text that differs from text in one value: that value
// replaced by one of another kind, or by nothing.
func mutations(t *testing.T, text string, visit func(mutated string)) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	emit := func() {
		var b bytes.Buffer
		if err := json.NewEncoder(&b).Encode(root); err != nil {
			t.Fatal(err)
		}
		visit(b.String())
	}
	others := []any{nil, map[string]any{}, []any{}, []any{nil}, "x", "", json.Number("-1"), json.Number("1e3"), json.Number("9223372036854775807"), true}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, old := range v {
				walk(old)
				for _, other := range others {
					v[key] = other
					emit()
				}
				delete(v, key)
				emit()
				v[key] = old
			}
		case []any:
			for i, old := range v {
				walk(old)
				for _, other := range others {
					v[i] = other
					emit()
				}
				v[i] = old
			}
		}
	}
	walk(root)
}

func clientsFault(t *testing.T, err error, text string) {
	t.Helper()
	if err != nil && !mounts.Is(err, mounts.BadRequest) && !mounts.Is(err, mounts.CommitFailed) {
		t.Fatalf("%v\n%s", err, text)
	}
}

// everyUpdate is commits that together have every action.
func everyUpdate() [][]string {
	blob := `{"type":"t","snapshot-id":1,"sequence-number":1,"fields":[1],"properties":{"a":"b"}}`
	return [][]string{
		{addSnap(snap3, snap2, "3", `,"schema-id":0,"first-row-id":100,"added-rows":1,"key-id":"k"`), setMain(snap3), `{"action":"set-snapshot-ref","ref-name":"v1","type":"tag","snapshot-id":` + snap2 + `,"max-ref-age-ms":1}`},
		{addSchemaOf(baseID, baseTS, fieldText("9", "m", `{"type":"map","key-id":10,"key":"string","value-id":11,"value":{"type":"list","element-id":12,"element":"decimal(9,2)","element-required":true},"value-required":false}`)), setLastSchema},
		{addSpecOf(`{"source-id":1,"field-id":1001,"transform":"bucket[4]","name":"b"}`, partitionBy("3", "month", "m")), setLastSpec, addOrderOf(sortBy("1", "identity")), setLastOrder},
		{upgradeTo("3"), setProps("a", "b", "format-version", "3"), `{"action":"remove-properties","removals":["owner"]}`, `{"action":"set-location","location":"s3://x/"}`, `{"action":"assign-uuid","uuid":"` + testUUID + `"}`},
		{removeSnaps(snap1), `{"action":"remove-snapshot-ref","ref-name":"v1"}`, `{"action":"remove-schemas","schema-ids":[7]}`, `{"action":"remove-partition-specs","spec-ids":[7]}`, setMain(snap2)},
		{
			`{"action":"set-statistics","statistics":` + statisticsText(snap1, "p", blob) + `}`, `{"action":"remove-statistics","snapshot-id":` + snap2 + `}`,
			`{"action":"set-partition-statistics","partition-statistics":{"snapshot-id":1,"statistics-path":"p","file-size-in-bytes":1}}`, `{"action":"remove-partition-statistics","snapshot-id":1}`,
		},
		{`{"action":"add-encryption-key","encryption-key":{"key-id":"k","encrypted-key-metadata":"bQ==","encrypted-by-id":"x","properties":{}}}`, `{"action":"remove-encryption-key","key-id":"k"}`},
	}
}

// TestAnyBrokenCommitIsRefusedOrLeavesAValidTable breaks each value of each update.
func TestAnyBrokenCommitIsRefusedOrLeavesAValidTable(t *testing.T) {
	bases := []*Document{mustParse(t, tableV1), mustParse(t, tableV2), mustParse(t, tableV3)}
	for _, list := range append(everyUpdate(), stagedUpdates("2")) {
		mutations(t, `{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":`+snap2+`}],"updates":[`+strings.Join(list, ",")+`]}`, func(body string) {
			c, err := ParseCommit([]byte(body))
			clientsFault(t, err, body)
			if err != nil {
				return
			}
			for _, d := range bases {
				clientsFault(t, d.CheckRequirements(c.Requirements), body)
				next, changed, err := d.Apply(c.Updates, Options{Now: at(5000), MetadataLocation: "m"})
				clientsFault(t, err, body)
				if changed {
					checkSelf(t, next)
				}
			}
			next, err := Build(c.Updates, createOptions())
			clientsFault(t, err, body)
			if err == nil {
				checkSelf(t, next)
			}
		})
	}
}

// TestAnyBrokenDocumentIsRefusedOrStaysReadable breaks each value of a document and
// applies every update to it. What Validate accepts must stay valid.
func TestAnyBrokenDocumentIsRefusedOrStaysReadable(t *testing.T) {
	var commits [][]Update
	for _, list := range everyUpdate() {
		commits = append(commits, updates(t, list...))
	}
	for _, text := range []string{tableV1, tableV2, tableV3} {
		mutations(t, text, func(broken string) {
			d, err := Parse([]byte(broken))
			clientsFault(t, err, broken)
			if err != nil {
				return
			}
			err = d.Validate()
			clientsFault(t, err, broken)
			for _, u := range commits {
				next, changed, applyErr := d.Apply(u, Options{Now: at(5000), MetadataLocation: "m"})
				clientsFault(t, applyErr, broken)
				switch {
				case changed && err == nil:
					checkSelf(t, next)
				case changed:
					if _, err := Parse(next.Bytes()); err != nil {
						t.Fatalf("own text doesn't parse: %v\n%s", err, next.Bytes())
					}
				}
			}
		})
	}
}

// TestAnyBrokenCreateIsRefusedOrMakesAValidTable breaks each value of a create.
func TestAnyBrokenCreateIsRefusedOrMakesAValidTable(t *testing.T) {
	mutations(t, sparkCreate, func(body string) {
		c, err := ParseCreate([]byte(body))
		clientsFault(t, err, body)
		if err != nil {
			return
		}
		d, err := New(c, createOptions())
		clientsFault(t, err, body)
		if err == nil {
			checkSelf(t, d)
		}
	})
}
