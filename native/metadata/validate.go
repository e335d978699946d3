package metadata

import "piedmont/cache/rawjson"

// Validate looks into the arrays, which Parse doesn't: ids that must be there and lead
// somewhere, schemas, specs and orders that decode. It is for documents from elsewhere
// before the catalog takes them over (register), so that a file that no commit could
// build on is refused at once. The error is a BadRequest *mounts.Error naming the path.
//
// Versions newer than this package knows are only held to what Parse checks.
func (d *Document) Validate() error {
	if d.version > maxFormatVersion {
		return nil
	}
	snaps, err := d.snapshots()
	if err != nil {
		return err
	}
	b := newBuilder(d, Options{})
	b.validateSnapshots(snaps)
	for _, name := range []string{"snapshot-log", "metadata-log"} {
		b.validateLog(name)
	}
	for _, name := range []string{"statistics", "partition-statistics"} {
		b.list(name)
	}
	(&object{Object: b.top, r: b.r}).optStringMap("properties")
	b.structure = true
	if b.r.err == nil {
		err = b.validateStructure()
	}
	if b.r.err != nil {
		return b.r.err
	}
	return err
}

func (b *builder) validateSnapshots(snaps *snapshots) {
	if b.currentSnapshot != noSnapshot && snaps.find(b.currentSnapshot) < 0 {
		b.r.fail("current-snapshot-id", "no such snapshot")
	}
	for name, raw := range b.references().All() {
		o := b.r.object(raw, "refs")
		id := o.long("snapshot-id")
		if snaps.find(id) < 0 {
			b.r.fail("refs", "one of them points to no snapshot")
		}
		if name == mainBranch && id != b.currentSnapshot {
			b.r.fail("refs.main", "not the current snapshot")
		}
		if kind := o.str("type"); kind != "branch" && kind != "tag" {
			b.r.fail("refs", "expected the type branch or tag")
		}
	}
}

func (b *builder) validateLog(name string) {
	raw, _ := b.top.Get(name)
	if rawjson.IsNull(raw) {
		return
	}
	for i, e := range b.r.elements(raw, name) {
		o := b.r.object(e, name+"["+itoa(i)+"]")
		o.long("timestamp-ms")
		if name == "snapshot-log" {
			o.long("snapshot-id")
		} else {
			o.str("metadata-file")
		}
	}
}

// validateStructure decodes every schema, spec and order, and checks that the current
// ones fit together. A v1 table's spec may have lost its columns.
func (b *builder) validateStructure() error {
	for i, raw := range b.list("schemas").raws {
		b.r.schema(raw, "schemas["+itoa(i)+"]")
	}
	for _, name := range []string{"partition-specs", "sort-orders"} {
		for i, raw := range b.list(name).raws {
			b.readSpec(name, b.r.object(raw, name+"["+itoa(i)+"]"))
		}
	}
	if b.r.err != nil {
		return b.r.err
	}
	return b.checkWhole()
}
