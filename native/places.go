package native

import (
	"context"
	"errors"
	"strings"

	"piedmont/mounts"
	"piedmont/vend"
)

// placeProperties are the properties that say where files of a table go.
var placeProperties = []string{"write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path"}

// property is one of a document's properties.
type property struct{ name, value string }

// placesOf are the place properties that a document has.
func placesOf(d document) []property {
	var list []property
	for _, name := range placeProperties {
		if value, ok := d.Property(name); ok {
			list = append(list, property{name, value})
		}
	}
	return list
}

// checkPlaces refuses a document that leads outside the mount's storage profiles, and
// returns where its properties lead.
func (c *Catalog) checkPlaces(d document) ([]property, error) {
	if _, _, err := c.storage.Find(d.Location()); err != nil {
		return nil, err
	}
	places := placesOf(d)
	for _, p := range places {
		if _, _, err := c.storage.Find(p.value); err != nil {
			return nil, ofProperty(p.name, err)
		}
	}
	return places, nil
}

// ofProperty is an error about the value of a property.
func ofProperty(name string, err error) error {
	if e := (*mounts.Error)(nil); errors.As(err, &e) {
		return &mounts.Error{Kind: e.Kind, Op: e.Op, Detail: "Property " + name + ": " + e.Detail, Err: err}
	}
	return err
}

// checkNewPlaces is checkPlaces, and refuses what the document says anew, compared to the
// one before it, of places that lie inside or around another live table's location. A
// table may put its files around its own place. What is as it was costs nothing. before is
// nil where there is none, own the key of the table in the index of locations, if it has one.
func (c *Catalog) checkNewPlaces(ctx context.Context, op string, d, before document, own Key) error {
	places, err := c.checkPlaces(d)
	if err != nil {
		return err
	}
	inside := func(l vend.Location) Key { return inOrBelow(kindLocation, l) }
	for _, p := range places {
		if !isNew(p, before) {
			continue
		}
		if err := c.checkSiblings(ctx, op, p.value, d, own, inside); err != nil {
			return ofProperty(p.name, err)
		}
	}
	return nil
}

// checkNewViewPlaces is checkNewPlaces for a view, which has no place of its own in the
// index: it may lie around tables, as in the folder of their namespace, but in none.
func (c *Catalog) checkNewViewPlaces(ctx context.Context, op string, d, before document) error {
	places, err := c.checkPlaces(d)
	if err != nil {
		return err
	}
	here := func(l vend.Location) Key { return at(kindLocation, l.String()) }
	if before == nil || before.Location() != d.Location() {
		if err := c.checkSiblings(ctx, op, d.Location(), d, "", here); err != nil {
			return err
		}
	}
	for _, p := range places {
		if !isNew(p, before) {
			continue
		}
		if err := c.checkSiblings(ctx, op, p.value, d, "", here); err != nil {
			return ofProperty(p.name, err)
		}
	}
	return nil
}

// isNew says whether the document before, if there is one, hasn't the property or has
// another value of it.
func isNew(p property, before document) bool {
	if before == nil {
		return true
	}
	old, ok := before.Property(p.name)
	return !ok || old != p.value
}

// maxSharing is how many entries of one place are looked at: tables that share a place are
// one table under several names, so there are few.
const maxSharing = 100

// checkSiblings refuses a place that lies inside another table's, or has one below the
// prefix that below makes of it.
func (c *Catalog) checkSiblings(ctx context.Context, op, place string, d document, own Key, below func(vend.Location) Key) error {
	l, err := vend.ParseLocation(place)
	if err != nil {
		return err
	}
	location, err := vend.ParseLocation(d.Location())
	if err != nil {
		return err
	}
	prefixes := []Key{below(l)}
	for _, around := range above(l) {
		prefixes = append(prefixes, at(kindLocation, around))
	}
	for _, prefix := range prefixes {
		records, err := c.registry.Scan(ctx, prefix, "", maxSharing)
		if err != nil {
			return unavailable(op, "", err)
		}
		for _, r := range records {
			if r.Key == own {
				continue
			}
			same, err := isSame(r, location, d.UUID())
			if err != nil {
				return err
			}
			if !same {
				return overlap(op, l)
			}
		}
	}
	return nil
}

// isSame says whether an entry of the index of locations is of the table of that uuid at
// that location, under whatever name.
func isSame(r Record, l vend.Location, uuid string) (bool, error) {
	p, err := decode[place](r)
	return uuid != "" && p.UUID == uuid && strings.HasPrefix(string(r.Key), string(at(kindLocation, l.String()))), err
}

// apart gives the conditions under which no other table lies in or around a location, by
// one of the indexes: that of live tables, or that of those that can be restored. A table of
// the same uuid at the very same location is the same table under another name, as when one
// is registered a second time; it must stay while we enter. own is the key of a table that
// moves from around the location into it; empty for a new one.
func (c *Catalog) apart(ctx context.Context, op, kind string, l vend.Location, uuid string, own Key) ([]Condition, error) {
	var conditions []Condition
	for _, around := range above(l) {
		r, err := c.registry.Scan(ctx, at(kind, around), "", 2)
		switch {
		case err != nil:
			return nil, unavailable(op, "", err)
		case len(r) == 1 && r[0].Key == own:
			conditions = append(conditions, Condition{Kind: AtVersion, Key: own, Version: r[0].Version})
		case len(r) > 0:
			return nil, overlap(op, l)
		default:
			conditions = append(conditions, Condition{Kind: PrefixEmpty, Key: at(kind, around)})
		}
	}
	inside, err := c.registry.Scan(ctx, inOrBelow(kind, l), "", MaxChanges/2)
	if err != nil {
		return nil, unavailable(op, "", err)
	}
	if len(inside) == 0 {
		return append(conditions, Condition{Kind: PrefixEmpty, Key: inOrBelow(kind, l)}), nil
	}
	for _, r := range inside {
		if r.Key == own { // a table moves to a place around its own
			conditions = append(conditions, Condition{Kind: AtVersion, Key: own, Version: r.Version})
			continue
		}
		same, err := isSame(r, l, uuid)
		if err != nil {
			return nil, err
		}
		if !same {
			return nil, overlap(op, l)
		}
		conditions = append(conditions, Condition{Kind: AtVersion, Key: r.Key, Version: r.Version})
	}
	return conditions, nil
}

func overlap(op string, l vend.Location) error {
	return &mounts.Error{
		Kind: mounts.BadRequest, Op: op,
		Detail: "Invalid location: it lies inside or around the location of another table: " + l.Verbatim(),
	}
}
