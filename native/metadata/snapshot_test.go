package metadata

import (
	"fmt"
	"strings"
	"testing"

	"piedmont/mounts"
)

const (
	snap1 = "6190000000000000001"
	snap2 = "6190000000000000002"
	snap3 = "6190000000000000003"
	snap4 = "6190000000000000004"
)

func addSnap(id, parent, sequence, more string) string {
	if parent != "" {
		parent = `,"parent-snapshot-id":` + parent
	}
	return `{"action":"add-snapshot","snapshot":{"snapshot-id":` + id + parent + `,"sequence-number":` + sequence +
		`,"timestamp-ms":4000,"manifest-list":"s3://bucket/c","summary":{"operation":"append"}` + more + `}}`
}

func setMain(id string) string {
	return `{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":` + id + `}`
}

func removeSnaps(ids ...string) string {
	return `{"action":"remove-snapshots","snapshot-ids":[` + strings.Join(ids, ",") + `]}`
}

// logText is a snapshot-log of these times and snapshots.
func logText(pairs ...string) string {
	var entries []string
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, `{"timestamp-ms":`+pairs[i]+`,"snapshot-id":`+pairs[i+1]+`}`)
	}
	return "[" + strings.Join(entries, ",") + "]"
}

func TestAppendKeepsEverythingElse(t *testing.T) {
	d := mustParse(t, tableV2)
	next := apply(t, d, addSnap(snap3, snap2, "3", `,"key-id":"k","x":9007199254740993.0`), setMain(snap3))
	for _, key := range []string{"x-top", "schemas", "partition-specs", "sort-orders", "properties", "statistics", "partition-statistics"} {
		wantMember(t, next, member(t, d, key), key)
	}
	old := member(t, d, "snapshots")
	wantMember(t, next, old[:len(old)-1]+`,{"snapshot-id":`+snap3+`,"parent-snapshot-id":`+snap2+
		`,"sequence-number":3,"timestamp-ms":4000,"manifest-list":"s3://bucket/c","summary":{"operation":"append"},"key-id":"k","x":9007199254740993.0}]`, "snapshots")
	wantMember(t, next, snap3, "current-snapshot-id")
	wantMember(t, next, "3", "last-sequence-number")
	wantMember(t, next, "5000", "last-updated-ms")
	wantMember(t, next, `{"snapshot-id":`+snap3+`,"type":"branch","x-ref":1}`, "refs", "main")
	wantMember(t, next, logText("1000", snap1, "2000", snap2, "4000", snap3), "snapshot-log")
	wantMember(t, next, `[{"timestamp-ms":1000,"metadata-file":"s3://bucket/m0","x-log":1},{"timestamp-ms":2000,"metadata-file":"s3://bucket/m1"}]`, "metadata-log")
}

func TestSetRefBeforeItsSnapshotIsRefused(t *testing.T) {
	refused(t, mustParse(t, tableV2), mounts.BadRequest, "Cannot set main to unknown snapshot: "+snap3, setMain(snap3), addSnap(snap3, snap2, "3", ""))
}

func TestSnapshotIdsAreUnique(t *testing.T) {
	d := mustParse(t, tableV2)
	refused(t, d, mounts.BadRequest, "Snapshot already exists for id: "+snap1, addSnap(snap1, snap2, "3", ""))
	refused(t, d, mounts.BadRequest, "Snapshot already exists for id: "+snap3, addSnap(snap3, snap2, "3", ""), addSnap(snap3, snap2, "4", ""))
}

func TestOldSequenceNumbersMayBeRetried(t *testing.T) {
	refused(t, mustParse(t, tableV2), mounts.CommitFailed,
		"Cannot add snapshot with sequence number 2 older than last sequence number 2", addSnap(snap3, snap2, "2", ""))
}

func TestParentlessSnapshotsDoNotLowerTheSequenceNumber(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), addSnap(snap3, "", "1", ""))
	wantMember(t, next, "2", "last-sequence-number")
	refused(t, mustParse(t, tableV2), mounts.BadRequest, "negative", addSnap(snap3, "", "-1", ""))
}

func TestNullsThatJavaCannotReadAreLeftOut(t *testing.T) {
	next := apply(t, mustParse(t, tableV2),
		`{"action":"add-snapshot","snapshot":{"snapshot-id":7,"parent-snapshot-id":null,"sequence-number":3,"timestamp-ms":1,"manifest-list":"m","summary":null,"schema-id":null,"x":null}}`)
	if got := member(t, next, "snapshots"); !strings.HasSuffix(got, `,{"snapshot-id":7,"sequence-number":3,"timestamp-ms":1,"manifest-list":"m","x":null}]`) {
		t.Error(got)
	}
}

func TestSnapshotsNeedSchemaSpecAndOrder(t *testing.T) {
	for key, what := range map[string]string{"schemas": "schema", "partition-specs": "partition spec", "sort-orders": "sort order"} {
		refused(t, mustParse(t, with(t, tableV2, key, "[]")), mounts.BadRequest,
			"Attempting to add a snapshot before a "+what+" is added", addSnap(snap3, snap2, "3", ""))
	}
}

func TestEmbeddedManifestsAreForV1(t *testing.T) {
	snapshot := `{"action":"add-snapshot","snapshot":{"snapshot-id":7,"timestamp-ms":1,"manifests":["m"]}}`
	refused(t, mustParse(t, tableV2), mounts.BadRequest, "without a manifest-list in v2", snapshot)
	apply(t, mustParse(t, tableV1), snapshot)
}

func TestIntermediateSnapshotsStayOutOfTheLog(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), addSnap(snap3, snap2, "3", ""), setMain(snap3), addSnap(snap4, snap3, "4", ""), setMain(snap4))
	wantMember(t, next, logText("1000", snap1, "2000", snap2, "4000", snap4), "snapshot-log")
	wantMember(t, next, snap4, "current-snapshot-id")
}

func TestRollbackIsLoggedAtTheTimeOfTheCommit(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), setMain(snap1))
	wantMember(t, next, logText("1000", snap1, "2000", snap2, "5000", snap1), "snapshot-log")
	wantMember(t, next, snap1, "current-snapshot-id")
}

func TestLogTimesGoBackNoFurtherThanJavaReads(t *testing.T) {
	d := mustParse(t, with(t, tableV2, "snapshot-log", logText("100000", snap2)))
	next := apply(t, d, addSnap(snap3, snap2, "3", ""), setMain(snap3))
	wantMember(t, next, logText("100000", snap2, "100000", snap3), "snapshot-log")
	wantMember(t, next, "100000", "last-updated-ms")
	d = mustParse(t, with(t, tableV2, "snapshot-log", logText("60000", snap2)))
	next = apply(t, d, addSnap(snap3, snap2, "3", ""), setMain(snap3))
	wantMember(t, next, logText("60000", snap2, "4000", snap3), "snapshot-log")
}

func TestLastUpdatedNeverGoesBack(t *testing.T) {
	d := mustParse(t, with(t, tableV2, "last-updated-ms", "9000"))
	wantMember(t, apply(t, d, setMain(snap1)), "9000", "last-updated-ms")
}

func TestSettingARefToWhatItIsChangesNothing(t *testing.T) {
	d := mustParse(t, tableV2)
	noChange(t, d, setMain(snap2))
	noChange(t, d, `{"action":"set-snapshot-ref","ref-name":"v1","type":"tag","snapshot-id":`+snap1+`,"max-ref-age-ms":5,"min-snapshots-to-keep":null}`)
	next := apply(t, d, `{"action":"set-snapshot-ref","ref-name":"v1","type":"tag","snapshot-id":`+snap1+`}`)
	wantMember(t, next, `{"snapshot-id":`+snap1+`,"type":"tag"}`, "refs", "v1")
	wantMember(t, next, snap2, "current-snapshot-id")
}

func TestRefsKeepRetentionAndUnknownMembers(t *testing.T) {
	next := apply(t, mustParse(t, tableV2),
		`{"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":`+snap2+`,"min-snapshots-to-keep":3,"max-snapshot-age-ms":4,"max-ref-age-ms":5,"x-new":{"a":1}}`)
	wantMember(t, next, `{"snapshot-id":`+snap2+`,"type":"branch","x-ref":1,"min-snapshots-to-keep":3,"max-snapshot-age-ms":4,"max-ref-age-ms":5,"x-new":{"a":1}}`, "refs", "main")
}

func TestMainMustBeABranch(t *testing.T) {
	refused(t, mustParse(t, tableV2), mounts.BadRequest, "Cannot set main to a tag, it must be a branch",
		`{"action":"set-snapshot-ref","ref-name":"main","type":"tag","snapshot-id":`+snap2+`}`)
}

func TestOtherBranchesDoNotMoveMain(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), addSnap(snap3, snap2, "3", ""),
		`{"action":"set-snapshot-ref","ref-name":"dev","type":"branch","snapshot-id":`+snap3+`}`)
	wantMember(t, next, snap2, "current-snapshot-id")
	wantMember(t, next, logText("1000", snap1, "2000", snap2), "snapshot-log")
	if id, ok := next.RefSnapshotID("dev"); !ok || fmt.Sprint(id) != snap3 {
		t.Errorf("dev is %d, %v", id, ok)
	}
}

func TestRemovingMainLeavesNoCurrentSnapshot(t *testing.T) {
	remove := `{"action":"remove-snapshot-ref","ref-name":"main"}`
	next := apply(t, mustParse(t, tableV2), remove)
	wantMember(t, next, "-1", "current-snapshot-id")
	wantMember(t, next, "", "refs", "main")
	wantMember(t, next, logText("1000", snap1, "2000", snap2), "snapshot-log")
	wantMember(t, apply(t, mustParse(t, tableV3), remove), "null", "current-snapshot-id")
	wantMember(t, apply(t, mustParse(t, without(t, tableV2, "refs")), remove), "{}", "refs")
}

func TestRemovingAMissingRefChangesNothing(t *testing.T) {
	noChange(t, mustParse(t, tableV2), `{"action":"remove-snapshot-ref","ref-name":"none"}`)
}

func TestRemoveSnapshotsTakesWhatRefersToThem(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), removeSnaps(snap1, "99"))
	wantMember(t, next, `{"main":{"snapshot-id":`+snap2+`,"type":"branch","x-ref":1}}`, "refs")
	wantMember(t, next, "[]", "statistics")
	wantMember(t, next, "[]", "partition-statistics")
	wantMember(t, next, logText("2000", snap2), "snapshot-log")
	if got := member(t, next, "snapshots"); !strings.HasPrefix(got, `[{"snapshot-id":`+snap2) || strings.Count(got, "manifest-list") != 1 || !strings.Contains(got, `"x-snap":[1]`) {
		t.Error(got)
	}
	noChange(t, mustParse(t, tableV2), removeSnaps("99"))
}

func TestRemovingTheCurrentSnapshotRemovesMain(t *testing.T) {
	next := apply(t, mustParse(t, tableV2), removeSnaps(snap2))
	wantMember(t, next, "-1", "current-snapshot-id")
	wantMember(t, next, "[]", "snapshot-log")
	if _, ok := next.RefSnapshotID("main"); ok {
		t.Error("main dangles")
	}
}

func TestTheLogIsTrimmedBeforeAGap(t *testing.T) {
	d := mustParse(t, tableV2)
	d = apply(t, d, addSnap(snap3, snap2, "3", ""), setMain(snap3))
	d = apply(t, d, addSnap(snap4, snap3, "4", ""), setMain(snap4))
	next := apply(t, d, removeSnaps(snap2))
	wantMember(t, next, logText("4000", snap3, "4000", snap4), "snapshot-log")
}

func TestASnapshotCanBeAddedAndRemovedInOneCommit(t *testing.T) {
	d := mustParse(t, tableV2)
	next := apply(t, d, addSnap(snap3, snap2, "3", ""), removeSnaps(snap3))
	wantMember(t, next, member(t, d, "snapshots"), "snapshots")
	wantMember(t, next, "3", "last-sequence-number")
	next = apply(t, d, removeSnaps(snap1), addSnap(snap1, "", "3", `,"x":"again"`))
	if got := member(t, next, "snapshots"); strings.Count(got, snap1) != 2 || !strings.HasSuffix(got, `"x":"again"}]`) {
		t.Error(got)
	}
}

func TestManyCommitsKeepFindingSnapshots(t *testing.T) {
	d := mustParse(t, tableV2)
	for i := range 2*unindexed + 10 {
		id := fmt.Sprint(100 + i)
		d = apply(t, d, addSnap(id, snap2, fmt.Sprint(3+i), ""))
	}
	refused(t, d, mounts.BadRequest, "Snapshot already exists for id: 100", addSnap("100", "", "0", ""))
	d = apply(t, d, removeSnaps("100", "611"))
	d = apply(t, d, addSnap("100", "", "0", ""))
	refused(t, d, mounts.BadRequest, "Snapshot already exists for id: 612", addSnap("612", "", "0", ""))
}

func TestTwoCommitsOnOneBaseDoNotMeet(t *testing.T) {
	d := mustParse(t, tableV2)
	a := apply(t, d, addSnap(snap3, snap2, "3", `,"x":"a"`))
	b := apply(t, d, addSnap(snap4, snap2, "3", `,"x":"b"`))
	checkSelf(t, a)
	checkSelf(t, b)
	if strings.Contains(string(a.Bytes()), snap4) || strings.Contains(string(b.Bytes()), snap3) {
		t.Error("one commit sees the other")
	}
}

func TestRowLineage(t *testing.T) {
	d := mustParse(t, tableV3)
	lineage := func(first, added string) string {
		return `,"first-row-id":` + first + `,"added-rows":` + added
	}
	next := apply(t, d, addSnap(snap3, snap2, "3", lineage("100", "5")))
	wantMember(t, next, "105", "next-row-id")
	wantMember(t, apply(t, next, addSnap(snap4, snap3, "4", lineage("200", "7"))), "207", "next-row-id")
	refused(t, d, mounts.BadRequest, "Cannot add a snapshot: first-row-id is null", addSnap(snap3, snap2, "3", ""))
	refused(t, d, mounts.CommitFailed, "first-row-id is behind table next-row-id: 99 < 100", addSnap(snap3, snap2, "3", lineage("99", "5")))
	refused(t, d, mounts.BadRequest, "added-rows is null or negative", addSnap(snap3, snap2, "3", lineage("100", "null")))
	refused(t, d, mounts.BadRequest, "added-rows is null or negative", addSnap(snap3, snap2, "3", lineage("100", "-1")))
	refused(t, d, mounts.BadRequest, "too high", addSnap(snap3, snap2, "3", lineage("100", "9223372036854775807")))
	wantMember(t, apply(t, mustParse(t, tableV2), addSnap(snap3, snap2, "3", lineage("100", "5"))), "", "next-row-id")
}
