package historytest

import (
	"fmt"
	"strings"
)

// names is how many names the tables of a history share.
const names = 4

// tableName is the name with that number.
func tableName(n int) string { return string(rune('a' + n)) }

// kind is what an operation asks for.
type kind uint8

const (
	load kind = iota
	exists
	list
	change // of one table, or a transaction over two
	rename
	drop
)

// does is what a change does to one table.
type does uint8

const (
	creates  does = iota
	appends       // a snapshot, if main is where the client saw it
	sets          // a property
	setsSeen      // a property, if the table is the one that the client saw
	asserts       // nothing, if main is where the client saw it; of a transaction
)

// part is what a change does to one table.
type part struct {
	does does
	name int
	seen sighting // what its requirements say
}

// operation is what a client asked for. Its id is what it leaves behind: the table's
// creator, the snapshot's id, the property's name.
type operation struct {
	id    int
	kind  kind
	parts []part // of a change
	name  int    // of all others but list
	to    int    // of rename
	key   string // the Idempotency-Key; empty without one
}

// result is how an operation ended for the client.
type result uint8

const (
	done       result = iota
	refused           // surely not applied, for a reason that must have held
	notApplied        // surely not applied, for no reason of the catalog's state
	unknown           // perhaps applied, now or at any later time
)

// reason is why an operation was refused.
type reason uint8

const (
	missing reason = iota // there is no table of that name
	taken                 // there is one
	failed                // a requirement
	lost                  // too many races: nothing follows
)

// outcome is what an operation was answered.
type outcome struct {
	result result
	why    reason // of a refusal
	seen   string // a table as table.String writes it, or the names of a list
	blind  bool   // whether a success showed nothing
	tries  int
}

func (o operation) String() string {
	switch o.kind {
	case load:
		return "load " + tableName(o.name)
	case exists:
		return "exists " + tableName(o.name)
	case list:
		return "list"
	case rename:
		return fmt.Sprintf("#%d rename %s to %s", o.id, tableName(o.name), tableName(o.to))
	case drop:
		return fmt.Sprintf("#%d drop %s", o.id, tableName(o.name))
	default: // a change
	}
	var parts []string
	for _, p := range o.parts {
		switch p.does {
		case creates:
			parts = append(parts, "create "+tableName(p.name))
		case appends:
			parts = append(parts, fmt.Sprintf("append to %s of #%s behind %q", tableName(p.name), p.seen.creator, p.seen.main))
		case asserts:
			parts = append(parts, fmt.Sprintf("assert %s is #%s at %q", tableName(p.name), p.seen.creator, p.seen.main))
		case sets:
			parts = append(parts, "set in "+tableName(p.name))
		case setsSeen:
			parts = append(parts, fmt.Sprintf("set in %s of #%s", tableName(p.name), p.seen.creator))
		}
	}
	return fmt.Sprintf("#%d %s", o.id, strings.Join(parts, " and "))
}

func (o outcome) String() string {
	text := [...]string{"done", "refused", "not applied", "unknown"}[o.result]
	switch {
	case o.result == refused:
		text += [...]string{": missing", ": taken", ": requirement failed", ": lost too often"}[o.why]
	case o.result == done && !o.blind:
		text = "saw " + o.seen
	}
	if o.tries > 1 {
		text += fmt.Sprintf(" (sent %d times)", o.tries)
	}
	return text
}
