package metadata

import (
	"encoding/json"
	"math"

	"piedmont/cache/rawjson"
)

type (
	addSnapshot struct {
		id, timestamp, sequence int64
		hasParent               bool
		firstRow, addedRows     *int64
		hasList                 bool // a manifest-list, not v1's embedded manifests
		raw                     json.RawMessage
	}
	removeSnapshots struct{ ids []int64 }
	setSnapshotRef  struct {
		name string
		id   int64
		tag  bool
		ref  rawjson.Object // the update's members that belong into refs
	}
	removeSnapshotRef struct{ name string }
)

func (addSnapshot) Action() string       { return "add-snapshot" }
func (removeSnapshots) Action() string   { return "remove-snapshots" }
func (setSnapshotRef) Action() string    { return "set-snapshot-ref" }
func (removeSnapshotRef) Action() string { return "remove-snapshot-ref" }

// addSnapshot decodes a snapshot as Java's SnapshotParser does, and keeps its text.
func (r *reader) addSnapshot(o *object) Update {
	o.dropNulls("parent-snapshot-id", "sequence-number", "summary", "manifest-list", "manifests",
		"schema-id", "first-row-id", "added-rows", "key-id")
	u := addSnapshot{id: o.long("snapshot-id"), timestamp: o.long("timestamp-ms")}
	u.sequence, _ = o.optLong("sequence-number")
	_, u.hasParent = o.optLong("parent-snapshot-id")
	u.firstRow, u.addedRows = o.longPointer("first-row-id"), o.longPointer("added-rows")
	o.optInt("schema-id")
	o.optStr("key-id")
	if operation, ok := o.optStringMap("summary")["operation"]; ok && operation == "" {
		o.r.fail(o.at("summary")+".operation", "must not be empty") // iceberg-go can't read it
	}
	if u.hasList = !o.has("manifests"); u.hasList {
		o.str("manifest-list")
	} else {
		o.strings("manifests")
	}
	u.raw = o.AppendTo(nil)
	return u
}

func (o *object) longPointer(key string) *int64 {
	if n, ok := o.optLong(key); ok {
		return &n
	}
	return nil
}

// apply adds a snapshot, and no ref to it.
func (u addSnapshot) apply(b *builder) error {
	for _, need := range []struct{ list, what string }{
		{"schemas", "schema"}, {"partition-specs", "partition spec"}, {"sort-orders", "sort order"},
	} {
		if b.list(need.list).live == 0 {
			return badRequest("Attempting to add a snapshot before a " + need.what + " is added")
		}
	}
	snaps := b.snapshots()
	if snaps.exists(u.id) {
		return badRequest("Snapshot already exists for id: " + ltoa(u.id))
	}
	if err := u.checkSequence(b); err != nil {
		return err
	}
	if b.version >= rowLineageVersion {
		if err := u.numberRows(b); err != nil {
			return err
		}
	} else if err := u.checkRows(); err != nil {
		return err
	}
	// A parentless snapshot may come with any number; Java then lowers the table's.
	b.lastSequence = max(b.lastSequence, u.sequence)
	snaps.add(addedSnapshot{u.id, u.timestamp, u.raw})
	b.changed = true
	return nil
}

func (u addSnapshot) checkSequence(b *builder) error {
	switch {
	case b.version == 1 && u.sequence != 0:
		return badRequest("Sequence number must be 0 in v1: " + ltoa(u.sequence))
	case b.version > 1 && !u.hasList:
		return badRequest("Cannot add snapshot without a manifest-list in v" + itoa(b.version))
	case b.version > 1 && u.hasParent && u.sequence <= b.lastSequence:
		return commitFailed("Cannot add snapshot with sequence number " + ltoa(u.sequence) +
			" older than last sequence number " + ltoa(b.lastSequence))
	case u.sequence < 0:
		return badRequest("Cannot add snapshot with a negative sequence number")
	}
	return nil
}

// checkRows applies to the versions that don't number rows what Java asks of every snapshot
// that it reads.
func (u addSnapshot) checkRows() error {
	switch {
	case u.firstRow != nil && *u.firstRow < 0:
		return badRequest("Invalid first-row-id (cannot be negative): " + ltoa(*u.firstRow))
	case u.addedRows != nil && *u.addedRows < 0:
		return badRequest("Invalid added-rows (cannot be negative): " + ltoa(*u.addedRows))
	case u.firstRow != nil && u.addedRows == nil:
		return badRequest("Invalid added-rows (required when first-row-id is set): null")
	}
	return nil
}

// numberRows moves next-row-id behind the snapshot's rows (spec, "Row Lineage").
func (u addSnapshot) numberRows(b *builder) error {
	switch {
	case u.firstRow == nil:
		return badRequest("Cannot add a snapshot: first-row-id is null")
	case *u.firstRow < b.nextRow:
		return commitFailed("Cannot add a snapshot, first-row-id is behind table next-row-id: " +
			ltoa(*u.firstRow) + " < " + ltoa(b.nextRow))
	case u.addedRows == nil || *u.addedRows < 0:
		return badRequest("Cannot add a snapshot: added-rows is null or negative")
	case *u.addedRows > math.MaxInt64-*u.firstRow:
		return badRequest("Cannot add a snapshot: first-row-id and added-rows are too high")
	}
	// Java adds the rows to its own counter; were first-row-id ahead of it, the next
	// snapshot could get rows of this one.
	b.nextRow = *u.firstRow + *u.addedRows
	return nil
}

// apply removes snapshots. What refers to them goes before the next update of another
// kind: Java sends an update for each snapshot it expires. An unknown id is nothing to
// remove.
func (u removeSnapshots) apply(b *builder) error {
	snaps := b.snapshots()
	for _, id := range u.ids {
		if snaps.remove(id) {
			b.gone[id], b.changed = true, true
		}
	}
	return nil
}

// dropDangling removes what refers to snapshots that were removed: both kinds of
// statistics, refs. The snapshot-log follows at the end of the commit.
func (b *builder) dropDangling() {
	if len(b.gone) == 0 {
		return
	}
	for _, name := range []string{"statistics", "partition-statistics"} {
		l := b.list(name)
		for id := range b.gone {
			l.remove(id)
		}
	}
	var dangling []string
	for name, raw := range b.references().All() {
		if id, _ := b.r.object(raw, "refs").optLong("snapshot-id"); b.gone[id] {
			dangling = append(dangling, name)
		}
	}
	for _, name := range dangling {
		b.removeRef(name)
	}
	clear(b.gone)
}

// setSnapshotRef decodes the update and the rules a ref must keep by itself
// (SnapshotRef.Builder in Java).
func (r *reader) setSnapshotRef(o *object) Update {
	u := setSnapshotRef{name: o.str("ref-name"), id: o.long("snapshot-id")}
	kind := o.str("type")
	if u.tag = kind == "tag"; !u.tag && kind != "branch" {
		r.fail(o.at("type"), "expected branch or tag")
	}
	for _, key := range []string{"min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"} {
		n, ok := o.optLong(key)
		switch {
		case ok && n <= 0:
			r.fail(o.at(key), "must be greater than 0")
		case ok && key == "min-snapshots-to-keep" && n > math.MaxInt32:
			r.fail(o.at(key), "expected an integer of 32 bits")
		case ok && u.tag && key != "max-ref-age-ms":
			r.fail(o.at(key), "not supported by tags")
		}
	}
	u.ref = o.Clone()
	for _, key := range []string{"action", "ref-name"} {
		u.ref.Delete(key)
	}
	return u
}

// apply points a branch or tag at a snapshot, creating it if need be. Retention the
// update doesn't mention ends; members nobody knows stay.
func (u setSnapshotRef) apply(b *builder) error {
	refs := b.references()
	old, exists := refs.Get(u.name)
	next, same := u.merge(b, old)
	if exists && same {
		return nil
	}
	if !b.snapshots().exists(u.id) {
		return badRequest("Cannot set " + u.name + " to unknown snapshot: " + ltoa(u.id))
	}
	if u.name == mainBranch {
		if u.tag {
			return badRequest("Cannot set main to a tag, it must be a branch")
		}
		b.moveMain(u.id)
	}
	refs.Set(u.name, next)
	b.refsChanged, b.changed = true, true
	return nil
}

// merge is the ref's new text, and whether it says what the old one did.
func (u setSnapshotRef) merge(b *builder, old json.RawMessage) (next json.RawMessage, same bool) {
	merged := &object{r: b.r}
	if old != nil {
		merged = b.r.object(old, "refs")
	}
	before := merged.Clone()
	for _, key := range []string{"min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"} {
		merged.Delete(key)
	}
	for key, raw := range u.ref.All() {
		if !rawjson.IsNull(raw) {
			merged.Set(key, raw)
		}
	}
	same = merged.Len() == before.Len()
	for key, raw := range merged.All() {
		was, _ := before.Get(key)
		same = same && string(was) == string(raw)
	}
	return merged.AppendTo(nil), same
}

// moveMain makes a snapshot the current one. The log gives the time at which the
// snapshot was made if this commit added it, else that of the commit.
func (b *builder) moveMain(id int64) {
	e := logEntry{timestamp: b.now, id: id}
	if s := b.snapshots().findAdded(id); s != nil {
		e.timestamp, e.added = s.timestamp, true
	}
	b.currentSnapshot = id
	b.moves = append(b.moves, e)
}

// apply removes a branch or tag; one that isn't there is nothing to remove. Without
// main the table has no current snapshot.
func (u removeSnapshotRef) apply(b *builder) error {
	b.removeRef(u.name)
	return nil
}

func (b *builder) removeRef(name string) {
	if b.references().Delete(name) {
		b.refsChanged, b.changed = true, true
	}
	if name == mainBranch && b.currentSnapshot != noSnapshot {
		b.currentSnapshot, b.changed = noSnapshot, true
	}
}
