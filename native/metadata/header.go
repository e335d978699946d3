package metadata

import "strconv"

const (
	// defaultFormatVersion is what a new table gets that names no version, as in Java.
	defaultFormatVersion = 2
	// maxFormatVersion is the newest version whose rules are known here.
	maxFormatVersion = 3
	// rowLineageVersion is the first version that numbers rows.
	rowLineageVersion = 3

	noSnapshot       = -1   // current-snapshot-id of a table without one (Java writes it so before v3)
	firstPartitionID = 1000 // partition field ids start here (spec, "Partition Evolution")
	unsortedOrderID  = 0    // reserved for the order without fields (spec, "Sorting")
	firstSortOrderID = 1
	lastAdded        = -1 // "the one last added in this commit" where an update takes an id
	mainBranch       = "main"
)

// header is the scalar members, decoded.
type header struct {
	version         int
	uuid            string
	location        string
	lastUpdated     int64
	lastSequence    int64
	lastColumn      int
	currentSchema   int
	defaultSpec     int
	lastPartition   int
	defaultOrder    int
	currentSnapshot int64
	nextRow         int64
}

// readHeader decodes the scalars of a document and checks the shape of everything else
// at the top level: what is required, and of which JSON type. It looks into no array.
func readHeader(o *object) header {
	h := header{version: o.int("format-version"), currentSnapshot: noSnapshot}
	if h.version < 1 {
		o.r.fail("format-version", "must be 1 or more")
		return h
	}
	h.lastUpdated = o.long("last-updated-ms")
	h.lastColumn = o.int("last-column-id")
	h.uuid = readRequiredFrom(o, 2, h.version, "table-uuid")
	// v4 lets a table have no location of its own.
	if h.version < 4 || o.has("location") {
		h.location = o.str("location")
	}
	if h.version >= 2 {
		h.lastSequence = o.long("last-sequence-number")
	}
	if h.version >= rowLineageVersion {
		h.nextRow = o.long("next-row-id")
	}
	if id, ok := o.optLong("current-snapshot-id"); ok {
		h.currentSnapshot = id
	}
	readLists(o, &h)
	checkShapes(o)
	return h
}

func readRequiredFrom(o *object, from, version int, key string) string {
	if version >= from || o.has(key) {
		return o.str(key)
	}
	return ""
}

// readLists finds the current ids, which v1 writers before there were lists left out
// together with the lists (spec, "Table Metadata Fields").
func readLists(o *object, h *header) {
	legacy := h.version == 1
	if !legacy || o.has("schemas") {
		h.currentSchema = o.int("current-schema-id")
		o.array("schemas")
	} else {
		h.currentSchema, _ = o.child("schema").optInt("schema-id")
	}
	if !legacy || o.has("partition-specs") {
		h.defaultSpec = o.int("default-spec-id")
		o.array("partition-specs")
	} else {
		o.array("partition-spec")
	}
	if !legacy || o.has("last-partition-id") {
		h.lastPartition = o.int("last-partition-id")
	} else {
		h.lastPartition = highestPartitionID(o)
	}
	if !legacy || o.has("sort-orders") {
		h.defaultOrder = o.int("default-sort-order-id")
		o.array("sort-orders")
	}
}

// array checks that the member is there and an array.
func (o *object) array(key string) {
	if raw, ok := o.need(key); ok && raw[0] != '[' {
		o.r.fail(o.at(key), "expected an array")
	}
}

func checkShapes(o *object) {
	for _, key := range []string{
		"snapshots", "snapshot-log", "metadata-log", "statistics", "partition-statistics", "encryption-keys",
	} {
		if o.has(key) {
			o.array(key)
		}
	}
	for _, key := range []string{"properties", "refs"} {
		o.optObject(key)
	}
}

// highestPartitionID is the highest partition field id of a v1 document that doesn't
// say: ids count from 1000 where the fields have none either.
func highestPartitionID(o *object) int {
	lists := [][]*object{}
	if o.has("partition-specs") {
		for _, spec := range o.children("partition-specs") {
			lists = append(lists, spec.children("fields"))
		}
	} else {
		lists = append(lists, o.children("partition-spec"))
	}
	highest := firstPartitionID - 1
	for _, fields := range lists {
		for i, f := range fields {
			id, ok := f.optInt("field-id")
			if !ok {
				id = firstPartitionID + i
			}
			highest = max(highest, id)
		}
	}
	return highest
}

func itoa(n int) string { return strconv.Itoa(n) }

func ltoa(n int64) string { return strconv.FormatInt(n, 10) }
