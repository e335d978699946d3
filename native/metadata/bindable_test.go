package metadata

import (
	"strings"
	"testing"

	"piedmont/mounts"
)

// TestEverySpecMustBindToTheSchema, also one that isn't the default any more: else Java
// can't read the table.
func TestEverySpecMustBindToTheSchema(t *testing.T) {
	tsDay := fieldText("9", "ts_day", `"int"`)
	tsIsLong := strings.Replace(baseTS, `"timestamptz"`, `"long"`, 1)
	partitioned := mustParse(t, tableV2)
	old := apply(t, partitioned, addSpecOf(), setLastSpec)
	for _, d := range []*Document{partitioned, old} {
		refused(t, d, mounts.BadRequest, "Cannot create identity partition sourced from different field in schema: ts_day", addSchemaOf(baseID, baseTS, tsDay), setLastSchema)
		refused(t, d, mounts.BadRequest, "Invalid source type long for transform: day", addSchemaOf(baseID, tsIsLong), setLastSchema)
		apply(t, d, addSchemaOf(baseID, baseTS, fieldText("9", "TS_day", `"int"`)), setLastSchema)
		// Schemas that aren't current may say anything.
		apply(t, d, addSchemaOf(baseID, tsIsLong, tsDay))
	}
	// A column that is gone binds to nothing, and neither does a spec that is gone.
	apply(t, old, addSchemaOf(baseID, tsDay), setLastSchema)
	apply(t, old, addSchemaOf(baseID, tsIsLong, tsDay), setLastSchema, `{"action":"remove-partition-specs","spec-ids":[0]}`)
	// Any column can be taken as it is, as far as reading goes.
	byData := apply(t, partitioned, addSpecOf(partitionBy("2", "identity", "data")), setLastSpec, addSpecOf(), setLastSpec, `{"action":"remove-partition-specs","spec-ids":[0]}`)
	apply(t, byData, addSchemaOf(baseID, fieldText("2", "data", `{"type":"struct","fields":[]}`)), setLastSchema)
}

// TestWhatDoesNotBindCanBeMended: such tables exist where other catalogs made them.
func TestWhatDoesNotBindCanBeMended(t *testing.T) {
	schemas := member(t, mustParse(t, tableV2), "schemas")
	d := mustParse(t, with(t, tableV2, "schemas", strings.Replace(schemas, `"name":"data"`, `"name":"ts_day"`, 1)))
	broken := fieldText("2", "ts_day", `"string"`)
	d = apply(t, d, addSchemaOf(baseID, baseTS, broken, fieldText("9", "more", `"int"`)), setLastSchema)
	d = apply(t, d, addSchemaOf(baseID, baseTS, baseData), setLastSchema)
	refused(t, d, mounts.BadRequest, "sourced from different field in schema: ts_day", addSchemaOf(baseID, baseTS, broken), setLastSchema)
}

// TestRowNumbersBeforeV3: nothing uses them, but Java reads them.
func TestRowNumbersBeforeV3(t *testing.T) {
	for _, d := range []*Document{mustParse(t, tableV1), mustParse(t, tableV2)} {
		sequence := "0"
		if d.FormatVersion() > 1 {
			sequence = "3"
		}
		for rows, detail := range map[string]string{
			`,"first-row-id":1`:                   "Invalid added-rows (required when first-row-id is set): null",
			`,"first-row-id":-1,"added-rows":1`:   "Invalid first-row-id (cannot be negative): -1",
			`,"added-rows":-1`:                    "Invalid added-rows (cannot be negative): -1",
			`,"first-row-id":null,"added-rows":1`: "", `,"first-row-id":1,"added-rows":1`: "",
		} {
			if update := addSnap(snap3, snap2, sequence, rows); detail != "" {
				refused(t, d, mounts.BadRequest, detail, update)
			} else {
				apply(t, d, update)
			}
		}
	}
}

// TestPartitionFieldsWithoutIdsGetNoneTwice, also where an equal field's of an earlier spec
// is taken by another.
func TestPartitionFieldsWithoutIdsGetNoneTwice(t *testing.T) {
	d := mustParse(t, tableV2) // 1000 is ts_day
	next := apply(t, d, addSpecOf(`{"source-id":3,"transform":"day","name":"ts_day"},{"source-id":2,"field-id":1000,"transform":"identity","name":"data"}`))
	if got := member(t, next, "partition-specs"); !strings.Contains(got, `"name":"ts_day","field-id":1001}`) {
		t.Error(got)
	}
	next = apply(t, d, addSpecOf(partitionBy("1", "void", "a"), partitionBy("1", "void", "b")), addSpecOf(partitionBy("1", "void", "c"), partitionBy("1", "void", "d")))
	if got := member(t, next, "partition-specs"); strings.Count(got, `"field-id":1002`) != 2 || strings.Count(got, `"field-id":1003`) != 1 {
		t.Error(got)
	}
}

// TestWhatIcebergGoCantReadIsRefused, of what Java reads.
func TestWhatIcebergGoCantReadIsRefused(t *testing.T) {
	d := mustParse(t, tableV2)
	refused(t, d, mounts.BadRequest, "A field has no name", addSchemaOf(baseID, baseTS, fieldText("9", "", `"int"`)))
	refused(t, d, mounts.BadRequest, "A field has no name: s.", addSchemaOf(baseID, baseTS, fieldText("9", "s", `{"type":"struct","fields":[`+fieldText("10", "", `"int"`)+`]}`)))
	apply(t, d, addSchemaOf(baseID, baseTS, fieldText("9", "l", `{"type":"list","element-id":10,"element":"int","element-required":true}`)))
	_, err := ParseCommit([]byte(`{"updates":[` + strings.Replace(addSnap(snap3, snap2, "3", ""), `"append"`, `""`, 1) + `]}`))
	checkError(t, err, mounts.BadRequest, "updates[0].snapshot.summary.operation: must not be empty")
	apply(t, d, strings.Replace(addSnap(snap3, snap2, "3", ""), `{"operation":"append"}`, `{}`, 1))
	_, err = ParseCommit([]byte(`{"updates":[{"action":"set-statistics","statistics":` + statisticsText("1", "p", `{"type":"t","snapshot-id":1,"sequence-number":1,"fields":[2147483648]}`) + `}]}`))
	checkError(t, err, mounts.BadRequest, "field ids have 32 bits") // nor Java
}
