package native

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"piedmont/mounts"
)

// receiptLifetime is how long a mutation sent again under its Idempotency-Key is answered
// as the first time, at least.
const receiptLifetime = 30 * time.Minute

// receiptChanges is how many conditions or changes a receipt adds to a commit, at most.
const receiptChanges = 2

// ReceiptLifetime is half an hour.
func (c *Catalog) ReceiptLifetime() time.Duration { return receiptLifetime }

// receipt is the record of what a mutation came to.
type receipt struct {
	Fingerprint      [32]byte                 `json:"fingerprint"`
	MetadataLocation string                   `json:"metadata-location,omitempty"`
	Properties       *mounts.PropertiesUpdate `json:"properties,omitempty"`
	Refusal          *storedRefusal           `json:"refusal,omitempty"`
}

// storedRefusal is an error as a record keeps it. Kinds are stored by their names: their
// numbers may change.
type storedRefusal struct {
	Kind   string `json:"kind"`
	Op     string `json:"op"`
	Name   string `json:"name"`
	Other  string `json:"other,omitempty"`
	Detail string `json:"detail,omitempty"`
}

func receiptKey(c mounts.Caller) Key {
	return Key(kindReceipt + c.Principal + nul + string(c.Receipt.Key[:]))
}

func expiryKey(at time.Time, receipt Key) Key {
	return Key(kindExpiry) + Key(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()))) + receipt
}

// storing is the change that keeps a receipt: put if absent, so that of two requests under
// one key only one is carried out. Without a receipt it is empty.
func (c *Catalog) storing(caller mounts.Caller, r receipt) (changeset, error) {
	if caller.Receipt == nil {
		return changeset{}, nil
	}
	r.Fingerprint = caller.Receipt.Fingerprint
	value, err := encode(r)
	if err != nil {
		return changeset{}, err
	}
	key := receiptKey(caller)
	return changeset{
		conditions: []Condition{{Kind: Absent, Key: key}},
		// one second more than promised: expiries are whole seconds
		changes: []Change{put(key, value), put(expiryKey(c.now().Add(receiptLifetime+time.Second), key), nil)},
	}, nil
}

// commit makes one registry commit of the parts and, with them, keeps the receipt of a
// success. Where the receipt is there already it is Replayed; other conflicts are
// conflict's to judge.
func (c *Catalog) commit(ctx context.Context, op, name string, caller mounts.Caller, s changeset, r receipt, conflict func(*ConflictError) error) error {
	kept, err := c.storing(caller, r)
	if err != nil {
		return err
	}
	s.add(kept)
	err = c.registry.Commit(ctx, s.conditions, s.changes)
	c.forgetHeads(s.changes)
	return committed(op, name, err, func(lost *ConflictError) error {
		if caller.Receipt != nil && lost.names(receiptKey(caller)) {
			return replayed(op, name)
		}
		return conflict(lost)
	})
}

func replayed(op, name string) error { return &mounts.Error{Kind: mounts.Replayed, Op: op, Name: name} }

// names says whether a condition on that key failed.
func (e *ConflictError) names(key Key) bool {
	for _, f := range e.Failures {
		if f.Condition.Key == key {
			return true
		}
	}
	return false
}

// Outcome reads what a caller's receipt came to.
func (c *Catalog) Outcome(ctx context.Context, caller mounts.Caller) (mounts.Outcome, bool, error) {
	r, ok, err := c.registry.Get(ctx, receiptKey(caller))
	if err != nil {
		return mounts.Outcome{}, false, unavailable("read receipt", "", err)
	}
	if !ok {
		return mounts.Outcome{}, false, nil
	}
	stored, err := decode[receipt](r)
	o := mounts.Outcome{Fingerprint: stored.Fingerprint, MetadataLocation: stored.MetadataLocation, Properties: stored.Properties}
	if f := stored.Refusal; f != nil {
		o.Refusal = &mounts.Error{Kind: mounts.KindNamed(f.Kind), Op: f.Op, Name: f.Name, Other: f.Other, Detail: f.Detail}
	}
	return o, true, err
}

// KeepRefusal stores a refusal under the caller's receipt, by a commit of its own.
func (c *Catalog) KeepRefusal(ctx context.Context, caller mounts.Caller, refusal *mounts.Error) error {
	s, err := c.storing(caller, receipt{Refusal: &storedRefusal{
		Kind: refusal.Kind.String(), Op: refusal.Op, Name: refusal.Name, Other: refusal.Other, Detail: refusal.Detail,
	}})
	if err != nil {
		return err
	}
	err = c.registry.Commit(ctx, s.conditions, s.changes)
	return committed("keep receipt", "", err, func(*ConflictError) error { return replayed("keep receipt", "") })
}

// TableAt is the table of a metadata file, whatever became of the table since. The change
// that it is the outcome of was applied, so every error is CommitStateUnknown, also where
// the file was removed since.
func (c *Catalog) TableAt(ctx context.Context, location string) (*mounts.Table, error) {
	table, _, err := c.lyingAt(ctx, mounts.Identifier{}, location)
	return table, unreadable(mounts.Identifier{}, err)
}

const (
	// sweepPage is how many expired receipts one registry commit removes.
	sweepPage = 500
	// sweepPages bounds one Sweep.
	sweepPages = 200
)

// Sweep removes receipts whose time is over, up to 100,000. They sort by their expiry, so
// those still needed are not looked at. It returns how many went.
func Sweep(ctx context.Context, r Registry, now time.Time) (int, error) {
	end := string(expiryKey(now, ""))
	removed := 0
	for range sweepPages {
		found, err := r.Scan(ctx, kindExpiry, "", sweepPage)
		if err != nil {
			return removed, fmt.Errorf("find expired receipts: %w", err)
		}
		var changes []Change
		for _, record := range found {
			if strings.Compare(string(record.Key), end) >= 0 {
				break
			}
			changes = append(changes, remove(record.Key), remove(record.Key[len(end):]))
		}
		if len(changes) == 0 {
			return removed, nil
		}
		if err := r.Commit(ctx, nil, changes); err != nil {
			return removed, fmt.Errorf("remove expired receipts: %w", err)
		}
		removed += len(changes) / 2
	}
	return removed, nil
}
