package metadata

import (
	"encoding/json"

	"piedmont/cache/rawjson"
)

type (
	setStatistics struct {
		list string // the top-level array: "statistics" or "partition-statistics"
		id   int64
		raw  json.RawMessage
	}
	removeStatistics struct {
		list string
		id   int64
	}
	addEncryptionKey struct {
		id  string
		raw json.RawMessage
	}
	removeEncryptionKey struct{ id string }
)

// Action is "set-statistics" or "set-partition-statistics".
func (u setStatistics) Action() string { return "set-" + u.list }

// Action is "remove-statistics" or "remove-partition-statistics".
func (u removeStatistics) Action() string  { return "remove-" + u.list }
func (addEncryptionKey) Action() string    { return "add-encryption-key" }
func (removeEncryptionKey) Action() string { return "remove-encryption-key" }

// setStatistics decodes a statistics file. The update's own snapshot-id is deprecated:
// that inside the file counts, as in Java.
func (r *reader) setStatistics(o *object) Update {
	u := setStatistics{list: "statistics", id: readStatisticsFile(o)}
	o.long("file-footer-size-in-bytes")
	o.dropNulls("key-metadata")
	o.optStr("key-metadata")
	blobs := o.children("blob-metadata")
	texts := make([]json.RawMessage, 0, len(blobs))
	for _, b := range blobs {
		b.str("type")
		b.long("snapshot-id")
		b.long("sequence-number")
		b.longs("fields")
		b.dropNulls("properties")
		if b.has("properties") {
			b.stringMap("properties")
		}
		texts = append(texts, b.AppendTo(nil))
	}
	o.Set("blob-metadata", joinArray(texts))
	u.raw = o.AppendTo(nil)
	return u
}

func (r *reader) setPartitionStatistics(o *object) Update {
	id := readStatisticsFile(o)
	return setStatistics{list: "partition-statistics", id: id, raw: o.AppendTo(nil)}
}

func readStatisticsFile(o *object) (snapshotID int64) {
	o.str("statistics-path")
	o.long("file-size-in-bytes")
	return o.long("snapshot-id")
}

// apply replaces the snapshot's file. The snapshot need not exist, as in Java: an expiry
// may have been faster.
func (u setStatistics) apply(b *builder) error {
	l := b.list(u.list)
	l.put(u.id, u.raw)
	b.changed = b.changed || l.changed
	return nil
}

// apply forgets the snapshot's file; where there is none, there is nothing to forget.
func (u removeStatistics) apply(b *builder) error {
	b.changed = b.list(u.list).remove(map[int64]bool{u.id: true}) || b.changed
	return nil
}

func (r *reader) addEncryptionKey(o *object) Update {
	u := addEncryptionKey{id: o.str("key-id")}
	o.str("encrypted-key-metadata")
	o.dropNulls("encrypted-by-id", "properties")
	o.optStr("encrypted-by-id")
	if o.has("properties") {
		o.stringMap("properties")
	}
	u.raw = o.AppendTo(nil)
	return u
}

// apply adds a key; a key of that id stays as it is.
func (u addEncryptionKey) apply(b *builder) error {
	keys, at := b.findKey(u.id)
	if at < 0 {
		b.setKeys(append(keys, u.raw))
	}
	return nil
}

// apply removes a key; an unknown id is nothing to remove.
func (u removeEncryptionKey) apply(b *builder) error {
	if keys, at := b.findKey(u.id); at >= 0 {
		b.setKeys(append(keys[:at:at], keys[at+1:]...))
	}
	return nil
}

// findKey is the encryption keys and the position of one, -1 where it isn't there.
func (b *builder) findKey(id string) (keys []json.RawMessage, at int) {
	raw, _ := b.top.Get("encryption-keys")
	if rawjson.IsNull(raw) {
		return nil, -1
	}
	at = -1
	keys = b.r.elements(raw, "encryption-keys")
	for i, e := range keys {
		if b.r.object(e, "encryption-keys["+itoa(i)+"]").str("key-id") == id {
			at = i
		}
	}
	return keys, at
}

func (b *builder) setKeys(keys []json.RawMessage) {
	b.changed = true
	if len(keys) == 0 {
		b.top.Delete("encryption-keys")
		return
	}
	b.top.Set("encryption-keys", joinArray(keys))
}
