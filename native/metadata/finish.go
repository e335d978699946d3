package metadata

import (
	"encoding/json"

	"piedmont/cache/rawjson"
)

// finish checks what only holds or not once all updates are done, writes what changed
// back into the members, and makes the document.
func (b *builder) finish() (*Document, error) {
	if err := b.checkWhole(); err != nil {
		return nil, err
	}
	b.lastUpdated = b.now
	b.writeLogs()
	b.writeScalars()
	b.writeLists()
	b.writeMembers()
	if b.r.err != nil {
		return nil, b.r.err
	}
	return b.render(), nil
}

// checkWhole verifies what is required, and that the current schema has the columns
// that the default spec and order need: a commit may drop a column and the partition
// field over it in either order.
func (b *builder) checkWhole() error {
	switch {
	case b.uuid == "" && (b.version > 1 || b.base == nil):
		return badRequest("UUID is required in format v" + itoa(b.version))
	case b.location == "":
		return badRequest("Table location is required in format v" + itoa(b.version))
	case !b.structure:
		return nil
	}
	current, err := b.schema()
	if err != nil {
		return err
	}
	for _, c := range []struct {
		list, kind string
		id         int
	}{{"partition-specs", "partition", b.defaultSpec}, {"sort-orders", "sort", b.defaultOrder}} {
		raw := b.list(c.list).get(int64(c.id))
		if raw == nil {
			return badRequest("Cannot find the default of " + c.list + ": " + itoa(c.id))
		}
		s := b.readSpec(c.list, b.r.object(raw, c.list))
		if b.r.err != nil {
			return b.r.err
		}
		if err := s.check(current, c.kind); err != nil {
			return err
		}
	}
	return b.checkBindable(current)
}

func (b *builder) writeScalars() {
	b.number("format-version", int64(b.version), true)
	b.text("table-uuid", b.uuid)
	b.text("location", b.location)
	b.number("last-sequence-number", b.lastSequence, b.version >= 2)
	b.number("last-updated-ms", b.lastUpdated, true)
	b.number("last-column-id", int64(b.lastColumn), true)
	modern := b.version >= 2
	b.number("current-schema-id", int64(b.currentSchema), modern || b.keeps("schemas"))
	b.number("default-spec-id", int64(b.defaultSpec), modern || b.keeps("partition-specs"))
	b.number("last-partition-id", int64(b.lastPartition), modern || b.keeps("partition-specs"))
	b.number("default-sort-order-id", int64(b.defaultOrder), modern || b.keeps("sort-orders"))
	if b.currentSnapshot != noSnapshot {
		b.number("current-snapshot-id", b.currentSnapshot, true)
	} else if b.base == nil || b.base.currentSnapshot != noSnapshot || b.base.version < 3 && b.version >= 3 {
		// As Java writes it.
		none := json.RawMessage("-1")
		if b.version >= 3 {
			none = json.RawMessage("null")
		}
		b.top.Set("current-snapshot-id", none)
	}
	b.number("next-row-id", b.nextRow, b.version >= rowLineageVersion)
}

// keeps says whether the document has that list, or will have.
func (b *builder) keeps(list string) bool {
	_, ok := b.top.Get(list)
	return ok || b.lists[list] != nil && b.lists[list].changed
}

// writeLists puts changed lists back. A v1 document that still has the older forms gets
// them in step, for readers that know no others.
func (b *builder) writeLists() {
	b.members.writeLists("schemas", "partition-specs", "sort-orders", "statistics", "partition-statistics")
	if b.version != 1 || !b.structure {
		return
	}
	if _, ok := b.top.Get("schema"); ok || b.base == nil {
		b.top.Set("schema", b.list("schemas").get(int64(b.currentSchema)))
	}
	if _, ok := b.top.Get("partition-spec"); ok || b.base == nil {
		raw := b.list("partition-specs").get(int64(b.defaultSpec))
		fields, ok := b.r.object(raw, "partition-specs").need("fields")
		if ok {
			b.top.Set("partition-spec", fields)
		}
	}
}

// writeMembers puts changed objects back. A new document gets the arrays that readers
// expect to be there, if empty.
func (b *builder) writeMembers() {
	if b.propsChanged || b.base == nil {
		b.top.Set("properties", b.properties().AppendTo(nil))
	}
	if b.refsChanged || b.base == nil {
		b.top.Set("refs", b.references().AppendTo(nil))
	}
	b.writeKeys()
	if b.snaps != nil && b.snaps.changed() || b.base == nil {
		b.snapshots()
		b.placeholder("snapshots")
	}
	if b.base == nil {
		for _, name := range []string{"statistics", "partition-statistics", "snapshot-log", "metadata-log"} {
			b.placeholder(name)
		}
	}
}

// placeholder makes sure that the member is an array; what it holds may come later.
func (b *builder) placeholder(name string) {
	if raw, _ := b.top.Get(name); rawjson.IsNull(raw) {
		b.top.Set(name, json.RawMessage("[]"))
	}
}

// render writes the document in one go. The snapshots, most of it, are copied straight
// to their place.
func (b *builder) render() *Document {
	d := &Document{header: b.header}
	edited := b.snaps != nil && b.snaps.changed()
	size := b.top.Size()
	if edited {
		size += b.snaps.size() - len(b.snaps.text)
	}
	var snaps *snapshots
	d.raw, d.top = b.top.Render(size, func(dst []byte, key string, raw json.RawMessage) []byte {
		if !edited || key != "snapshots" {
			return append(dst, raw...)
		}
		dst, snaps = b.snaps.appendTo(dst)
		return dst
	})
	if snaps == nil && b.base != nil {
		snaps = b.base.snaps.Load() // the array is the base's, byte for byte
	}
	d.snaps.Store(snaps)
	found := b.logs // not a pointer into the builder, which would keep its base and all before it
	d.logs.Store(&found)
	return d
}
