package metadata

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

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
		if b.str("type") == "" {
			b.r.fail(b.at("type"), "must not be empty") // iceberg-go can't read it
		}
		b.long("snapshot-id")
		b.long("sequence-number")
		for _, id := range b.longs("fields") {
			if id != int64(int32(id)) {
				b.r.fail(b.at("fields"), "field ids have 32 bits")
			}
		}
		b.dropNulls("properties")
		b.optStringMap("properties")
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
	b.changed = b.list(u.list).remove(u.id) || b.changed
	return nil
}

func (r *reader) addEncryptionKey(o *object) Update {
	u := addEncryptionKey{id: o.str("key-id")}
	text := strings.TrimRight(o.str("encrypted-key-metadata"), "=")
	if _, err := base64.RawStdEncoding.DecodeString(text); err != nil {
		r.fail(o.at("encrypted-key-metadata"), "expected base64")
	}
	o.dropNulls("encrypted-by-id", "properties")
	o.optStr("encrypted-by-id")
	o.optStringMap("properties")
	u.raw = o.AppendTo(nil)
	return u
}

// keyList is the encryption keys of a document, whose ids are texts.
type keyList struct {
	raws []json.RawMessage // nil where removed
	at   map[string]int
}

func (b *builder) keyList() *keyList {
	if b.keys != nil {
		return b.keys
	}
	b.keys = &keyList{at: map[string]int{}}
	raw, _ := b.top.Get("encryption-keys")
	if rawjson.IsNull(raw) {
		return b.keys
	}
	for i, e := range b.r.elements(raw, "encryption-keys") {
		b.keys.add(b.r.object(e, "encryption-keys["+itoa(i)+"]").str("key-id"), e)
	}
	return b.keys
}

func (k *keyList) add(id string, raw json.RawMessage) {
	k.at[id] = len(k.raws)
	k.raws = append(k.raws, raw)
}

// apply adds a key; a key of that id stays as it is.
func (u addEncryptionKey) apply(b *builder) error {
	k := b.keyList()
	if _, ok := k.at[u.id]; !ok {
		k.add(u.id, u.raw)
		b.keysChanged, b.changed = true, true
	}
	return nil
}

// apply removes a key; an unknown id is nothing to remove.
func (u removeEncryptionKey) apply(b *builder) error {
	k := b.keyList()
	if i, ok := k.at[u.id]; ok {
		k.raws[i] = nil
		delete(k.at, u.id)
		b.keysChanged, b.changed = true, true
	}
	return nil
}

// writeKeys puts the keys back. Without any the member goes, as Java writes it.
func (b *builder) writeKeys() {
	if !b.keysChanged {
		return
	}
	kept := slices.DeleteFunc(b.keys.raws, func(raw json.RawMessage) bool { return raw == nil })
	if len(kept) == 0 {
		b.top.Delete("encryption-keys")
		return
	}
	b.top.Set("encryption-keys", joinArray(kept))
}
