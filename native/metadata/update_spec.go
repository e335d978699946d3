package metadata

import (
	"math"
	"slices"

	"piedmont/cache/rawjson"
)

type (
	addSpec             struct{ spec *spec }
	setDefaultSpec      struct{ id int }
	removeSpecs         struct{ ids []int64 }
	addSortOrder        struct{ order *spec }
	setDefaultSortOrder struct{ id int }
)

func (addSpec) Action() string             { return "add-spec" }
func (setDefaultSpec) Action() string      { return "set-default-spec" }
func (removeSpecs) Action() string         { return "remove-partition-specs" }
func (addSortOrder) Action() string        { return "add-sort-order" }
func (setDefaultSortOrder) Action() string { return "set-default-sort-order" }

// apply adds a partition spec for the current schema, or reuses the id of one with the
// same fields.
func (u addSpec) apply(b *builder) error {
	id, err := b.addFields("partition-specs", "partition", u.spec)
	b.lastSpec = id
	return err
}

// apply adds a sort order for the current schema, or reuses the id of one with the same
// fields. The order without fields has id 0, whatever the client calls it.
func (u addSortOrder) apply(b *builder) error {
	id, err := b.addFields("sort-orders", "sort", u.order)
	b.lastOrder = id
	return err
}

// addFields adds a spec or order to its list, unless the list has the same. It returns
// the id.
func (b *builder) addFields(name, kind string, s *spec) (int, error) {
	identity, known := s.identity(), b.known(name)
	if id, ok := known.find(identity); ok {
		return int(id), nil
	}
	if b.r.err != nil {
		return lastAdded, b.r.err
	}
	added := s.clone()
	if len(added.fields) > 0 {
		current, err := b.schema()
		if err != nil {
			return lastAdded, err
		}
		if err := added.checkNew(current, kind); err != nil {
			return lastAdded, err
		}
	}
	l := b.list(name)
	id := int64(unsortedOrderID)
	switch {
	case kind == "partition":
		if err := b.numberFields(added); err != nil {
			return lastAdded, err
		}
		id = l.nextID(0)
	case len(added.fields) > 0:
		id = l.nextID(firstSortOrderID)
	}
	if id > math.MaxInt32 || b.lastPartition > math.MaxInt32 {
		return lastAdded, noIDsLeft(kind + " spec or field")
	}
	l.add(id, added.render(idKeyOf(name), int(id)))
	known.add(identity, id)
	b.changed, b.structure = true, true
	return int(id), nil
}

// numberFields gives the partition fields that have no id one: in v1 they count from
// 1000, after that the id that an equal field of an earlier spec has, else the next
// (spec, "Partition Evolution").
func (b *builder) numberFields(s *spec) error {
	highest := s.highestID()
	used := map[int]bool{}
	for _, f := range s.fields {
		used[f.id] = true
	}
	for i, f := range s.fields {
		known := b.fieldIDs[f.key()]
		switch {
		case b.version == 1:
			if f.id != 0 && f.id != firstPartitionID+i {
				return badRequest("Spec does not use sequential IDs that are required in v1: " + f.describe())
			}
			f.id = firstPartitionID + i
		case f.id == 0 && known != 0 && !used[known]:
			f.id = known
		case f.id == 0:
			highest = max(b.lastPartition, highest) + 1
			f.id = highest
		}
		used[f.id] = true
		f.Set("field-id", rawjson.AppendInt(nil, int64(f.id)))
		b.fieldIDs[f.key()] = max(known, f.id)
	}
	b.lastPartition = max(b.lastPartition, s.highestID())
	return nil
}

// apply makes a spec the default one.
func (u setDefaultSpec) apply(b *builder) error {
	id := u.id
	if id == lastAdded {
		if id = b.lastSpec; id == lastAdded {
			return badRequest("Cannot set last added spec: no spec has been added")
		}
	}
	if id == b.defaultSpec {
		return nil
	}
	if !b.list("partition-specs").has(int64(id)) {
		return badRequest("Cannot set default partition spec to unknown spec: " + itoa(id))
	}
	b.defaultSpec, b.changed, b.structure = id, true, true
	return nil
}

// apply removes specs that nothing needs any more; the default one is refused.
func (u removeSpecs) apply(b *builder) error {
	if slices.Contains(u.ids, int64(b.defaultSpec)) {
		return badRequest("Cannot remove the default partition spec")
	}
	b.forget("partition-specs", u.ids)
	return nil
}

// apply makes a sort order the default one.
func (u setDefaultSortOrder) apply(b *builder) error {
	id := u.id
	if id == lastAdded {
		if id = b.lastOrder; id == lastAdded {
			return badRequest("Cannot set last added sort order: no sort order has been added")
		}
	}
	if id == b.defaultOrder {
		return nil
	}
	if !b.list("sort-orders").has(int64(id)) {
		return badRequest("Cannot set default sort order to unknown order: " + itoa(id))
	}
	b.defaultOrder, b.changed, b.structure = id, true, true
	return nil
}
