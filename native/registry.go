package native

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxKeyBytes bounds a key: a full path or location and what surrounds it fit, and so
	// does the key in an entry of PostgreSQL's indexes, which has 2,704 bytes at most. No record
	// has an empty or a longer key.
	MaxKeyBytes = 2600
	// MaxValueBytes bounds a value. Records hold pointers and properties, never documents.
	MaxValueBytes = 1 << 20
	// MaxChanges bounds the conditions and the changes of one Commit, each.
	MaxChanges = 10_000
	// MaxScan is the most records one Scan returns, whatever its limit.
	MaxScan = 10_000
)

// Key is the name of a record. Keys sort by their bytes. See keys.go for what they say.
type Key string

// Version tells two states of one key apart. It is a random token chosen by whoever
// writes the record and never a sequence: sequences repeat after a restore or a
// failover, and a repeated version lets a stale swap pass.
type Version [16]byte

// NewVersion makes a version that no other state of any key has.
func NewVersion() (v Version) {
	_, _ = rand.Read(v[:]) // never fails: crypto/rand ends the process instead
	return v
}

// Record is one key's state.
type Record struct {
	Key     Key
	Value   []byte
	Version Version
}

// ConditionKind is what a Condition asks of its key.
type ConditionKind uint8

// The kinds of condition.
const (
	AtVersion   ConditionKind = iota // the key exists at Condition.Version
	Exists                           // the key exists at any version
	Absent                           // the key doesn't exist
	PrefixEmpty                      // no key that begins with Condition.Key exists
)

// Condition is one thing that must hold for a Commit to be applied.
type Condition struct {
	Kind    ConditionKind
	Key     Key
	Version Version // for AtVersion
}

// Change writes one record, or deletes it. Deleting an absent key is no error: who
// minds says so with a Condition.
type Change struct {
	Key     Key
	Value   []byte
	Version Version // of the record written
	Delete  bool
}

// Errors of a Registry. Every error of Commit wraps exactly one of ErrConflict,
// ErrUnknown and ErrNotApplied, so that a caller can always tell whether the change
// surely didn't happen, lost a race, or perhaps happened.
var (
	// ErrConflict: a condition didn't hold; surely nothing was changed. errors.As to a
	// *ConflictError says which and what was found.
	ErrConflict = errors.New("registry: condition failed")
	// ErrUnknown: perhaps applied, perhaps not. Whoever cleans up now may destroy data.
	ErrUnknown = errors.New("registry: outcome unknown")
	// ErrNotApplied: surely nothing was changed, for a reason other than a condition: the
	// registry is closed, full or read-only, or the context ended before the commit began.
	ErrNotApplied = errors.New("registry: not applied")
)

// Failure is a condition that didn't hold, with the record found under its key: for
// PrefixEmpty the first below it. Found is nil where there is none.
type Failure struct {
	Condition Condition
	Found     *Record
}

// ConflictError lists each failed condition of a Commit, in the order given. "Exists
// already", "no such parent", "lost the swap" and "this receipt is there" need
// different answers, so a caller looks at the keys.
type ConflictError struct{ Failures []Failure }

// Error names the failed keys, for logs.
func (e *ConflictError) Error() string {
	keys := make([]string, len(e.Failures))
	for i, f := range e.Failures {
		keys[i] = fmt.Sprintf("%q", string(f.Condition.Key))
	}
	return ErrConflict.Error() + ": " + strings.Join(keys, ", ")
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// Registry is the store of what native mounts own: a sorted key-value store with
// conditional multi-writes. It must be linearizable: what Commit acknowledged is
// durable, and every later Get and Scan of any replica sees it.
//
// All methods may be called at the same time by many goroutines. None keeps or changes
// the slices it is given after it returned; what it returns belongs to the caller.
// registrytest holds every implementation to this.
type Registry interface {
	// Get reads one record. ok is false where the key surely doesn't exist; any error
	// means that nothing is known. A read is never refused for a pending write.
	Get(ctx context.Context, key Key) (r Record, ok bool, err error)

	// Scan reads the records whose keys begin with prefix and sort after the key after
	// ("" for the first), in order, at most limit of them (and MaxScan; limit < 1 is
	// MaxScan). Fewer than the limit means that there are no more. One call sees one
	// state; two calls may see two. A backend may fail a Scan of more bytes than it
	// can hold, but none of less than 256 MiB.
	Scan(ctx context.Context, prefix, after Key, limit int) ([]Record, error)

	// Commit applies all changes if all conditions hold, else none. Conditions see the
	// state before the changes. nil means durable. For errors see ErrConflict, ErrUnknown
	// and ErrNotApplied. A key may stand in several conditions but in one change only;
	// that, an empty key in a change or anything over a bound is ErrNotApplied.
	// Once the commit has begun the context no longer stops it: an ended context gives
	// ErrNotApplied if it hadn't begun and is waited out otherwise, so that a caller who
	// went away doesn't make an outcome unknown.
	Commit(ctx context.Context, conditions []Condition, changes []Change) error

	// Close waits for commits under way and frees the store. Later calls fail with
	// ErrNotApplied (Commit) or another error.
	Close() error
}
