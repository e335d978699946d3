package survey

import (
	"hash/fnv"
	"slices"
	"strings"

	"piedmont/vend"
)

// Relation is how two tables' locations overlap.
type Relation string

// The relations.
const (
	// SameTable is one table under two names: they have one uuid and one location.
	SameTable Relation = "same-table"
	// SameLocation is two tables in one place.
	SameLocation Relation = "same-location"
	// Inside is a table that lies inside another's location.
	Inside Relation = "inside"
)

// Overlap is two tables of which one lies in the other's place.
type Overlap struct {
	Relation      Relation `json:"relation"`
	Table         string   `json:"table"`
	Location      string   `json:"location"`
	Other         string   `json:"other"`
	OtherLocation string   `json:"other-location"`
}

// places are the locations of tables, each with what it takes to compare a million of them.
type places []place

type place struct {
	canonical string
	table     string
	uuid      uint64 // a hash, 0 for none
}

// add notes a table's location, canonically where it can be understood.
func (p *places) add(table, location, uuid string) {
	canonical := strings.TrimRight(location, "/")
	if l, err := vend.ParseLocation(location); err == nil {
		canonical = l.String()
	}
	if canonical == "" {
		return
	}
	at := place{canonical: canonical, table: table}
	if uuid != "" {
		h := fnv.New64a()
		_, _ = h.Write([]byte(strings.ToLower(uuid))) // a hash takes anything
		at.uuid = h.Sum64() | 1
	}
	*p = append(*p, at)
}

// overlaps yields each table that lies in another's place, with the innermost such other.
func (p places) overlaps(yield func(Overlap) error) error {
	slices.SortFunc(p, func(a, b place) int {
		if c := byLevels(a.canonical, b.canonical); c != 0 {
			return c
		}
		return strings.Compare(a.table, b.table)
	})
	var around []place // each inside the one before
	for _, at := range p {
		for len(around) > 0 && !within(at.canonical, around[len(around)-1].canonical) {
			around = around[:len(around)-1]
		}
		same := false
		if len(around) > 0 {
			other := around[len(around)-1]
			o := Overlap{Relation: Inside, Table: at.table, Location: at.canonical, Other: other.table, OtherLocation: other.canonical}
			if same = at.canonical == other.canonical; same {
				o.Relation = SameLocation
				if at.uuid == other.uuid && at.uuid != 0 {
					o.Relation = SameTable
				}
			}
			if err := yield(o); err != nil {
				return err
			}
		}
		if !same {
			around = append(around, at)
		}
	}
	return nil
}

// within says whether a location is another or lies below it.
func within(inner, outer string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '/')
}

// byLevels is an order in which what lies below a location follows it at once: a slash comes
// before every other letter.
func byLevels(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		case a[i] < b[i]:
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}
