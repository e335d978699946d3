package postgres

import (
	"bytes"
	"slices"

	"piedmont/native"
)

// The guard has a class for each value of a key's first byte, some share one. See DESIGN.md.
const (
	classes = 32
	shards  = 16
)

func classOf(key native.Key) int { return int(key[0]) % classes }

// hold is how a commit holds a class of the guard.
type hold uint8

const (
	free   hold = iota
	shared      // keys of the class may be inserted
	alone       // keys of the class that don't exist must stay so
)

// fault is what it means that a step fails.
type fault uint8

const (
	unexpected fault = iota
	condition        // a condition doesn't hold
	missing          // there is nothing to delete
)

// step is one statement of a commit.
type step struct {
	sql   string
	args  []any
	fault fault
}

// plan is what a commit does between its receipt and its end.
type plan struct {
	steps []step
	guard [classes]hold

	// Where keys must not exist: the ends of ranges.
	low, high [][]byte
	// hopeless: two conditions on one key can't both hold.
	hopeless bool
}

// wish is all that a commit asks of one key.
type wish struct {
	key    native.Key
	exists bool
	absent bool
	at     *native.Version
	change *native.Change
}

// newPlan plans a commit that was checked. A deletion without a condition takes it that
// there is something to delete, and fails where there isn't; a careful plan doesn't,
// for which it has to keep others from inserting.
//
// Rows are locked in the order of their keys, and each once in the strongest mode it
// needs, so that two commits wait for each other only where others lock rows as well.
func newPlan(conditions []native.Condition, changes []native.Change, careful bool) *plan {
	p := &plan{}
	wishes := make([]wish, 0, len(conditions)+len(changes))
	for i := range changes {
		wishes = append(wishes, wish{key: changes[i].Key, change: &changes[i]})
	}
	for i := range conditions {
		switch c := &conditions[i]; c.Kind {
		case native.AtVersion:
			wishes = append(wishes, wish{key: c.Key, at: &c.Version, exists: true})
		case native.Exists:
			wishes = append(wishes, wish{key: c.Key, exists: true})
		case native.Absent:
			wishes = append(wishes, wish{key: c.Key, absent: true})
		case native.PrefixEmpty:
			p.keepEmpty(c.Key, end(c.Key))
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	for i := 0; i < len(wishes); {
		w := wishes[i]
		for i++; i < len(wishes) && wishes[i].key == w.key; i++ {
			p.merge(&w, wishes[i])
		}
		p.add(w, careful)
	}
	return p
}

// merge adds to w what another wish asks of the same key.
func (p *plan) merge(w *wish, other wish) {
	if w.at != nil && other.at != nil && *w.at != *other.at {
		p.hopeless = true
	}
	if other.at != nil {
		w.at = other.at
	}
	if other.change != nil {
		w.change = other.change
	}
	w.exists = w.exists || other.exists
	w.absent = w.absent || other.absent
}

// add makes the step of one key.
func (p *plan) add(w wish, careful bool) {
	key := []byte(w.key)
	deletes := w.change != nil && w.change.Delete
	puts := w.change != nil && !w.change.Delete
	switch {
	case w.absent && w.exists, w.exists && w.key == "":
		p.hopeless = true
	case w.key == "": // always absent
	case w.absent && !puts:
		p.keepEmpty(w.key, append(key, 0))
	case w.absent:
		p.share(w.key)
		p.do(condition, insertSQL, key, w.change.Version[:], value(w.change))
	case puts && w.at != nil:
		p.do(condition, swapSQL, key, w.change.Version[:], value(w.change), w.at[:])
	case puts && w.exists:
		p.do(condition, updateSQL, key, w.change.Version[:], value(w.change))
	case puts:
		p.share(w.key)
		p.do(unexpected, putSQL, key, w.change.Version[:], value(w.change))
	case deletes && w.at != nil:
		p.do(condition, deleteAtSQL, key, w.at[:])
	case deletes && w.exists:
		p.do(condition, deleteOneSQL, key)
	case deletes && careful:
		p.guard[classOf(w.key)] = alone
		p.do(unexpected, deleteSQL, key)
	case deletes:
		p.do(missing, deleteOneSQL, key)
	case w.at != nil:
		p.do(condition, atSQL, key, w.at[:])
	default:
		p.do(condition, existsSQL, key)
	}
}

// isSwap tells whether all there is to do is to change one record at a version.
func (p *plan) isSwap() bool {
	return len(p.steps) == 1 && p.steps[0].sql == swapSQL && len(p.low) == 0
}

func (p *plan) do(f fault, sql string, args ...any) {
	p.steps = append(p.steps, step{sql: sql, args: args, fault: f})
}

// share lets keys of the class be inserted.
func (p *plan) share(key native.Key) {
	if c := classOf(key); p.guard[c] == free {
		p.guard[c] = shared
	}
}

// keepEmpty makes it a condition that no key is in a range that begins with low.
func (p *plan) keepEmpty(low native.Key, high []byte) {
	p.low, p.high = append(p.low, []byte(low)), append(p.high, high)
	if low != "" {
		p.guard[classOf(low)] = alone
		return
	}
	for c := range p.guard {
		p.guard[c] = alone
	}
}

// value is never nil: that would be NULL.
func value(c *native.Change) []byte {
	if c.Value == nil {
		return []byte{}
	}
	return c.Value
}

// end is the first key after all that begin with prefix.
func end(prefix native.Key) []byte {
	e := []byte(prefix)
	for len(e) > 0 && e[len(e)-1] == 0xff {
		e = e[:len(e)-1]
	}
	if len(e) == 0 {
		return bytes.Repeat([]byte{0xff}, native.MaxKeyBytes+1)
	}
	e[len(e)-1]++
	return e
}
