package metadata

import (
	"fmt"
	"strings"
	"testing"

	"piedmont/mounts"
)

func setProps(pairs ...string) string {
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		members = append(members, `"`+pairs[i]+`":"`+pairs[i+1]+`"`)
	}
	return `{"action":"set-properties","updates":{` + strings.Join(members, ",") + `}}`
}

func TestNoUpdatesNoChange(t *testing.T) {
	noChange(t, mustParse(t, tableV2))
}

func TestIdenticalPropertiesAreNoChange(t *testing.T) {
	d := mustParse(t, tableV2)
	noChange(t, d, setProps("owner", "a", "comment", "é"), `{"action":"remove-properties","removals":["none"]}`)
	wantMember(t, d, `{"owner":"a","comment":"\u00e9"}`, "properties")
}

func TestPropertiesAreSetAndRemoved(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), setProps("owner", "b", "z", "1", "a", "2"), `{"action":"remove-properties","removals":["comment","none"]}`)
	wantMember(t, next, `{"owner":"b","a":"2","z":"1"}`, "properties")
	next = apply(t, mustParse(t, without(t, tableV2, "properties")), setProps("a", "b"))
	wantMember(t, next, `{"a":"b"}`, "properties")
}

func TestLegacyPropertyMembers(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), `{"action":"set-properties","updated":{"a":"b"}}`, `{"action":"remove-properties","removed":["owner"]}`)
	wantMember(t, next, `{"comment":"\u00e9","a":"b"}`, "properties")
}

func TestReservedPropertiesAreNotStored(t *testing.T) {
	d := mustParse(t, tableV2)
	for _, name := range []string{
		"uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary", "current-snapshot-timestamp-ms", "current-schema",
		"default-partition-spec", "default-sort-order",
	} {
		noChange(t, d, setProps(name, "1"))
	}
	noChange(t, d, setProps("format-version", "2"))
	next := apply(t, d, setProps("format-version", "3", "a", "b"))
	wantMember(t, next, "3", "format-version")
	wantMember(t, next, `{"owner":"a","comment":"\u00e9","a":"b"}`, "properties")
	refused(t, d, mounts.BadRequest, "Cannot downgrade v2 table to v1", setProps("format-version", "1"))
	refused(t, d, mounts.BadRequest, "Invalid format-version", setProps("format-version", "two"))
}

func TestLocationLosesTrailingSlashes(t *testing.T) {
	d := mustParse(t, tableV2)
	set := func(location string) string { return `{"action":"set-location","location":"` + location + `"}` }
	wantMember(t, apply(t, d, set("s3://bucket/new//")), `"s3://bucket/new"`, "location")
	wantMember(t, apply(t, d, set("s3:///")), `"s3://"`, "location")
	noChange(t, d, set("s3://bucket/db/t/"))
	refused(t, d, mounts.BadRequest, "Invalid location: empty", set(""))
	refused(t, d, mounts.BadRequest, "Invalid location: only slashes", set("//"))
}

func TestUuidIsAssignedOnce(t *testing.T) {
	assign := func(uuid string) string { return `{"action":"assign-uuid","uuid":"` + uuid + `"}` }
	noChange(t, mustParse(t, tableV2), assign(testUUID), assign(strings.ToUpper(testUUID)))
	refused(t, mustParse(t, tableV2), mounts.BadRequest, "Cannot reassign uuid", assign(otherUUID))
	old := mustParse(t, without(t, tableV1, "table-uuid"))
	wantMember(t, apply(t, old, assign(otherUUID)), `"`+otherUUID+`"`, "table-uuid")
	for _, bad := range []string{"", "x", testUUID + "0", strings.Replace(testUUID, "-", "0", 1), "g" + testUUID[1:]} {
		refused(t, old, mounts.BadRequest, "Invalid uuid", assign(bad))
	}
}

func TestMetadataLogIsCapped(t *testing.T) {
	d := apply(t, mustParse(t, tableV2), setProps("write.metadata.previous-versions-max", "3"))
	for i := range 5 {
		var err error
		d, _, err = d.Apply(updates(t, setProps("i", fmt.Sprint(i))), Options{Now: at(int64(6000 + i)), MetadataLocation: fmt.Sprint("m", i)})
		if err != nil {
			t.Fatal(err)
		}
	}
	wantMember(t, d, `[{"timestamp-ms":6001,"metadata-file":"m2"},{"timestamp-ms":6002,"metadata-file":"m3"},{"timestamp-ms":6003,"metadata-file":"m4"}]`, "metadata-log")
	d = apply(t, d, setProps("write.metadata.previous-versions-max", "0"))
	wantMember(t, d, `[{"timestamp-ms":6004,"metadata-file":"s3://bucket/m1"}]`, "metadata-log")
	d = apply(t, d, setProps("write.metadata.previous-versions-max", "many"))
	if n := len(d.MetadataLog()); n != 2 {
		t.Errorf("%d entries", n)
	}
}

func TestMetadataLogDefaultsToAHundred(t *testing.T) {
	d := mustParse(t, tableV2)
	for i := range 120 {
		d = apply(t, d, setProps("i", fmt.Sprint(i)))
	}
	if n := len(d.MetadataLog()); n != 100 {
		t.Errorf("%d entries", n)
	}
}

func TestNoMetadataLocationNoLogEntry(t *testing.T) {
	next, _, err := mustParse(t, tableV2).Apply(updates(t, setProps("a", "b")), Options{Now: at(5000)})
	if err != nil {
		t.Fatal(err)
	}
	wantMember(t, next, `[{"timestamp-ms":1000,"metadata-file":"s3://bucket/m0","x-log":1}]`, "metadata-log")
}

func statisticsText(id, path, blobs string) string {
	return `{"snapshot-id":` + id + `,"statistics-path":"` + path + `","file-size-in-bytes":1,"file-footer-size-in-bytes":2,"blob-metadata":[` + blobs + `],"x":1}`
}

func TestStatisticsReplaceThoseOfTheirSnapshot(t *testing.T) {
	blob := `{"type":"t","snapshot-id":1,"sequence-number":1,"fields":[1]`
	set := `{"action":"set-statistics","snapshot-id":77,"statistics":` + statisticsText(snap1, "new", blob+`,"properties":null},`+blob+`},`+blob+`,"properties":{"a":"b"}}`) + `}`
	next := apply(t, mustParse(t, tableV2), set)
	wantMember(t, next, `[`+statisticsText(snap1, "new", blob+`},`+blob+`},`+blob+`,"properties":{"a":"b"}}`)+`]`, "statistics")
	noChange(t, next, set)
	next = apply(t, next, `{"action":"set-statistics","statistics":`+statisticsText(snap2, "other", "")+`}`)
	next = apply(t, next, `{"action":"remove-statistics","snapshot-id":`+snap1+`}`)
	wantMember(t, next, `[`+statisticsText(snap2, "other", "")+`]`, "statistics")
	noChange(t, next, `{"action":"remove-statistics","snapshot-id":`+snap1+`}`)
}

func TestPartitionStatistics(t *testing.T) {
	next := apply(t, mustParse(t, without(t, tableV2, "partition-statistics")),
		`{"action":"set-partition-statistics","partition-statistics":{"snapshot-id":`+snap2+`,"statistics-path":"p","file-size-in-bytes":3,"x":1}}`)
	wantMember(t, next, `[{"snapshot-id":`+snap2+`,"statistics-path":"p","file-size-in-bytes":3,"x":1}]`, "partition-statistics")
	next = apply(t, next, `{"action":"remove-partition-statistics","snapshot-id":`+snap2+`}`)
	wantMember(t, next, `[]`, "partition-statistics")
}

func TestEncryptionKeys(t *testing.T) {
	key := func(id, more string) string {
		return `{"action":"add-encryption-key","encryption-key":{"key-id":"` + id + `","encrypted-key-metadata":"bQ==","x":1` + more + `}}`
	}
	next := apply(t, mustParse(t, tableV3), key("a", `,"encrypted-by-id":null`), key("b", `,"encrypted-by-id":"a","properties":{"p":"q"}`), key("a", `,"y":2`))
	wantMember(t, next, `[{"key-id":"a","encrypted-key-metadata":"bQ==","x":1},{"key-id":"b","encrypted-key-metadata":"bQ==","x":1,"encrypted-by-id":"a","properties":{"p":"q"}}]`, "encryption-keys")
	noChange(t, next, key("a", ""), `{"action":"remove-encryption-key","key-id":"none"}`)
	next = apply(t, next, `{"action":"remove-encryption-key","key-id":"a"}`)
	if got := member(t, next, "encryption-keys"); strings.Contains(got, `"key-id":"a"`) || !strings.Contains(got, `"key-id":"b"`) {
		t.Error(got)
	}
	wantMember(t, apply(t, next, `{"action":"remove-encryption-key","key-id":"b"}`), "", "encryption-keys")
}

func TestABrokenBaseIsRefusedNotDamaged(t *testing.T) {
	for detail, text := range map[string]string{
		"snapshots: can't be read":         with(t, tableV2, "snapshots", `[{}]`),
		"schemas[0].schema-id: missing":    with(t, tableV2, "schemas", `[{}]`),
		"partition-specs[0]: expected":     with(t, tableV2, "partition-specs", `[1]`),
		"statistics[0].snapshot-id":        with(t, tableV2, "statistics", `[{"snapshot-id":"a"}]`),
		"refs: duplicate key":              with(t, tableV2, "refs", `{"a":1,"a":2}`),
		"snapshot-log: expected an object": with(t, tableV2, "snapshot-log", `[1]`),
		"properties: duplicate key":        with(t, tableV2, "properties", `{"a":"1","a":"2"}`),
	} {
		refused(t, mustParse(t, text), mounts.BadRequest, detail, setProps("a", "b"), addSnap(snap3, "", "3", ""), setMain(snap3), removeSnaps(snap1))
	}
}

func TestStatisticsOfOneSnapshotTwice(t *testing.T) {
	d := mustParse(t, with(t, tableV2, "statistics", `[`+statisticsText(snap1, "a", "")+`,`+statisticsText(snap2, "b", "")+`,`+statisticsText(snap1, "c", "")+`]`))
	next := apply(t, d, `{"action":"set-statistics","statistics":`+statisticsText(snap1, "d", "")+`}`)
	wantMember(t, next, `[`+statisticsText(snap2, "b", "")+`,`+statisticsText(snap1, "d", "")+`]`, "statistics")
	next = apply(t, d, `{"action":"remove-statistics","snapshot-id":`+snap1+`}`)
	wantMember(t, next, `[`+statisticsText(snap2, "b", "")+`]`, "statistics")
}
