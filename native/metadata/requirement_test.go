package metadata

import (
	"strings"
	"testing"

	"piedmont/mounts"
)

func requirements(t testing.TB, list ...string) []Requirement {
	t.Helper()
	c, err := ParseCommit([]byte(`{"requirements":[` + strings.Join(list, ",") + `],"updates":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	return c.Requirements
}

func TestRequirementsThatHold(t *testing.T) {
	d := mustParse(t, tableV2)
	err := d.CheckRequirements(requirements(t,
		`{"type":"assert-table-uuid","uuid":"`+strings.ToUpper(testUUID)+`"}`,
		`{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":`+snap2+`}`,
		`{"type":"assert-ref-snapshot-id","ref":"v1","snapshot-id":`+snap1+`}`,
		`{"type":"assert-ref-snapshot-id","ref":"new","snapshot-id":null}`,
		`{"type":"assert-ref-snapshot-id","ref":"new"}`,
		`{"type":"assert-last-assigned-field-id","last-assigned-field-id":3}`,
		`{"type":"assert-current-schema-id","current-schema-id":0}`,
		`{"type":"assert-last-assigned-partition-id","last-assigned-partition-id":1000}`,
		`{"type":"assert-default-spec-id","default-spec-id":0}`,
		`{"type":"assert-default-sort-order-id","default-sort-order-id":0}`))
	if err != nil {
		t.Error(err)
	}
	if err := d.CheckRequirements(nil); err != nil {
		t.Error(err)
	}
}

func TestRequirementsThatFailSayWhatJavaSays(t *testing.T) {
	d := mustParse(t, tableV2)
	for requirement, text := range map[string]string{
		`{"type":"assert-create"}`:                                                         "table already exists",
		`{"type":"assert-table-uuid","uuid":"` + otherUUID + `"}`:                          "UUID does not match: expected " + testUUID + " != " + otherUUID,
		`{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":null}`:                "branch main was created concurrently",
		`{"type":"assert-ref-snapshot-id","ref":"v1"}`:                                     "tag v1 was created concurrently",
		`{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":6190000000000000001}`: "branch main has changed: expected id 6190000000000000001 != 6190000000000000002",
		`{"type":"assert-ref-snapshot-id","ref":"v1","snapshot-id":5}`:                     "tag v1 has changed: expected id 5 != 6190000000000000001",
		`{"type":"assert-ref-snapshot-id","ref":"dev","snapshot-id":5}`:                    "branch or tag dev is missing, expected 5",
		`{"type":"assert-last-assigned-field-id","last-assigned-field-id":2}`:              "last assigned field id changed: expected id 2 != 3",
		`{"type":"assert-current-schema-id","current-schema-id":1}`:                        "current schema changed: expected id 1 != 0",
		`{"type":"assert-last-assigned-partition-id","last-assigned-partition-id":999}`:    "last assigned partition id changed: expected id 999 != 1000",
		`{"type":"assert-default-spec-id","default-spec-id":1}`:                            "default partition spec changed: expected id 1 != 0",
		`{"type":"assert-default-sort-order-id","default-sort-order-id":1}`:                "default sort order changed: expected id 1 != 0",
	} {
		err := d.CheckRequirements(requirements(t, requirement))
		checkError(t, err, mounts.CommitFailed, "Requirement failed: "+text)
	}
}

func TestTheFirstFailingRequirementIsNamed(t *testing.T) {
	err := mustParse(t, tableV2).CheckRequirements(requirements(t,
		`{"type":"assert-current-schema-id","current-schema-id":0}`,
		`{"type":"assert-default-spec-id","default-spec-id":1}`,
		`{"type":"assert-current-schema-id","current-schema-id":1}`))
	checkError(t, err, mounts.CommitFailed, "default partition spec changed")
}
