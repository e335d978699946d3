package metadata

import (
	"strings"
	"testing"

	"piedmont/mounts"
)

func fieldText(id, name, typ string) string {
	return `{"id":` + id + `,"name":"` + name + `","required":false,"type":` + typ + `}`
}

func addSchemaOf(fields ...string) string {
	return `{"action":"add-schema","schema":{"type":"struct","fields":[` + strings.Join(fields, ",") + `]}}`
}

// base is the fields of tableV2's schema, as another writer would write them.
const (
	baseID   = `{"name": "id", "id":1, "x-field": 9007199254740993, "doc":null, "type":"long", "required":true}`
	baseData = `{"id":2,"name":"data","required":false,"type":"string"}`
	baseTS   = `{"id":3,"name":"ts","required":false,"type":"timestamptz"}`

	setLastSchema = `{"action":"set-current-schema","schema-id":-1}`
	setLastSpec   = `{"action":"set-default-spec","spec-id":-1}`
	setLastOrder  = `{"action":"set-default-sort-order","sort-order-id":-1}`
)

func addSpecOf(fields ...string) string {
	return `{"action":"add-spec","spec":{"spec-id":99,"fields":[` + strings.Join(fields, ",") + `]}}`
}

func addOrderOf(fields ...string) string {
	return `{"action":"add-sort-order","sort-order":{"order-id":99,"fields":[` + strings.Join(fields, ",") + `]}}`
}

func sortBy(source, transform string) string {
	return `{"transform":"` + transform + `","source-id":` + source + `,"direction":"asc","null-order":"nulls-last"}`
}

func partitionBy(source, transform, name string) string {
	return `{"source-id":` + source + `,"transform":"` + transform + `","name":"` + name + `"}`
}

func TestAddedSchemasGetTheNextId(t *testing.T) {
	next := apply(t, mustParse(t, tableV2),
		`{"action":"add-schema","last-column-id":1,"schema":{"x-new":1,"type":"struct","schema-id":44,"fields":[`+baseID+`,`+baseTS+`,`+fieldText("7", "new", `"int"`)+`]}}`, setLastSchema)
	wantMember(t, next, "1", "current-schema-id")
	wantMember(t, next, "7", "last-column-id")
	old := member(t, mustParse(t, tableV2), "schemas")
	if got := member(t, next, "schemas"); !strings.HasPrefix(got, old[:len(old)-1]+`,{"x-new":1,"type":"struct","schema-id":1,`) || strings.Count(got, "9007199254740993") != 2 {
		t.Error(got)
	}
}

func TestLastColumnIdNeverFalls(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), addSchemaOf(fieldText("1", "id", `"long"`), baseTS))
	wantMember(t, next, "3", "last-column-id")
}

func TestAnIdenticalSchemaReusesItsId(t *testing.T) {
	d := mustParse(t, with(t, tableV2, "schemas", strings.Replace(member(t, mustParse(t, tableV2), "schemas"), `"x-schema":true,`, "", 1)))
	same := addSchemaOf(baseID, baseData, baseTS)
	noChange(t, d, same)
	noChange(t, d, same, setLastSchema)
	d = apply(t, d, addSchemaOf(baseID, baseTS), setLastSchema)
	next := apply(t, d, same, setLastSchema)
	wantMember(t, next, "0", "current-schema-id")
	wantMember(t, next, member(t, d, "schemas"), "schemas")
}

func TestUnknownMembersDecideWhetherASchemaIsReused(t *testing.T) {
	d := mustParse(t, tableV2) // its schema has x-schema, and x-field in the first field
	plain := strings.Replace(baseID, `"x-field": 9007199254740993, `, "", 1)
	noChange(t, d, addSchemaOf(plain, baseData, baseTS), setLastSchema)
	for _, fields := range [][]string{{baseID, baseData, baseTS}, {strings.Replace(plain, "{", `{"x-new":1,`, 1), baseData, baseTS}} {
		next := apply(t, d, addSchemaOf(fields...), setLastSchema)
		wantMember(t, next, "1", "current-schema-id")
	}
}

func TestSameSchemaLooksThroughSpelling(t *testing.T) {
	a := `{"type":"struct","schema-id":3,"identifier-field-ids":[2,1],"fields":[{"id":1,"name":"a","required":true,"type":"decimal(9, 2)","doc":null}]}`
	b := ` { "fields" : [ {"name":"\u0061","type":"decimal(9,2)","id":1,"required":true} ],"identifier-field-ids":[1,2],"type":"struct"}`
	if schemaIdentity([]byte(a)) != schemaIdentity([]byte(b)) {
		t.Errorf("%s\n%s", schemaIdentity([]byte(a)).full, schemaIdentity([]byte(b)).full)
	}
	c := strings.Replace(b, `"id":1`, `"id":2`, 1)
	if schemaIdentity([]byte(a)) == schemaIdentity([]byte(c)) {
		t.Error("different schemas look the same")
	}
}

func TestMinusOneNeedsSomethingAdded(t *testing.T) {
	d := mustParse(t, tableV2)
	refused(t, d, mounts.BadRequest, "Cannot set last added schema: no schema has been added", setLastSchema)
	refused(t, d, mounts.BadRequest, "Cannot set last added spec: no spec has been added", setLastSpec)
	refused(t, d, mounts.BadRequest, "Cannot set last added sort order: no sort order has been added", setLastOrder)
}

func TestUnknownIdsAreRefused(t *testing.T) {
	d := mustParse(t, tableV2)
	refused(t, d, mounts.BadRequest, "Cannot set current schema to unknown schema: 9", `{"action":"set-current-schema","schema-id":9}`)
	refused(t, d, mounts.BadRequest, "Cannot set default partition spec to unknown spec: 9", `{"action":"set-default-spec","spec-id":9}`)
	refused(t, d, mounts.BadRequest, "Cannot set default sort order to unknown order: 9", `{"action":"set-default-sort-order","sort-order-id":9}`)
	noChange(t, d, `{"action":"set-current-schema","schema-id":0}`, `{"action":"set-default-spec","spec-id":0}`, `{"action":"set-default-sort-order","sort-order-id":0}`)
}

func TestCurrentSchemaAndDefaultSpecStay(t *testing.T) {
	d := mustParse(t, tableV2)
	refused(t, d, mounts.BadRequest, "Cannot remove the current schema", `{"action":"remove-schemas","schema-ids":[0]}`)
	refused(t, d, mounts.BadRequest, "Cannot remove the default partition spec", `{"action":"remove-partition-specs","spec-ids":[0]}`)
	noChange(t, d, `{"action":"remove-schemas","schema-ids":[7]}`, `{"action":"remove-partition-specs","spec-ids":[]}`)
	d = apply(t, d, addSchemaOf(baseID, baseTS), addSpecOf())
	next := apply(t, d, `{"action":"remove-schemas","schema-ids":[1,7]}`, `{"action":"remove-partition-specs","spec-ids":[1]}`)
	wantMember(t, next, member(t, mustParse(t, tableV2), "schemas"), "schemas")
	wantMember(t, next, member(t, mustParse(t, tableV2), "partition-specs"), "partition-specs")
}

func TestSchemaErrorsNameTheField(t *testing.T) {
	ok := fieldText("1", "id", `"long"`)
	for detail, fields := range map[string][]string{
		"schema.fields[1].id: field id 1 is used twice":                  {ok, fieldText("1", "b", `"int"`)},
		"schema.fields[1].name: two fields are named 'id'":               {ok, fieldText("2", "id", `"int"`)},
		"schema.fields[1].type.fields[0].name: two fields are named 'a.": {fieldText("1", "a.b", `"int"`), fieldText("2", "a", `{"type":"struct","fields":[`+fieldText("3", "b", `"int"`)+`]}`)},
		"schema.fields[0].type.element-id: missing":                      {fieldText("1", "l", `{"type":"list","element":"int","element-required":true}`)},
		"schema.fields[0].type.element-required: expected true or false": {fieldText("1", "l", `{"type":"list","element-id":2,"element":"int"}`)},
		"schema.fields[0].type.value: missing":                           {fieldText("1", "m", `{"type":"map","key-id":2,"key":"int","value-id":3,"value-required":true}`)},
		"schema.fields[0].type.key: not a type":                          {fieldText("1", "m", `{"type":"map","key-id":2,"key":7,"value-id":3,"value":"int","value-required":true}`)},
		"schema.fields[0].type: not a type":                              {fieldText("1", "m", `{"type":"tree"}`)},
		"schema.fields[0].type.fields: expected an array":                {fieldText("1", "s", `{"type":"struct"}`)},
		"schema.fields[0].id: expected an integer of 32 bits":            {fieldText("4294967296", "s", `"int"`)},
		"schema.fields[0].required: expected true or false":              {`{"id":1,"name":"a","type":"int"}`},
		"schema.fields[0].name: expected a string":                       {`{"id":1,"name":null,"required":true,"type":"int"}`},
		"schema.fields[0].doc: expected a string":                        {`{"id":1,"name":"a","required":true,"type":"int","doc":7}`},
		"schema.fields[0].id: missing":                                   {`{"name":"a","required":true,"type":"int"}`},
	} {
		_, err := ParseCommit([]byte(`{"updates":[` + addSchemaOf(fields...) + `]}`))
		checkError(t, err, mounts.BadRequest, "updates[0]."+detail)
	}
	for detail, schema := range map[string]string{
		"schema: expected":                                                `7`,
		"schema.type: a schema":                                           `{"type":"list","element-id":1,"element":"int","element-required":true}`,
		"schema.identifier-field-ids: expected an array":                  `{"type":"struct","fields":[],"identifier-field-ids":1}`,
		"schema.identifier-field-ids[0]: expected an integer of 32 bits":  `{"type":"struct","fields":[],"identifier-field-ids":["1"]}`,
		"types nested more than 100 deep":                                 deepSchema(maxTypeDepth+1, ""),
		"schema.fields[0].type.fields[0].type.fields[0].type: not a type": `{"type":"struct","fields":[` + fieldText("1", "a", `{"type":"struct","fields":[`+fieldText("2", "b", `{"type":"struct","fields":[`+fieldText("3", "c", "[]")+`]}`)+`]}`) + `]}`,
	} {
		_, err := ParseCommit([]byte(`{"updates":[{"action":"add-schema","schema":` + schema + `}]}`))
		if schema == "7" {
			detail = "schema.type: a schema must be a struct"
		}
		checkError(t, err, mounts.BadRequest, detail)
	}
	if _, err := ParseCommit([]byte(`{"updates":[{"action":"add-schema","schema":` + deepSchema(maxTypeDepth, "") + `}]}`)); err != nil {
		t.Error(err)
	}
}

func TestTypesThatDoNotExistAreRefused(t *testing.T) {
	for _, typ := range []string{
		"integer", "INT", "decimal", "decimal(9)", "decimal(39,2)", "decimal(9,-2)", "decimal(9,2", "fixed", "fixed[]", "fixed[x]",
		"int(3)", "string[3]", "geometry(", "", "list",
	} {
		refused(t, mustParse(t, tableV3), mounts.BadRequest, "Cannot parse type string to primitive: "+typ+" (field n)", addSchemaOf(fieldText("9", "n", `"`+typ+`"`)))
	}
	for _, typ := range []string{"decimal(38,10)", "decimal( 9 , 2 )", "fixed[16]", "uuid", "binary", "time", "geography(OGC:CRS84)"} {
		apply(t, mustParse(t, tableV3), addSchemaOf(fieldText("9", "n", `"`+typ+`"`)))
	}
	refused(t, mustParse(t, tableV3), mounts.BadRequest, "Invalid default value for s: must be null",
		addSchemaOf(`{"id":9,"name":"s","required":false,"initial-default":{},"type":{"type":"struct","fields":[]}}`))
}

func TestIdentifierFieldsMustIdentify(t *testing.T) {
	schema := func(id string) string {
		return `{"action":"add-schema","schema":{"type":"struct","identifier-field-ids":[` + id + `],"fields":[
		{"id":1,"name":"ok","required":true,"type":"long"}, {"id":2,"name":"optional","required":false,"type":"long"},
		{"id":3,"name":"float","required":true,"type":"float"},
		{"id":4,"name":"s","required":true,"type":{"type":"struct","fields":[{"id":5,"name":"in","required":true,"type":"int"}]}},
		{"id":6,"name":"o","required":false,"type":{"type":"struct","fields":[{"id":7,"name":"in","required":true,"type":"int"}]}},
		{"id":8,"name":"l","required":true,"type":{"type":"list","element-id":9,"element":"int","element-required":true}}]}}`
	}
	d := mustParse(t, tableV2)
	apply(t, d, schema("1"))
	apply(t, d, schema("1,5"))
	for id, detail := range map[string]string{
		"99": "Id 99 as an identifier field: field does not exist", "2": "optional as an identifier field: not a required field",
		"3": "float as an identifier field: must not be float or double field", "4": "s as an identifier field: not a primitive type field",
		"7": "o.in as an identifier field: must not be nested in an optional field o", "9": "l.element as an identifier field: must not be nested in l",
	} {
		refused(t, d, mounts.BadRequest, "Cannot add field "+detail, schema(id))
	}
}

func TestAddedSpecsGetIds(t *testing.T) {
	d := mustParse(t, tableV2)
	next := apply(t, d, addSpecOf(`{"source-id":3,"transform":"day","name":"other_name"}`, `{"source-id":1,"transform":"bucket[4]","name":"b","x-pf":1}`), setLastSpec)
	wantMember(t, next, "1", "default-spec-id")
	wantMember(t, next, "1001", "last-partition-id")
	old := member(t, d, "partition-specs")
	wantMember(t, next, old[:len(old)-1]+`,{"spec-id":1,"fields":[{"source-id":3,"transform":"day","name":"other_name","field-id":1000},{"source-id":1,"transform":"bucket[4]","name":"b","x-pf":1,"field-id":1001}]}]`, "partition-specs")
	next = apply(t, d, addSpecOf(`{"source-id":1,"field-id":1005,"transform":"bucket[4]","name":"b"}`, `{"source-id":2,"transform":"truncate[3]","name":"c"}`))
	wantMember(t, next, "1006", "last-partition-id")
}

func TestAnIdenticalSpecReusesItsId(t *testing.T) {
	d := mustParse(t, tableV2)
	noChange(t, d, addSpecOf(partitionBy("3", "day", "ts_day")), setLastSpec)
	same := addSpecOf(`{"x":1,"source-ids":null,"source-id":3,"field-id":7777,"transform":"day","name":"ts_day"}`)
	noChange(t, d, same, setLastSpec)
	d = apply(t, d, addSpecOf(), setLastSpec)
	next := apply(t, d, same, setLastSpec)
	wantMember(t, next, "0", "default-spec-id")
	wantMember(t, next, "1000", "last-partition-id")
}

func TestSpecRules(t *testing.T) {
	nested := apply(t, mustParse(t, tableV2), addSchemaOf(baseID, baseTS, fieldText("10", "l", `{"type":"list","element-id":11,"element":"int","element-required":true}`),
		fieldText("12", "s", `{"type":"struct","fields":[`+fieldText("13", "in", `"int"`)+`]}`), fieldText("14", "u", `"uuid"`)), setLastSchema)
	for detail, field := range map[string]string{
		"Cannot find source column for partition field: 0: x: day(99)":                  partitionBy("99", "day", "x"),
		"Cannot partition by non-primitive source field: struct":                        partitionBy("12", "identity", "x"),
		"Invalid source type long for transform: day":                                   partitionBy("1", "day", "x"),
		"Invalid source type uuid for transform: truncate[4]":                           partitionBy("14", "truncate[4]", "x"),
		"Invalid partition field parent: list":                                          partitionBy("11", "identity", "x"),
		"Invalid transform: dayly":                                                      partitionBy("3", "dayly", "x"),
		"Invalid transform: bucket[0]":                                                  partitionBy("1", "bucket[0]", "x"),
		"Invalid transform: bucket[-1]":                                                 partitionBy("1", "bucket[-1]", "x"),
		"Cannot use empty partition name":                                               partitionBy("1", "identity", ""),
		"Cannot add redundant partition: y conflicts with x":                            partitionBy("1", "bucket[16]", "x") + "," + partitionBy("1", "BUCKET[16]", "y"),
		"Cannot find source column for partition field: 0: x: void(-1)":                 partitionBy("-1", "void", "x"),
		"Cannot use partition name more than once: x":                                   partitionBy("1", "identity", "x") + "," + partitionBy("3", "day", "x"),
		"Cannot use partition field id more than once: 1005":                            `{"source-id":1,"field-id":1005,"transform":"identity","name":"a"},{"source-id":1,"field-id":1005,"transform":"bucket[2]","name":"b"}`,
		"Cannot create identity partition sourced from different field in schema: ts":   partitionBy("1", "identity", "ts"),
		"Cannot create identity partition sourced from different field in schema: s.in": partitionBy("1", "bucket[2]", "s.in"),
	} {
		refused(t, nested, mounts.BadRequest, detail, addSpecOf(field))
	}
	apply(t, nested, addSpecOf(partitionBy("1", "void", "v1"), partitionBy("1", "void", "v2"), partitionBy("1", "bucket[2]", "b2"), partitionBy("1", "bucket[3]", "b3")))
	apply(t, nested, addSpecOf(partitionBy("13", "identity", "s.in"), partitionBy("99", "void", "gone"), partitionBy("1", "BUCKET[3]", "id"), partitionBy("14", "bucket[7]", "u7")))
}

func TestAddedOrdersGetIds(t *testing.T) {
	d := mustParse(t, tableV2)
	order := addOrderOf(sortBy("1", "identity"))
	next := apply(t, d, order, setLastOrder)
	wantMember(t, next, "1", "default-sort-order-id")
	wantMember(t, next, `[{"order-id":0,"fields":[]},{"order-id":1,"fields":[`+sortBy("1", "identity")+`]}]`, "sort-orders")
	noChange(t, next, order, setLastOrder)
	back := apply(t, next, addOrderOf(), setLastOrder)
	wantMember(t, back, "0", "default-sort-order-id")
	wantMember(t, back, member(t, next, "sort-orders"), "sort-orders")
	refused(t, d, mounts.BadRequest, "Cannot find source column for sort field: identity(99)", addOrderOf(sortBy("99", "identity")))
	refused(t, d, mounts.BadRequest, "Invalid source type string for transform: hour", addOrderOf(sortBy("2", "hour")))
}

func TestDroppingAColumnInUseIsRefused(t *testing.T) {
	d := mustParse(t, tableV2)
	refused(t, d, mounts.BadRequest, "Cannot find source column for partition field: 1000: ts_day: day(3)", addSchemaOf(baseID, baseData), setLastSchema)
	d = apply(t, d, addOrderOf(sortBy("2", "identity")), setLastOrder)
	refused(t, d, mounts.BadRequest, "Cannot find source column for sort field: identity(2)", addSchemaOf(baseID, baseTS), setLastSchema)
	// Dropping field and column together is fine, in any order.
	apply(t, d, addSchemaOf(baseID, baseData), setLastSchema, addSpecOf(), setLastSpec)
	apply(t, d, addSpecOf(), setLastSpec, addSchemaOf(baseID, baseData), setLastSchema)
	// So is dropping what only an old spec uses.
	d = apply(t, d, addSpecOf(), setLastSpec)
	apply(t, d, addSchemaOf(baseID, baseData), setLastSchema)
}

func TestSeveralSourceColumns(t *testing.T) {
	next := apply(t, mustParse(t, tableV3), addSpecOf(`{"source-ids":[1,2],"transform":"bucket[4]","name":"b"}`))
	if got := member(t, next, "partition-specs"); !strings.Contains(got, `{"source-ids":[1,2],"transform":"bucket[4]","name":"b","field-id":1001}`) {
		t.Error(got)
	}
	refused(t, mustParse(t, tableV3), mounts.BadRequest, "Cannot find source column", addSpecOf(`{"source-ids":[1,99],"transform":"bucket[4]","name":"b"}`))
}

func TestIdsEndAt32Bits(t *testing.T) {
	last := "2147483647"
	d := mustParse(t, with(t, tableV2, "schemas", strings.Replace(member(t, mustParse(t, tableV2), "schemas"), "[", `[{"type":"struct","schema-id":`+last+`,"fields":[]},`, 1)))
	refused(t, d, mounts.BadRequest, "Cannot add a schema: no ids are left", addSchemaOf(baseID, baseTS))
	d = mustParse(t, with(t, tableV2, "last-partition-id", last))
	refused(t, d, mounts.BadRequest, "Cannot add a partition spec or field: no ids are left", addSpecOf(partitionBy("1", "bucket[2]", "b")))
	d = mustParse(t, with(t, tableV2, "partition-specs", strings.Replace(member(t, mustParse(t, tableV2), "partition-specs"), "[", `[{"spec-id":`+last+`,"fields":[]},`, 1)))
	refused(t, d, mounts.BadRequest, "no ids are left", addSpecOf(partitionBy("3", "month", "m")))
	apply(t, mustParse(t, tableV2), addSchemaOf(baseID, baseTS, fieldText(last, "n", `"int"`)))
}

func TestDefaultsThatAreNullAreLeftOut(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), addSchemaOf(baseTS, `{"initial-default":null,"id":9,"x":null,"name":"n","write-default":null,"required":false,"type":"int"}`,
		fieldText("10", "s", `{"type":"struct","fields":[{"write-default":null,"id":11,"name":"in","required":false,"type":"int","doc":null}]}`)))
	old := member(t, mustParse(t, tableV2), "schemas")
	wantMember(t, next, old[:len(old)-1]+`,{"type":"struct","fields":[`+baseTS+`,{"id":9,"x":null,"name":"n","required":false,"type":"int"},`+
		fieldText("10", "s", `{"type":"struct","fields":[{"id":11,"name":"in","required":false,"type":"int","doc":null}]}`)+`],"schema-id":1}]`, "schemas")
}
