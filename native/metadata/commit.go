package metadata

// Commit is a decoded CommitTableRequest: what must hold, and what to change, in order.
// It refers to the body it was parsed from. It never changes; many documents can be
// tried with it.
type Commit struct {
	Requirements []Requirement
	Updates      []Update
}

// Update is one change of a commit.
type Update interface {
	// Action is its name in the REST spec, as "add-snapshot".
	Action() string
	// apply does it to a document under construction. It may be called again for
	// another one, so it changes nothing of its own.
	apply(b *builder) error
}

// sharedUpdate is a change that a table and a view can both go through.
type sharedUpdate interface {
	Update
	ViewUpdate
}

// ParseCommit reads the body of a commit, CommitTableRequest of the REST spec. Its
// identifier isn't looked at: the path, or in transactions the caller, says which table
// is meant. Where there are no requirements there is nothing to check (ClickHouse sends
// none).
//
// The error is a BadRequest *mounts.Error that names the path: text that isn't one JSON
// object, a key that occurs twice anywhere, brackets nested too deeply, an action or a
// requirement type the spec doesn't have (it asks for 400), a member missing or of a
// wrong type, or assert-create among other requirements.
func ParseCommit(body []byte) (*Commit, error) {
	r := &reader{what: "commit"}
	o := r.request(body)
	c := &Commit{}
	if o.has("requirements") {
		for _, q := range o.children("requirements") {
			c.Requirements = append(c.Requirements, r.requirement(q))
		}
	}
	for _, u := range o.children("updates") {
		c.Updates = append(c.Updates, r.update(u))
	}
	if r.err != nil {
		return nil, r.err
	}
	if c.IsCreate() && len(c.Requirements) > 1 {
		return nil, badRequest("Invalid create requirements: assert-create allows no others")
	}
	return c, nil
}

// IsCreate says whether the commit ends a staged create: it asserts that the table
// doesn't exist, and its updates start from nothing. See Build.
func (c *Commit) IsCreate() bool {
	for _, q := range c.Requirements {
		if _, ok := q.(assertCreate); ok {
			return true
		}
	}
	return false
}

// update decodes one update, by the names of the REST spec's BaseUpdate.
func (r *reader) update(o *object) Update {
	action := o.str("action")
	if u := r.sharedUpdate(action, o); u != nil {
		return u
	}
	switch action {
	case "add-encryption-key":
		return r.addEncryptionKey(o.child("encryption-key"))
	case "remove-encryption-key":
		return removeEncryptionKey{o.str("key-id")}
	}
	if u := r.schemaUpdate(action, o); u != nil {
		return u
	}
	if u := r.snapshotUpdate(action, o); u != nil {
		return u
	}
	r.fail(o.at("action"), unknownAction(action))
	return nil
}

// sharedUpdate decodes the updates that tables and views have in common.
func (r *reader) sharedUpdate(action string, o *object) sharedUpdate {
	switch action {
	case "assign-uuid":
		return assignUUID{o.str("uuid")}
	case "upgrade-format-version":
		return upgradeFormatVersion{o.int("format-version")}
	case "set-location":
		return setLocation{o.str("location")}
	case "set-properties":
		return setProperties{o.stringMap(o.first("updates", "updated"))}
	case "remove-properties":
		return removeProperties{o.strings(o.first("removals", "removed"))}
	case "add-schema":
		return r.addSchema(o)
	}
	return nil
}

func (r *reader) addSchema(o *object) addSchema {
	raw, ok := o.need("schema")
	if !ok {
		return addSchema{}
	}
	u := addSchema{schema: r.schema(raw, o.at("schema"))}
	if r.err == nil {
		u.identity = identityOf(u.schema.tree)
	}
	return u
}

func (r *reader) schemaUpdate(action string, o *object) Update {
	switch action {
	case "set-current-schema":
		return setCurrentSchema{o.int("schema-id")}
	case "remove-schemas":
		return removeSchemas{o.longs("schema-ids")}
	case "add-spec":
		return addSpec{r.partitionSpec(o.child("spec"))}
	case "set-default-spec":
		return setDefaultSpec{o.int("spec-id")}
	case "remove-partition-specs":
		return removeSpecs{o.longs("spec-ids")}
	case "add-sort-order":
		return addSortOrder{r.sortOrder(o.child("sort-order"))}
	case "set-default-sort-order":
		return setDefaultSortOrder{o.int("sort-order-id")}
	}
	return nil
}

func (r *reader) snapshotUpdate(action string, o *object) Update {
	switch action {
	case "add-snapshot":
		return r.addSnapshot(o.child("snapshot"))
	case "remove-snapshots":
		return removeSnapshots{o.longs("snapshot-ids")}
	case "set-snapshot-ref":
		return r.setSnapshotRef(o)
	case "remove-snapshot-ref":
		return removeSnapshotRef{o.str("ref-name")}
	case "set-statistics":
		return r.setStatistics(o.child("statistics"))
	case "remove-statistics":
		return removeStatistics{"statistics", o.long("snapshot-id")}
	case "set-partition-statistics":
		return r.setPartitionStatistics(o.child("partition-statistics"))
	case "remove-partition-statistics":
		return removeStatistics{"partition-statistics", o.long("snapshot-id")}
	}
	return nil
}

// first is the name of the two that is there. Java's clients wrote "updated" and
// "removed" before the spec settled, and its parser reads them to this day.
func (o *object) first(name, legacy string) string {
	if _, ok := o.Get(name); !ok && o.has(legacy) {
		return legacy
	}
	return name
}
