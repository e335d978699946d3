package metadata

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"piedmont/mounts"
)

func TestAReplacedViewHasANewVersion(t *testing.T) {
	d := change(t, mustParseView(t, viewV1), replaceBy(versionOf(3, 0, query("select 3", "spark")))...)
	if d.CurrentVersionID() != 3 || versionIDs(t, d) != "1 2 3" || logIDs(t, d) != "1 2 3" {
		t.Error(d.CurrentVersionID(), versionIDs(t, d), logIDs(t, d))
	}
	if !strings.HasSuffix(viewMember(t, d, "versions"), ","+versionOf(3, 0, query("select 3", "spark"))+"]") {
		t.Error(viewMember(t, d, "versions"))
	}
	if !strings.HasSuffix(viewMember(t, d, "version-log"), `,{"timestamp-ms":3000,"version-id":3}]`) {
		t.Error(viewMember(t, d, "version-log"))
	}
}

func TestAStaleReplaceSucceedsAsTheNextVersion(t *testing.T) {
	// Both clients have seen versions 1 and 2, and call theirs 3.
	base := mustParseView(t, viewV1)
	first, second := versionOf(3, 0, query("select 3", "spark")), versionOf(3, 0, query("select 4", "spark"))
	for name, set := range map[string]string{"by -1": setVersion(-1), "by the client's id": setVersion(3)} {
		d := change(t, change(t, base, addVersion(first), set), addVersion(second), set)
		if d.CurrentVersionID() != 4 || versionIDs(t, d) != "1 2 3 4" || logIDs(t, d) != "1 2 3 4" {
			t.Error(name, d.CurrentVersionID(), versionIDs(t, d), logIDs(t, d))
		}
	}
}

func TestTheClientsVersionIDCountsForNothing(t *testing.T) {
	for _, id := range []int{-5, 0, 1, 2, 77, math.MaxInt32} {
		d := change(t, mustParseView(t, viewV1), addVersion(versionOf(id, 0, query("select 3", "spark"))), setVersion(-1))
		if d.CurrentVersionID() != 3 || versionIDs(t, d) != "1 2 3" {
			t.Error(id, versionIDs(t, d))
		}
	}
}

func TestAReplaceSentAgainChangesNothing(t *testing.T) {
	sent := append([]string{addSchemaOf(fieldText("4", "q", `"date"`))}, replaceBy(versionOf(3, -1, query("select 3", "spark")))...)
	d := change(t, mustParseView(t, viewV1), sent...)
	sameView(t, d, sent...)
}

func TestEqualVersionsShareTheirID(t *testing.T) {
	d := mustParseView(t, viewV1)
	first := `{"version-id":9,"timestamp-ms":7777,"schema-id":0,"summary":{"engine-name":"spark"},"default-namespace":["db"],`
	sql, plan, storage := query("select 1", "spark"), `{"type":"substrait","plan":[1,null]}`, `,"storage-table":{"name":"s"}`
	for name, c := range map[string]struct {
		want    int
		version string
	}{
		"by all it has":                {1, first + `"representations":[` + strings.Replace(sql, "}", `,"x-sql":1}`, 1) + `,` + plan + `]` + storage + `}`},
		"without what nobody knows":    {1, first + `"representations":[` + sql + `,` + plan + `]}`},
		"spelled differently":          {1, first + `"default-catalog":null, "representations" : [ {"dialect":"spark","type":"sql","sql":"select\u00201"},` + plan + `]}`},
		"another storage table":        {3, first + `"representations":[` + sql + `,` + plan + `],"storage-table":{"name":"t"}}`},
		"another plan":                 {3, first + `"representations":[` + sql + `,{"type":"substrait","plan":[1]}]}`},
		"another dialect":              {3, first + `"representations":[` + query("select 1", "Spark") + `,` + plan + `]}`},
		"another query":                {3, first + `"representations":[` + query("select  1", "spark") + `,` + plan + `]}`},
		"another order":                {3, first + `"representations":[` + plan + `,` + sql + `]}`},
		"fewer representations":        {3, first + `"representations":[` + sql + `]}`},
		"another schema":               {3, strings.Replace(first, `"schema-id":0`, `"schema-id":1`, 1) + `"representations":[` + sql + `,` + plan + `]}`},
		"another catalog":              {3, first + `"default-catalog":"c","representations":[` + sql + `,` + plan + `]}`},
		"another namespace":            {3, strings.Replace(first, `["db"]`, `["db","x"]`, 1) + `"representations":[` + sql + `,` + plan + `]}`},
		"another summary":              {3, strings.Replace(first, `{"engine-name":"spark"}`, `{"engine-name":"spark","schema-id":"1"}`, 1) + `"representations":[` + sql + `,` + plan + `]}`},
		"no summary, as the other has": {2, `{"version-id":9,"timestamp-ms":1,"schema-id":1,"default-catalog":"c","summary":{},"default-namespace":["db"],"representations":[` + query("select 2", "Spark") + `]}`},
	} {
		next, _, err := d.Apply(viewUpdates(t, addVersion(c.version), setVersion(-1)), ViewOptions{Now: at(5000)})
		if err != nil {
			t.Fatal(name, err)
		}
		if next.CurrentVersionID() != c.want {
			t.Errorf("%s: version %d, want %d", name, next.CurrentVersionID(), c.want)
		}
		checkView(t, next)
	}
}

func TestSummariesThatLookLikeSchemasAreComparedAsTheyAre(t *testing.T) {
	// Members of these names mean something in a schema, and spaces in a type don't.
	for _, pair := range [][2]string{{`"type":"a b"`, `"type":"ab"`}, {`"schema-id":"1"`, `"schema-id":"2"`}, {`"identifier-field-ids":"[]"`, `"x":"1"`}} {
		d := mustParseView(t, viewV1)
		for _, summary := range pair {
			d = change(t, d, replaceBy(strings.Replace(versionOf(3, 0, query("a", "spark")), `"engine-name":"e"`, summary, 1))...)
		}
		if versionIDs(t, d) != "1 2 3 4" {
			t.Errorf("%s and %s count as the same", pair[0], pair[1])
		}
	}
}

func TestRepresentationsOfOtherTypesAreComparedAsTheyAre(t *testing.T) {
	d := mustParseView(t, viewV1)
	for _, member := range []string{`"identifier-field-ids":[1,2]`, `"identifier-field-ids":[2,1]`, `"a":null`, `"a":{"type":"x y"}`, `"a":{"type":"xy"}`} {
		d = change(t, d, replaceBy(versionOf(3, 0, query("a", "spark"), `{"type":"plan",`+member+`}`))...)
	}
	if versionIDs(t, d) != "1 2 3 4 5 6 7" {
		t.Error(versionIDs(t, d))
	}
}

func TestAReusedSchemaDoesntUndoAChange(t *testing.T) {
	d := change(t, mustParseView(t, viewV1), setProps("a", "b"), addSchemaOf(`{"id":7,"name":"id","required":true,"type":"long"}`))
	if v, _ := d.Property("a"); v != "b" || ids(t, d, "schemas", "schema-id") != "0 1" {
		t.Error(v, ids(t, d, "schemas", "schema-id"))
	}
}

func TestTheLastAddedSchemaIsMinusOne(t *testing.T) {
	d := mustParseView(t, viewV1)
	version := versionOf(3, -1, query("select 3", "spark"))
	added := change(t, d, addSchemaOf(fieldText("4", "q", `"date"`)), addVersion(version), setVersion(-1))
	if ids(t, added, "schemas", "schema-id") != "0 1 2" || ids(t, added, "versions", "schema-id") != "0 1 2" {
		t.Error(viewMember(t, added, "versions"))
	}
	// A schema that is there already counts as added too: the client may not know of it.
	reused := change(t, d, addSchemaOf(`{"id":7,"name":"id","required":true,"type":"long"}`), addVersion(version), setVersion(-1))
	if ids(t, reused, "schemas", "schema-id") != "0 1" || ids(t, reused, "versions", "schema-id") != "0 1 0" {
		t.Error(viewMember(t, reused, "versions"))
	}
	refusedView(t, d, mounts.BadRequest, "Cannot set last added schema: no schema has been added", addVersion(version))
	refusedView(t, d, mounts.BadRequest, "Cannot add version with unknown schema: 23", addVersion(versionOf(3, 23, query("a", "b"))))
}

func TestTheLastAddedVersionIsMinusOne(t *testing.T) {
	d := mustParseView(t, viewV1)
	refusedView(t, d, mounts.BadRequest, "Cannot set last version id: no current version id has been set", setVersion(-1))
	refusedView(t, d, mounts.BadRequest, "Cannot set current version to unknown version: 23", setVersion(23))
	two := change(t, d, addVersion(versionOf(3, 0, query("a", "spark"))), addVersion(versionOf(3, 0, query("b", "spark"))), setVersion(-1))
	if two.CurrentVersionID() != 4 || logIDs(t, two) != "1 2 4" {
		t.Error(two.CurrentVersionID(), logIDs(t, two))
	}
}

func TestAVersionIsAddedWithoutBecomingCurrent(t *testing.T) {
	d := change(t, mustParseView(t, viewV1), addVersion(versionOf(3, 0, query("a", "trino"))))
	if d.CurrentVersionID() != 2 || versionIDs(t, d) != "1 2 3" || logIDs(t, d) != "1 2" {
		t.Error(d.CurrentVersionID(), versionIDs(t, d), logIDs(t, d))
	}
}

func TestFieldIDsOfAViewStayAsTheyAre(t *testing.T) {
	d := change(t, mustParseView(t, viewV1), addSchemaOf(fieldText("900", "a", `"int"`), fieldText("3", "b", `"geometry"`)))
	if !strings.Contains(viewMember(t, d, "schemas"), `{"type":"struct","fields":[`+fieldText("900", "a", `"int"`)+`,`+fieldText("3", "b", `"geometry"`)+`],"schema-id":2}`) {
		t.Error(viewMember(t, d, "schemas"))
	}
}

func TestAViewSchemaThatCantBeIsRefused(t *testing.T) {
	d := mustParseView(t, viewV1)
	refusedView(t, d, mounts.BadRequest, "Cannot parse type string to primitive: blob (field a)", addSchemaOf(fieldText("1", "a", `"blob"`)))
	refusedView(t, d, mounts.BadRequest, "Invalid view schema: Cannot create required field with unknown type: a",
		addSchemaOf(`{"id":1,"name":"a","required":true,"type":"unknown"}`))
	refusedView(t, d, mounts.BadRequest, "Cannot add field Id 9 as an identifier field: field does not exist",
		`{"action":"add-schema","schema":{"type":"struct","fields":[],"identifier-field-ids":[9]}}`)
}

func TestIDsOfViewsRunOut(t *testing.T) {
	last := fmt.Sprint(math.MaxInt32)
	versions := with(t, viewV1, "versions", `[`+versionOf(2, 0, query("a", "spark"))+`,`+versionOf(math.MaxInt32, 0, query("b", "spark"))+`]`)
	refusedView(t, mustParseView(t, versions), mounts.BadRequest, "Cannot add a view version: no ids are left", addVersion(versionOf(1, 0, query("c", "spark"))))
	schemas := with(t, viewV1, "schemas", `[{"type":"struct","schema-id":`+last+`,"fields":[]}]`)
	refusedView(t, mustParseView(t, schemas), mounts.BadRequest, "Cannot add a schema: no ids are left", addSchemaOf(fieldText("1", "a", `"int"`)))
}

func TestOneQueryForEachDialect(t *testing.T) {
	d := mustParseView(t, viewV1)
	for _, other := range []string{"trino", "TRINO", " Trino "} {
		refusedView(t, d, mounts.InvalidArgument, "Invalid view version: Cannot add multiple queries for dialect trino",
			addVersion(versionOf(3, 0, query("a", "trino"), query("b", other))))
	}
	change(t, d, addVersion(versionOf(3, 0, query("a", "trino"), `{"type":"x","dialect":"trino"}`, `{"type":"x","dialect":"trino"}`)))
}

func TestNoDialectIsDroppedUnlessThatIsAllowed(t *testing.T) {
	d := change(t, mustParseView(t, viewV1), replaceBy(versionOf(3, 0, query("a", "SPARK"), query("a", "trino")))...)
	lost := "Cannot replace view due to loss of view dialects (replace.drop-dialect.allowed=false):\nPrevious dialects: [spark, trino]\nNew dialects: [duckdb, trino]"
	replace := replaceBy(versionOf(4, 0, query("b", "trino"), query("b", "duckdb")))
	refusedView(t, d, mounts.BadRequest, lost, replace...)
	refusedView(t, d, mounts.BadRequest, lost, append(replace, setProps("replace.drop-dialect.allowed", "yes"))...)
	refusedView(t, d, mounts.BadRequest, "loss of view dialects", setVersion(2))
	// What counts is the property as the commit leaves it, and what the base's version has.
	change(t, d, append(replace, setProps("replace.drop-dialect.allowed", "TRUE"))...)
	change(t, d, append(replace, replaceBy(versionOf(5, 0, query("c", "trino"), query("c", "spark")))...)...)
	allowed := change(t, d, setProps("replace.drop-dialect.allowed", "true"))
	refusedView(t, allowed, mounts.BadRequest, lost, append(replace, setProps("replace.drop-dialect.allowed", "false"))...)
}

func TestASummaryIsWrittenWhereTheClientHasNone(t *testing.T) {
	for _, summary := range []string{`"summary":null,`, ``} {
		version := strings.Replace(versionOf(3, 0, query("a", "spark")), `"summary":{"engine-name":"e"},`, summary, 1)
		d := change(t, mustParseView(t, viewV1), replaceBy(version)...)
		if text := viewMember(t, d, "versions"); !strings.Contains(text, `"summary":{}`) {
			t.Error(text)
		}
		sameView(t, d, replaceBy(version)...)
	}
}
