package metadata

// checkBindable refuses a schema to which not every partition spec can be bound. Java binds
// all that a document has when it reads it, also those that no new file uses
// (UnboundPartitionSpec.bindUnchecked), so such a table it could load no longer. What was
// so before the commit is let pass: others may still read the table, and mend it.
func (b *builder) checkBindable(current *schema) error {
	for _, raw := range b.list("partition-specs").elements() {
		r := &reader{what: b.r.what}
		s := r.partitionSpec(r.object(raw, "partition-specs"))
		if r.err != nil {
			continue // it came so with the base
		}
		if err := s.bindable(current); err != nil && !b.wasUnbindable(s) {
			return err
		}
	}
	return nil
}

// wasUnbindable says whether the base has the spec and a schema that it doesn't suit.
func (b *builder) wasUnbindable(s *spec) bool {
	if b.base == nil {
		return false
	}
	before := newBuilder(b.base, b.opt)
	id, _ := s.object.optInt(idKeyOf("partition-specs"))
	if !before.list("partition-specs").has(int64(id)) {
		return false
	}
	schema, err := before.schema()
	return err == nil && s.bindable(schema) != nil
}

// bindable verifies what binding a spec takes, of the columns that the schema has: types
// that suit the transforms, and no other column with the name of a partition field.
func (s *spec) bindable(sc *schema) error {
	for _, f := range s.fields {
		for _, id := range f.sources {
			if source := sc.byID[id]; source != nil && !f.bindsTo(source.typ.base) {
				return badRequest("Invalid source type " + source.typ.text() + " for transform: " + f.text)
			}
		}
		if err := f.checkName(sc); err != nil {
			return err
		}
	}
	return nil
}

// bindsTo is accepts, as far as it is judged: not where a type or transform is newer than
// this code, nor what may be partitioned by its very value.
func (f *specField) bindsTo(base string) bool {
	return !f.known || base == "" || f.transform.name == "identity" && isNested(base) || f.transform.accepts(base)
}

// checkName refuses a field that has the name of a column, unless it is that column's, or
// of one that is gone (PartitionSpec.Builder.checkAndAddPartitionName).
func (f *specField) checkName(sc *schema) error {
	column := sc.find(f.name)
	if column != nil && len(f.sources) == 1 && sc.byID[f.sources[0]] != nil && column.id != f.sources[0] {
		return badRequest("Cannot create identity partition sourced from different field in schema: " + f.name)
	}
	return nil
}
