package metadata

import (
	"encoding/json"
	"strconv"

	"piedmont/cache/rawjson"
)

const (
	// clockSkew is how far times in the logs may go back. Java can't read a document in
	// which they go back further.
	clockSkew = 60_000

	// defaultPreviousVersions is write.metadata.previous-versions-max where it isn't set.
	defaultPreviousVersions = 100
)

// logs is what a commit must know of a document's logs to append to them. It is found once
// and then handed on from document to document: a commit doesn't read thousands of entries
// to add one.
type logs struct {
	metadata []int // where each entry of the metadata-log begins in its array
	snapshot int   // where the last entry of the snapshot-log begins in its array; 0 for none
}

// foundLogs is that of a document. A log that is absent or broken has no entries.
func (d *Document) foundLogs() logs {
	if l := d.logs.Load(); l != nil {
		return *l
	}
	var l logs
	raw, _ := d.top.Get("metadata-log")
	l.metadata, _ = rawjson.Offsets(raw)
	raw, _ = d.top.Get("snapshot-log")
	if at, _ := rawjson.Offsets(raw); len(at) > 0 {
		l.snapshot = at[len(at)-1]
	}
	d.logs.Store(&l)
	return l
}

// writeLogs brings both logs up to date.
func (b *builder) writeLogs() {
	if b.base != nil {
		b.logs = b.base.foundLogs()
	}
	if removed := b.snaps != nil && len(b.snaps.removed) > 0; removed || len(b.moves) > 0 {
		b.appendSnapshotLog()
		if removed {
			b.cutSnapshotLog()
		}
	}
	if b.base != nil && b.opt.MetadataLocation != "" {
		b.appendMetadataLog()
	}
}

// appended is an array with more elements, and where the last of them begins. What is in the
// array already, from the element that begins at from on, stays as it is; 0 is for none.
func appended(array json.RawMessage, from int, more ...json.RawMessage) (text json.RawMessage, last int) {
	size := len(array) + 3
	for _, element := range more {
		size += len(element) + 1
	}
	text = append(make(json.RawMessage, 0, size), '[')
	if from > 0 {
		text = append(append(text, array[from:len(array)-1]...), ',')
	}
	for i, element := range more {
		if i > 0 {
			text = append(text, ',')
		}
		last = len(text)
		text = append(text, element...)
	}
	return append(text, ']'), last
}

// appendSnapshotLog appends where main went. Left out are snapshots that this commit both
// added and superseded.
func (b *builder) appendSnapshotLog() {
	text, _ := b.top.Get("snapshot-log")
	last, from := int64(0), 0
	if at := b.logs.snapshot; at > 0 {
		last, _ = b.r.object(text[at:len(text)-1], "snapshot-log").optLong("timestamp-ms")
		from = 1
	}
	var entries []json.RawMessage
	for _, m := range b.moves {
		if m.added && m.id != b.currentSnapshot {
			continue
		}
		if m.timestamp >= last-clockSkew {
			last = m.timestamp
		}
		entries = append(entries, json.RawMessage(`{"timestamp-ms":`+ltoa(last)+`,"snapshot-id":`+ltoa(m.id)+`}`))
	}
	if len(entries) > 0 {
		text, b.logs.snapshot = appended(text, from, entries...)
		b.top.Set("snapshot-log", text)
	}
	if last > b.lastUpdated+clockSkew {
		b.lastUpdated = last
	}
}

// cutSnapshotLog drops everything up to the last entry of a snapshot that is gone
// (updateSnapshotLog in Java).
func (b *builder) cutSnapshotLog() {
	log := b.withoutGaps("snapshot-log", arrayOf(&b.top, "snapshot-log"), "snapshot-id", b.snaps.exists)
	text, last := appended(nil, 0, log...)
	b.logs.snapshot = last
	b.top.Set("snapshot-log", text)
}

// appendMetadataLog appends the base's own file, and drops the oldest above
// write.metadata.previous-versions-max.
func (b *builder) appendMetadataLog() {
	entry := append([]byte(`{"timestamp-ms":`), ltoa(b.base.lastUpdated)...)
	entry = append(rawjson.AppendString(append(entry, `,"metadata-file":`...), b.opt.MetadataLocation), '}')
	at := b.logs.metadata
	kept := at[max(0, len(at)-(b.previousVersions()-1)):]
	from := 0
	if len(kept) > 0 {
		from = kept[0]
	}
	old, _ := b.top.Get("metadata-log")
	text, last := appended(old, from, entry)
	next := make([]int, 0, len(kept)+1)
	for _, begins := range kept {
		next = append(next, begins-from+1)
	}
	b.logs.metadata = append(next, last)
	b.top.Set("metadata-log", text)
}

func (b *builder) previousVersions() int {
	raw, _ := b.properties().Get("write.metadata.previous-versions-max")
	text, _ := rawjson.String(raw)
	n, err := strconv.Atoi(text)
	if err != nil {
		return defaultPreviousVersions
	}
	return max(n, 1)
}
