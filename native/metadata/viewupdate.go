package metadata

import "math"

type (
	addViewVersion        struct{ version *viewVersion }
	setCurrentViewVersion struct{ id int }
)

func (addViewVersion) Action() string        { return "add-view-version" }
func (setCurrentViewVersion) Action() string { return "set-current-view-version" }

// applyView accepts the uuid that the view has and no other.
func (u assignUUID) applyView(b *viewBuilder) error {
	uuid, err := u.instead(b.uuid, "view")
	if uuid != b.uuid {
		b.uuid, b.changed = uuid, true
	}
	return err
}

// applyView has nothing to raise yet: the view spec has one version.
func (u upgradeFormatVersion) applyView(b *viewBuilder) error {
	switch {
	case u.version < b.version:
		return badRequest("Cannot downgrade v" + itoa(b.version) + " view to v" + itoa(u.version))
	case u.version > viewFormatVersion:
		return badRequest("Unsupported format version: " + itoa(u.version))
	}
	return nil
}

// applyView moves the view's base location; its files stay where they are.
func (u setLocation) applyView(b *viewBuilder) error {
	location, err := cleanLocation(u.location)
	if err == nil && location != b.location {
		b.location, b.changed = location, true
	}
	return err
}

// applyView sets properties. Views reserve none.
func (u setProperties) applyView(b *viewBuilder) error {
	if setStrings(b.properties(), u.properties) {
		b.propsChanged, b.changed = true, true
	}
	return nil
}

// applyView removes properties; one that isn't set is nothing to remove.
func (u removeProperties) applyView(b *viewBuilder) error {
	if deleteAll(b.properties(), u.names) {
		b.propsChanged, b.changed = true, true
	}
	return nil
}

// applyView adds a schema under the next free id, or reuses the id of one that is the
// same. Field ids are those of the client: no file of a view refers to them.
func (u addSchema) applyView(b *viewBuilder) error {
	if err := checkViewSchema(u.schema); err != nil {
		return err
	}
	id, added, err := u.addTo(b.list("schemas"), b.known("schemas"))
	if err != nil {
		return err
	}
	b.lastSchema, b.changed = id, b.changed || added
	return nil
}

// applyView adds a version under the next free id, or reuses the id of one that is the
// same. The client's id counts for nothing: of two clients that replace a view at once
// both have made up the same.
func (u addViewVersion) applyView(b *viewBuilder) error {
	v := u.version
	if err := v.checkDialects(); err != nil {
		return err
	}
	schemaID := v.schemaID
	if schemaID == lastAdded {
		if schemaID = b.lastSchema; schemaID == lastAdded {
			return badRequest("Cannot set last added schema: no schema has been added")
		}
	}
	if !b.list("schemas").has(int64(schemaID)) {
		return badRequest("Cannot add version with unknown schema: " + itoa(schemaID))
	}
	versions, known := b.list("versions"), b.known("versions")
	next := versions.nextID(1)
	raw := v.withIDs(next, int64(schemaID))
	same := versionIdentity(raw)
	id, ok := known.find(same)
	if !ok {
		if id = next; id > math.MaxInt32 {
			return noIDsLeft("view version")
		}
		versions.add(id, raw)
		known.add(same, id)
		b.added[int(id)], b.changed = v, true
	}
	b.lastVersion, b.meant[v.id] = int(id), int(id)
	return nil
}

// applyView makes a version the current one. An id that a version of this commit came
// with means that version, whatever id it was given: another client's may have it now.
func (u setCurrentViewVersion) applyView(b *viewBuilder) error {
	id := u.id
	if id == lastAdded {
		if id = b.lastVersion; id == lastAdded {
			return badRequest("Cannot set last version id: no current version id has been set")
		}
	} else if given, ok := b.meant[id]; ok {
		id = given
	}
	if !b.list("versions").has(int64(id)) && id != b.current {
		return badRequest("Cannot set current version to unknown version: " + itoa(id))
	}
	b.current = id
	return nil
}
