package metadata

import (
	"strings"
	"testing"

	"piedmont/mounts"
)

func TestAViewCommitThatCantBeReadNamesThePath(t *testing.T) {
	version := func(old, new string) string {
		text := strings.Replace(versionOf(1, 0, query("a", "b")), old, new, 1)
		return `{"updates":[` + addVersion(text) + `]}`
	}
	for body, detail := range map[string]string{
		``:                                "Invalid commit: unexpected end",
		`[]`:                              "expected an object",
		`{}`:                              "updates: missing",
		`{"updates":null}`:                "updates: missing",
		`{"updates":[null]}`:              "updates[0]: expected an object",
		`{"updates":[{}]}`:                "updates[0].action: missing",
		`{"updates":[{"action":"nope"}]}`: "updates[0].action: unknown update action",
		`{"updates":[{"action":"set-current-schema","schema-id":1}]}`:                  "updates[0].action: unknown update action",
		`{"updates":[{"action":"add-schema"}]}`:                                        "updates[0].schema: missing",
		`{"updates":[{"action":"add-schema","schema":null}]}`:                          "updates[0].schema: missing",
		`{"updates":[{"action":"add-schema","schema":7}]}`:                             "updates[0].schema.type: a schema must be a struct",
		`{"updates":[{"action":"add-view-version"}]}`:                                  "updates[0].view-version: missing",
		`{"updates":[{"action":"add-view-version","view-version":null}]}`:              "updates[0].view-version: missing",
		`{"updates":[{"action":"add-view-version","view-version":[]}]}`:                "updates[0].view-version: expected an object",
		`{"updates":[{"action":"add-view-version","view-version":{}}]}`:                "updates[0].view-version.version-id: missing",
		`{"updates":[{"action":"set-current-view-version"}]}`:                          "updates[0].view-version-id: missing",
		`{"updates":[{"action":"assign-uuid"}]}`:                                       "updates[0].uuid: missing",
		`{"updates":[{"action":"upgrade-format-version"}]}`:                            "updates[0].format-version: missing",
		`{"updates":[{"action":"set-location"}]}`:                                      "updates[0].location: missing",
		`{"updates":[{"action":"set-properties"}]}`:                                    "updates[0].updates: missing",
		`{"updates":[{"action":"remove-properties"}]}`:                                 "updates[0].removals: missing",
		`{"updates":[{"action":"set-location","location":"a","location":"b"}]}`:        "duplicate key",
		`{"requirements":[{"type":"nope"}],"updates":[]}`:                              "requirements[0].type: unknown requirement type",
		`{"requirements":[{"type":"assert-table-uuid","uuid":"x"}],"updates":[]}`:      "requirements[0].type: unknown requirement type",
		`{"requirements":[{"type":"assert-view-uuid"}],"updates":[]}`:                  "requirements[0].uuid: missing",
		`{"requirements":[null],"updates":[]}`:                                         "requirements[0]: expected an object",
		version(`"version-id":1,`, ``):                                                 "updates[0].view-version.version-id: missing",
		version(`"schema-id":0`, `"schema-id":null`):                                   "updates[0].view-version.schema-id: missing",
		version(`"schema-id":0`, `"schema-id":2147483648`):                             "updates[0].view-version.schema-id: expected an integer of 32 bits",
		version(`"timestamp-ms":3000,`, ``):                                            "updates[0].view-version.timestamp-ms: missing",
		version(`{"engine-name":"e"}`, `[]`):                                           "updates[0].view-version.summary: expected an object",
		version(`["db"]`, `null`):                                                      "updates[0].view-version.default-namespace: missing",
		version(`["db"]`, `["db",null]`):                                               "updates[0].view-version.default-namespace[1]: expected a string",
		version(`"representations":[`, `"x":[`):                                        "updates[0].view-version.representations: missing",
		version(query("a", "b"), ``):                                                   "updates[0].view-version.representations: must not be empty",
		version(query("a", "b"), `null`):                                               "updates[0].view-version.representations[0]: expected an object",
		version(query("a", "b"), `{"sql":"a"}`):                                        "updates[0].view-version.representations[0].type: missing",
		version(query("a", "b"), `{"type":"sql","dialect":"b"}`):                       "updates[0].view-version.representations[0].sql: missing",
		version(query("a", "b"), `{"type":"SQL","sql":"a"}`):                           "updates[0].view-version.representations[0].dialect: missing",
		version(query("a", "b"), strings.Repeat("[", 500)+strings.Repeat("]", 500)):    "nested too deeply",
		`{"updates":[` + strings.Replace(setVersion(1), `:1}`, `:"1"}`, 1) + `]}`:      "updates[0].view-version-id: expected an integer of 32 bits",
		`{"updates":[` + setProps("a", "b") + `,{"action":"add-snapshot"}]}`:           "updates[1].action: unknown update action",
		`{"updates":[{"action":"add-schema","schema":{"type":"struct","fields":{}}}]}`: "updates[0].schema.fields: expected an array",
	} {
		_, err := ParseViewCommit([]byte(body))
		checkError(t, err, mounts.BadRequest, detail)
	}
}

func TestTheIdentifierOfAViewCommitIsIgnored(t *testing.T) {
	c, err := ParseViewCommit([]byte(`{"identifier":7,"requirements":null,"updates":[` + setProps("a", "b") + `,` + setVersion(1) + `]}`))
	if err != nil || len(c.Requirements) != 0 || len(c.Updates) != 2 {
		t.Fatal(c, err)
	}
	if a, b := c.Updates[0].Action(), c.Updates[1].Action(); a != "set-properties" || b != "set-current-view-version" {
		t.Error(a, b)
	}
}

func TestAssertViewUUID(t *testing.T) {
	d := mustParseView(t, viewV1)
	for uuid, ok := range map[string]bool{testUUID: true, strings.ToUpper(testUUID): true, otherUUID: false} {
		c, err := ParseViewCommit([]byte(`{"requirements":[{"type":"assert-view-uuid","uuid":"` + uuid + `"}],"updates":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		err = d.CheckRequirements(c.Requirements)
		if ok && err != nil {
			t.Error(err)
		}
		if !ok {
			checkError(t, err, mounts.CommitFailed, "Requirement failed: view UUID does not match: expected "+testUUID+" != "+uuid)
		}
	}
}

func TestAViewCommitOfNothingChangesNothing(t *testing.T) {
	d := mustParseView(t, viewV1)
	sameView(t, d)
	sameView(t, d, setProps("x", "1"), `{"action":"remove-properties","removals":["nope"]}`, setVersion(2),
		`{"action":"set-location","location":"s3://bucket/db/v/"}`, `{"action":"assign-uuid","uuid":"`+strings.ToUpper(testUUID)+`"}`, upgradeTo("1"))
	sameView(t, d, setVersion(1), setVersion(2))
}

func TestTheUUIDOfAViewStays(t *testing.T) {
	d := mustParseView(t, viewV1)
	refusedView(t, d, mounts.BadRequest, "Cannot reassign uuid: the view has one", `{"action":"assign-uuid","uuid":"`+otherUUID+`"}`)
	// A damaged document can be given one.
	none := mustParseView(t, with(t, viewV1, "view-uuid", `""`))
	refusedView(t, none, mounts.BadRequest, "Invalid uuid", `{"action":"assign-uuid","uuid":"x"}`)
	wantView(t, change(t, none, `{"action":"assign-uuid","uuid":"`+otherUUID+`"}`), "view-uuid", `"`+otherUUID+`"`)
}

func TestTheFormatVersionOfAViewIsOne(t *testing.T) {
	d := mustParseView(t, viewV1)
	refusedView(t, d, mounts.BadRequest, "Cannot downgrade v1 view to v0", upgradeTo("0"))
	refusedView(t, d, mounts.BadRequest, "Unsupported format version: 23", upgradeTo("23"))
}

func TestSetLocationOfAView(t *testing.T) {
	d := change(t, mustParseView(t, viewV1), `{"action":"set-location","location":"s3://other/v//"}`)
	wantView(t, d, "location", `"s3://other/v"`)
	refusedView(t, d, mounts.BadRequest, "Invalid location: empty", `{"action":"set-location","location":""}`)
}

func TestPropertiesOfAView(t *testing.T) {
	d := change(t, mustParseView(t, viewV1), setProps("a", "b", "format-version", "7", "x", "2"), `{"action":"remove-properties","removals":["comment","nope"]}`)
	wantView(t, d, "properties", `{"x":"2","a":"b","format-version":"7"}`)
	// What no update names stays as it came, byte for byte.
	for _, key := range []string{"x-top", "schemas", "versions", "version-log"} {
		wantView(t, d, key, viewMember(t, mustParseView(t, viewV1), key))
	}
	legacy := change(t, d, `{"action":"set-properties","updated":{"k":"v"}}`, `{"action":"remove-properties","removed":["a"]}`)
	wantView(t, legacy, "properties", `{"x":"2","format-version":"7","k":"v"}`)
}
