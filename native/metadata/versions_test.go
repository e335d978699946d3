package metadata

import (
	"strings"
	"testing"

	"piedmont/mounts"
)

// tableV1 is a v1 table from before there were lists, its partition fields without ids.
const tableV1 = `{"format-version":1,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","location":"s3://bucket/db/t","last-updated-ms":2000,"last-column-id":2,
"schema":{"type":"struct","x":1,"fields":[{"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"ts","required":false,"type":"timestamp"}]},
"partition-spec":[{"source-id":2,"transform":"day","name":"ts_day","x":2},{"source-id":1,"transform":"bucket[4]","name":"b"}],
"properties":{},"current-snapshot-id":5,"snapshots":[{"snapshot-id":5,"timestamp-ms":1000,"manifests":["m"]}],"snapshot-log":[],"x-top":1}`

// tableV3 is tableV2 as v3, with 100 rows numbered.
var tableV3 = strings.Replace(tableV2, `"format-version": 2,`, `"format-version": 3, "next-row-id": 100,`, 1)

func upgradeTo(version string) string {
	return `{"action":"upgrade-format-version","format-version":` + version + `}`
}

func TestV1DefaultsWhatItLacks(t *testing.T) {
	d := mustParse(t, tableV1)
	h := d.header
	if h.currentSchema != 0 || h.defaultSpec != 0 || h.lastPartition != 1001 || h.defaultOrder != 0 || h.lastSequence != 0 {
		t.Errorf("got %+v", h)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := Parse([]byte(without(t, tableV1, "table-uuid"))); err != nil {
		t.Error(err)
	}
	_, err := Parse([]byte(without(t, tableV1, "schema")))
	checkError(t, err, mounts.BadRequest, "schema: missing")
	_, err = Parse([]byte(without(t, tableV1, "partition-spec")))
	checkError(t, err, mounts.BadRequest, "partition-spec: missing")
}

func TestV1CountsPartitionIdsOfAllSpecs(t *testing.T) {
	d := mustParse(t, with(t, with(t, tableV1, "default-spec-id", "0"), "partition-specs",
		`[{"spec-id":0,"fields":[{"source-id":2,"transform":"day","name":"a"}]},{"spec-id":1,"fields":[{"source-id":2,"field-id":1007,"transform":"day","name":"a"}]}]`))
	if d.lastPartition != 1007 {
		t.Errorf("got %d", d.lastPartition)
	}
}

func TestV1KeepsItsFormOnSmallChanges(t *testing.T) {
	next := apply(t, mustParse(t, tableV1), `{"action":"set-properties","updates":{"a":"b"}}`,
		`{"action":"add-snapshot","snapshot":{"snapshot-id":6,"timestamp-ms":4000,"manifest-list":"m"}}`, setMain("6"))
	for _, absent := range []string{"schemas", "current-schema-id", "partition-specs", "default-spec-id", "sort-orders", "last-sequence-number", "next-row-id"} {
		wantMember(t, next, "", absent)
	}
	wantMember(t, next, `{"main":{"snapshot-id":6,"type":"branch"}}`, "refs")
	refused(t, mustParse(t, tableV1), mounts.BadRequest, "Sequence number must be 0 in v1", addSnap("7", "", "1", ""))
}

func TestV1LegacyMembersStayInStep(t *testing.T) {
	next := apply(t, mustParse(t, tableV1),
		`{"action":"add-schema","schema":{"type":"struct","fields":[{"id":1,"name":"id","required":true,"type":"long"},{"id":2,"name":"ts","required":false,"type":"timestamp"},{"id":3,"name":"c","required":false,"type":"int"}]}}`,
		`{"action":"set-current-schema","schema-id":-1}`,
		`{"action":"add-spec","spec":{"fields":[{"source-id":2,"transform":"day","name":"ts_day"},{"source-id":1,"transform":"void","name":"b"},{"source-id":3,"transform":"identity","name":"c"}]}}`,
		`{"action":"set-default-spec","spec-id":-1}`)
	wantMember(t, next, "1", "current-schema-id")
	wantMember(t, next, "3", "last-column-id")
	wantMember(t, next, "1002", "last-partition-id")
	wantMember(t, next, "1", "default-spec-id")
	if got := member(t, next, "schema"); !strings.Contains(got, `"schema-id":1`) || !strings.Contains(got, `"name":"c"`) {
		t.Error(got)
	}
	wantMember(t, next, `[{"source-id":2,"transform":"day","name":"ts_day","field-id":1000},{"source-id":1,"transform":"void","name":"b","field-id":1001},{"source-id":3,"transform":"identity","name":"c","field-id":1002}]`, "partition-spec")
	if got := member(t, next, "partition-specs"); !strings.HasPrefix(got, `[{"spec-id":0,"fields":[{"source-id":2,"transform":"day","name":"ts_day","x":2,"field-id":1000}`) &&
		!strings.Contains(got, `"x":2,"field-id":1000`) {
		t.Error(got)
	}
}

func TestV1SpecsNeedSequentialIds(t *testing.T) {
	refused(t, mustParse(t, tableV1), mounts.BadRequest, "Spec does not use sequential IDs that are required in v1",
		`{"action":"add-spec","spec":{"fields":[{"source-id":2,"field-id":1005,"transform":"month","name":"m"}]}}`)
}

func TestUpgradeFromV1AddsWhatV2Requires(t *testing.T) {
	next := apply(t, mustParse(t, tableV1), upgradeTo("2"))
	wantMember(t, next, "2", "format-version")
	wantMember(t, next, "0", "last-sequence-number")
	wantMember(t, next, "0", "current-schema-id")
	wantMember(t, next, "0", "default-spec-id")
	wantMember(t, next, "1001", "last-partition-id")
	wantMember(t, next, "0", "default-sort-order-id")
	wantMember(t, next, `[{"order-id":0,"fields":[]}]`, "sort-orders")
	wantMember(t, next, `{"main":{"snapshot-id":5,"type":"branch"}}`, "refs")
	wantMember(t, next, "1", "x-top")
	wantMember(t, next, "", "schema")
	wantMember(t, next, "", "partition-spec")
	if got := member(t, next, "partition-specs"); !strings.Contains(got, `"field-id":1001`) || !strings.Contains(got, `"x":2`) {
		t.Error(got)
	}
	if got := member(t, next, "schemas"); !strings.Contains(got, `"x":1`) || !strings.Contains(got, `"schema-id":0`) {
		t.Error(got)
	}
	refused(t, mustParse(t, without(t, tableV1, "table-uuid")), mounts.BadRequest, "UUID is required in format v2", upgradeTo("2"))
	apply(t, mustParse(t, without(t, tableV1, "table-uuid")), `{"action":"assign-uuid","uuid":"`+testUUID+`"}`, upgradeTo("2"))
}

func TestUpgradeToV3StartsCountingRows(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), upgradeTo("3"))
	wantMember(t, next, "3", "format-version")
	wantMember(t, next, "0", "next-row-id")
	wantMember(t, next, snap2, "current-snapshot-id")
	empty := with(t, with(t, with(t, tableV2, "refs", "{}"), "snapshots", "[]"), "current-snapshot-id", "-1")
	wantMember(t, apply(t, mustParse(t, empty), upgradeTo("3")), "null", "current-snapshot-id")
	wantMember(t, apply(t, mustParse(t, empty), setProps("a", "b")), "-1", "current-snapshot-id")
	next = apply(t, mustParse(t, tableV1), upgradeTo("3"))
	wantMember(t, next, "0", "next-row-id")
	wantMember(t, next, "0", "last-sequence-number")
}

func TestFormatVersionsNeverGoDown(t *testing.T) {
	refused(t, mustParse(t, tableV3), mounts.BadRequest, "Cannot downgrade v3 table to v2", upgradeTo("2"))
	refused(t, mustParse(t, tableV2), mounts.BadRequest, "Cannot downgrade v2 table to v1", upgradeTo("1"))
	refused(t, mustParse(t, tableV2), mounts.BadRequest, "Cannot upgrade table to unsupported format version: v4 (supported: v1, v2, v3)", upgradeTo("4"))
	noChange(t, mustParse(t, tableV2), upgradeTo("2"))
	_, _, err := mustParse(t, tableV2).Apply(updates(t, upgradeTo("3")), Options{Now: at(1), FormatVersions: []int{1, 2}})
	checkError(t, err, mounts.BadRequest, "unsupported format version: v3 (supported: v1, v2)")
}

func TestTypesOfV3AreRefusedBefore(t *testing.T) {
	for _, typ := range []string{"timestamp_ns", "timestamptz_ns", "unknown", "variant", "geometry", "geometry(srid:4326)", "geography(srid:4326, spherical)"} {
		add := `{"action":"add-schema","schema":{"type":"struct","fields":[{"id":1,"name":"id","required":true,"type":"long"},{"id":9,"name":"n","required":false,"type":"` + typ + `"}]}}`
		refused(t, mustParse(t, tableV2), mounts.BadRequest, "Invalid schema for v2: Invalid type for n: "+typ+" is not supported until v3", add)
		apply(t, mustParse(t, tableV3), add)
	}
	add := `{"action":"add-schema","schema":{"type":"struct","fields":[{"id":9,"name":"n","required":false,"type":"int","initial-default":34,"write-default":35}]}}`
	refused(t, mustParse(t, tableV2), mounts.BadRequest, "Invalid initial default for n: non-null default is not supported until v3", add)
	next := apply(t, mustParse(t, tableV3), add)
	if got := member(t, next, "schemas"); !strings.Contains(got, `"initial-default":34,"write-default":35`) {
		t.Error(got)
	}
	refused(t, mustParse(t, tableV3), mounts.BadRequest, "Cannot create required field with unknown type: n",
		`{"action":"add-schema","schema":{"type":"struct","fields":[{"id":9,"name":"n","required":true,"type":"unknown"}]}}`)
}

func TestAnUpgradeInTheSameCommitAllowsTheNewTypes(t *testing.T) {
	apply(t, mustParse(t, tableV2), upgradeTo("3"),
		`{"action":"add-schema","schema":{"type":"struct","fields":[{"id":9,"name":"n","required":false,"type":"variant"}]}}`)
}

func TestDefaultsMustBeValuesOfTheirType(t *testing.T) {
	for typ, values := range map[string]struct{ good, bad []string }{
		"boolean":       {[]string{"true", "false"}, []string{`"true"`, "1"}},
		"int":           {[]string{"0", "-2147483648"}, []string{"2147483648", "1.0", `"1"`}},
		"long":          {[]string{"9223372036854775807"}, []string{"9223372036854775808", "1e3"}},
		"float":         {[]string{"1.5", "-1.0", "1e3", "1E-2"}, []string{`"1.5"`, "true", "12", "-0"}},
		"double":        {[]string{"0.0"}, []string{`"NaN"`, "0"}},
		"string":        {[]string{`""`, `"x"`}, []string{"1", "{}"}},
		"decimal(9,2)":  {[]string{`"14.20"`, `"-3.00"`, `"+3.00"`}, []string{"14.20", `"14.2"`, `"14"`, `"1E+2"`, `"5."`, `"x"`, `"--1.00"`, `""`}},
		"decimal(4, 0)": {[]string{`"14"`, `"-0"`}, []string{`"14.0"`, `"1E1"`}},
		"time":          {[]string{`"22:31:08"`, `"22:31"`, `"22:31:08.123456789"`}, []string{`"24:00:00"`, `"2:31:08"`, `"x"`, `"22:31:08,5"`, `""`}},
		"timestamp":     {[]string{`"2017-11-16T22:31:08"`, `"2017-11-16T22:31"`, `"2017-11-16T22:31:08.123456"`}, []string{`"2017-11-16"`, `"2017-11-16 22:31:08"`, `"2017-11-16T22:31:08+00:00"`, `"2017-02-30T00:00:00"`, `"2017-11-16T2:31:08"`}},
		"timestamp_ns":  {[]string{`"2017-11-16T22:31:08.123456789"`}, []string{`"2017-11-16T22:31:08.1234567891"`, `"x"`}},
		"date":          {[]string{`"2017-11-16"`}, []string{`"2017-11-31"`, "17486"}},
		"timestamptz":   {[]string{`"2017-11-16T22:31:08+00:00"`, `"2017-11-16T22:31:08.5Z"`, `"2017-11-16T22:31+00:00"`}, []string{"1", `"2017-11-16T22:31:08"`, `"2017-11-16T22:31:08+01:00"`}},
		"uuid":          {[]string{`"` + testUUID + `"`}, []string{`"x"`}},
		"fixed[2]":      {[]string{`"00ff"`}, []string{`"00"`, `"zz"`}},
		"binary":        {[]string{`""`, `"00FF"`}, []string{`"0"`}},
		"unknown":       {nil, []string{`"x"`}},
		"variant":       {nil, []string{"{}"}},
	} {
		field := func(key, value string) string {
			return addSchemaOf(`{"id":9,"name":"n","required":false,"type":"` + typ + `","` + key + `":` + value + `}`)
		}
		for _, key := range []string{"initial-default", "write-default"} {
			apply(t, mustParse(t, tableV3), field(key, "null"))
			for _, value := range values.good {
				apply(t, mustParse(t, tableV3), field(key, value))
			}
			for _, value := range values.bad {
				refused(t, mustParse(t, tableV3), mounts.BadRequest, "Invalid default value for n: not a value of "+typ, field(key, value))
			}
		}
	}
}
