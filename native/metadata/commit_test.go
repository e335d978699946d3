package metadata

import (
	"strings"
	"testing"

	"piedmont/mounts"
)

func TestRequirementsMayBeMissing(t *testing.T) {
	for _, body := range []string{`{"updates":[]}`, `{"requirements":null,"updates":[]}`, `{"requirements":[],"updates":[],"identifier":{"namespace":["a"],"name":"t"}}`} {
		c, err := ParseCommit([]byte(body))
		if err != nil || len(c.Requirements) != 0 || c.IsCreate() {
			t.Errorf("%s: %+v, %v", body, c, err)
		}
	}
}

func TestCreateRequirementsStandAlone(t *testing.T) {
	c, err := ParseCommit([]byte(`{"requirements":[{"type":"assert-create"}],"updates":[]}`))
	if err != nil || !c.IsCreate() {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = ParseCommit([]byte(`{"requirements":[{"type":"assert-create"},{"type":"assert-current-schema-id","current-schema-id":0}],"updates":[]}`))
	checkError(t, err, mounts.BadRequest, "Invalid create requirements")
}

func TestEveryActionIsKnown(t *testing.T) {
	schema := `{"type":"struct","fields":[{"id":1,"name":"a","required":true,"type":"int"}]}`
	for action, members := range map[string]string{
		"assign-uuid": `"uuid":"` + testUUID + `"`, "upgrade-format-version": `"format-version":2`, "add-schema": `"schema":` + schema,
		"set-current-schema": `"schema-id":-1`, "add-spec": `"spec":{"fields":[]}`, "set-default-spec": `"spec-id":-1`,
		"add-sort-order": `"sort-order":{"order-id":0,"fields":[]}`, "set-default-sort-order": `"sort-order-id":-1`,
		"add-snapshot":     `"snapshot":{"snapshot-id":1,"timestamp-ms":1,"manifest-list":"m"}`,
		"set-snapshot-ref": `"ref-name":"main","type":"branch","snapshot-id":1`, "remove-snapshots": `"snapshot-ids":[1]`,
		"remove-snapshot-ref": `"ref-name":"main"`, "set-location": `"location":"x"`, "set-properties": `"updates":{"a":"b"}`,
		"remove-properties": `"removals":["a"]`,
		"set-statistics":    `"statistics":{"snapshot-id":1,"statistics-path":"p","file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[]}`,
		"remove-statistics": `"snapshot-id":1`, "set-partition-statistics": `"partition-statistics":{"snapshot-id":1,"statistics-path":"p","file-size-in-bytes":1}`,
		"remove-partition-statistics": `"snapshot-id":1`, "remove-partition-specs": `"spec-ids":[1]`, "remove-schemas": `"schema-ids":[1]`,
		"add-encryption-key": `"encryption-key":{"key-id":"k","encrypted-key-metadata":"bQ=="}`, "remove-encryption-key": `"key-id":"k"`,
	} {
		u := updates(t, `{"action":"`+action+`",`+members+`}`)
		if len(u) != 1 || u[0].Action() != action {
			t.Errorf("%s became %+v", action, u)
		}
		_, err := ParseCommit([]byte(`{"updates":[{"action":"set-location","location":"x"},{"action":"` + action + `"}]}`))
		checkError(t, err, mounts.BadRequest, "Invalid commit: updates[1].")
		checkError(t, err, mounts.BadRequest, "missing")
	}
}

func TestCommitErrorsNameThePath(t *testing.T) {
	snapshot := func(members string) string {
		return `{"updates":[{"action":"add-snapshot","snapshot":{` + members + `}}]}`
	}
	ref := func(members string) string {
		return `{"updates":[{"action":"set-snapshot-ref","ref-name":"b","snapshot-id":1,` + members + `}]}`
	}
	for body, detail := range map[string]string{
		``:                                "unexpected end",
		`[]`:                              "expected an object",
		`{"updates":[]} {}`:               "more text after the value",
		`{}`:                              "updates: missing",
		`{"updates":{}}`:                  "updates: expected an array",
		`{"updates":[null]}`:              "updates[0]: expected an object",
		`{"updates":[{}]}`:                "updates[0].action: missing",
		`{"updates":[{"action":7}]}`:      "updates[0].action: expected a string",
		`{"updates":[{"action":"nope"}]}`: "updates[0].action: unknown update action",
		`{"updates":[{"action":"enable-row-lineage"}]}`:                                                                                                     "unknown update action",
		`{"updates":[{"action":"add-view-version"}]}`:                                                                                                       "unknown update action",
		`{"requirements":[{"type":"nope"}],"updates":[]}`:                                                                                                   "requirements[0].type: unknown requirement type",
		`{"requirements":[{"type":"assert-view-uuid","uuid":"x"}],"updates":[]}`:                                                                            "unknown requirement type",
		`{"requirements":[{"type":"assert-table-uuid"}],"updates":[]}`:                                                                                      "requirements[0].uuid: missing",
		`{"requirements":[{"type":"assert-ref-snapshot-id","ref":1}],"updates":[]}`:                                                                         "requirements[0].ref: expected a string",
		`{"updates":[{"action":"set-location","location":"a","location":"b"}]}`:                                                                             "duplicate key",
		`{"updates":[{"action":"set-properties","updates":{"a":null}}]}`:                                                                                    "updates[0].updates: every value must be a string",
		`{"updates":[{"action":"set-properties","updates":["a"]}]}`:                                                                                         "updates[0].updates: expected an object",
		`{"updates":[{"action":"remove-properties","removals":[1]}]}`:                                                                                       "updates[0].removals[0]: expected a string",
		`{"updates":[{"action":"remove-snapshots","snapshot-ids":["1"]}]}`:                                                                                  "updates[0].snapshot-ids[0]: expected an integer of 64 bits",
		`{"updates":[{"action":"set-current-schema","schema-id":2147483648}]}`:                                                                              "updates[0].schema-id: expected an integer of 32 bits",
		`{"updates":[{"action":"add-spec","spec":{"fields":[null]}}]}`:                                                                                      "updates[0].spec.fields[0]: expected an object",
		`{"updates":[{"action":"add-spec","spec":{"fields":[{"name":"a","transform":"day"}]}}]}`:                                                            "updates[0].spec.fields[0].source-id: missing",
		`{"updates":[{"action":"add-sort-order","sort-order":{"fields":[{"transform":"day","source-id":1,"direction":"up","null-order":"nulls-first"}]}}]}`: "updates[0].sort-order.fields[0].direction: expected asc or desc",
		`{"updates":[{"action":"add-sort-order","sort-order":{"fields":[{"transform":"day","source-id":1,"direction":"asc","null-order":"x"}]}}]}`:          "null-order: expected nulls-first or nulls-last",
		`{"updates":[{"action":"add-spec","spec":{"fields":[{"name":"a","transform":"day","source-id":1,"source-ids":[2]}]}}]}`:                             "source-id: not among source-ids",
		snapshot(`"timestamp-ms":1,"manifest-list":"m"`):                                                                                                    "updates[0].snapshot.snapshot-id: missing",
		snapshot(`"snapshot-id":1.5,"timestamp-ms":1,"manifest-list":"m"`):                                                                                  "updates[0].snapshot.snapshot-id: expected an integer of 64 bits",
		snapshot(`"snapshot-id":1,"manifest-list":"m"`):                                                                                                     "updates[0].snapshot.timestamp-ms: missing",
		snapshot(`"snapshot-id":1,"timestamp-ms":1`):                                                                                                        "updates[0].snapshot.manifest-list: missing",
		snapshot(`"snapshot-id":1,"timestamp-ms":1,"manifest-list":"m","summary":[]`):                                                                       "updates[0].snapshot.summary: expected an object",
		snapshot(`"snapshot-id":1,"timestamp-ms":1,"manifest-list":"m","summary":{"a":1}`):                                                                  "updates[0].snapshot.summary: every value must be a string",
		snapshot(`"snapshot-id":1,"timestamp-ms":1,"manifest-list":"m","schema-id":"0"`):                                                                    "updates[0].snapshot.schema-id: expected an integer of 32 bits",
		snapshot(`"snapshot-id":1,"timestamp-ms":1,"manifest-list":"m","first-row-id":"0"`):                                                                 "updates[0].snapshot.first-row-id: expected an integer of 64 bits",
		`{"updates":[{"action":"add-encryption-key","encryption-key":{"key-id":"k","encrypted-key-metadata":"*"}}]}`:                                        "updates[0].encryption-key.encrypted-key-metadata: expected base64",
		ref(`"type":"bench"`):                                     "updates[0].type: expected branch or tag",
		ref(`"type":"branch","min-snapshots-to-keep":0`):          "updates[0].min-snapshots-to-keep: must be greater than 0",
		ref(`"type":"branch","min-snapshots-to-keep":2147483648`): "updates[0].min-snapshots-to-keep: expected an integer of 32 bits",
		ref(`"type":"branch","max-snapshot-age-ms":-1`):           "updates[0].max-snapshot-age-ms: must be greater than 0",
		ref(`"type":"tag","max-ref-age-ms":0`):                    "updates[0].max-ref-age-ms: must be greater than 0",
		ref(`"type":"tag","min-snapshots-to-keep":1`):             "updates[0].min-snapshots-to-keep: not supported by tags",
		ref(`"type":"tag","max-snapshot-age-ms":1`):               "updates[0].max-snapshot-age-ms: not supported by tags",
		`{"updates":[{"action":"set-statistics","statistics":{"snapshot-id":1,"statistics-path":"p","file-size-in-bytes":1,"file-footer-size-in-bytes":1,"blob-metadata":[{"type":"x"}]}}]}`: "updates[0].statistics.blob-metadata[0].snapshot-id: missing",
		`{"updates":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`:                                                                                                            "nested too deeply",
	} {
		_, err := ParseCommit([]byte(body))
		checkError(t, err, mounts.BadRequest, detail)
	}
}

func TestACommitCanBeTriedTwice(t *testing.T) {
	u := updates(t, addSnap(snap3, snap2, "3", ""), setMain(snap3),
		`{"action":"add-spec","spec":{"fields":[{"name":"b","transform":"bucket[4]","source-id":1}]}}`, `{"action":"set-default-spec","spec-id":-1}`)
	d := mustParse(t, tableV2)
	first, _, err := d.Apply(u, Options{Now: at(5000)})
	if err != nil {
		t.Fatal(err)
	}
	other := apply(t, d, `{"action":"add-spec","spec":{"fields":[{"name":"c","transform":"bucket[8]","source-id":1}]}}`)
	rebased, _, err := other.Apply(u, Options{Now: at(6000)})
	if err != nil {
		t.Fatal(err)
	}
	wantMember(t, first, "1001", "last-partition-id")
	wantMember(t, rebased, "1002", "last-partition-id")
	wantMember(t, rebased, "2", "default-spec-id")
}
