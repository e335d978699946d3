package metadata

import (
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
	wantMember(t, next, `[{"timestamp-ms":1000,"snapshot-id":`+snap1+`},{"timestamp-ms":2000,"snapshot-id":`+snap2+`},{"timestamp-ms":4000,"snapshot-id":`+snap3+`}]`, "snapshot-log")
	wantMember(t, next, `[{"timestamp-ms":1000,"metadata-file":"s3://bucket/m0","x-log":1},{"timestamp-ms":2000,"metadata-file":"s3://bucket/m1"}]`, "metadata-log")
}

func TestSetRefBeforeItsSnapshotIsRefused(t *testing.T) {
	refused(t, mustParse(t, tableV2), mounts.BadRequest, "Cannot set main to unknown snapshot: "+snap3, setMain(snap3), addSnap(snap3, snap2, "3", ""))
}
