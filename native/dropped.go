package native

import (
	"context"
	"strings"
	"time"

	"piedmont/mounts"
	"piedmont/vend"
)

// DroppedState is what became of a dropped table.
type DroppedState string

// The states of a dropped table.
const (
	// Restorable: nothing was removed yet, and RestoreTable brings it back.
	Restorable DroppedState = "restorable"
	// Purging: its files are being removed, or will be when the storage is back.
	Purging DroppedState = "purging"
	// Purged: its files were removed, as far as Dropped.Report says.
	Purged DroppedState = "purged"
	// Kept: a purge was asked for, but no file was removed, for Report.Reason.
	Kept DroppedState = "kept"
	// Damaged: its record can't be read, so nothing is done for it.
	Damaged DroppedState = "damaged"
)

// Dropped is a dropped table of which something is still known.
type Dropped struct {
	// ID tells tables apart that were dropped under one name.
	ID string `json:"id"`
	// Name is what it was called, below the mount.
	Name mounts.Identifier `json:"-"`
	// UUID, Location and MetadataLocation are those of the table when it was dropped.
	UUID             string `json:"uuid"`
	Location         string `json:"location"`
	MetadataLocation string `json:"metadata-location"`
	// DroppedAt and DroppedBy are when, and which principal.
	DroppedAt time.Time `json:"dropped-at"`
	DroppedBy string    `json:"dropped-by"`
	// RestorableUntil is when the table is given up, and its files are removed if Purge says so.
	RestorableUntil time.Time `json:"restorable-until"`
	// Purge says whether the drop asked for the files' removal.
	Purge bool `json:"purge"`
	// Keeps says why a purge that is still to come will remove nothing; empty where it may remove
	// files. What the table's document says of that is read by the purge alone.
	Keeps string       `json:"keeps,omitempty"`
	State DroppedState `json:"state"`
	// Report is what a purge came to; nil before it ended.
	Report *PurgeReport `json:"report,omitempty"`
}

// dropped is the record of a dropped table.
type dropped struct {
	Pointer   []byte       `json:"pointer"`
	DroppedAt time.Time    `json:"dropped-at"`
	DroppedBy string       `json:"dropped-by"`
	Until     time.Time    `json:"until"`
	Purge     bool         `json:"purge"`
	State     DroppedState `json:"state"`
	// Due is when something is to be done next: it leads to the record's entry in the queue.
	Due time.Time `json:"due"`
	// Tries counts how often a purge was begun.
	Tries  int          `json:"tries,omitempty"`
	Report *PurgeReport `json:"report,omitempty"`
}

// droppedTable is a record of a dropped table as it was read.
type droppedTable struct {
	dropped

	record  Record
	pointer pointer
	name    mounts.Identifier
}

func (c *Catalog) decodeDropped(r Record) (droppedTable, error) {
	d, err := decode[dropped](r)
	if err != nil {
		return droppedTable{}, err
	}
	p, err := decodePointer(Record{Key: r.Key, Value: d.Pointer})
	if err != nil {
		return droppedTable{}, err
	}
	name, _, err := droppedName(r)
	return droppedTable{dropped: d, record: r, pointer: p, name: name}, err
}

// droppedName is what the key of a record says.
func droppedName(r Record) (name mounts.Identifier, object string, err error) {
	parts := strings.Split(string(r.Key[len(kindDropped):]), nul) // id, namespace, name, object
	if len(parts) != 4 {
		return name, "", damaged(r, errDroppedKey)
	}
	return mounts.Namespace(strings.Split(parts[1], mounts.Separator)).Table(parts[2]), parts[3], nil
}

var errDroppedKey = &mounts.Error{Kind: mounts.Internal, Detail: "the key of a dropped table has other than four parts"}

// left is a dropped table's key in the index of places that may be asked for again.
func (d droppedTable) left(c *Catalog) Key { return c.placeKey(kindLeft, d.pointer) }

func (d droppedTable) due(c *Catalog) Key { return dueKey(c.id, d.Due, d.record.Key) }

// becoming changes a record of a dropped table from the state that was read to the next, and
// its place in the queue.
func (c *Catalog) becoming(d droppedTable, next dropped) (changeset, error) {
	value, err := encode(next)
	s := changeset{
		conditions: []Condition{{Kind: AtVersion, Key: d.record.Key, Version: d.record.Version}},
		changes:    []Change{put(d.record.Key, value)},
	}
	if old, due := d.due(c), dueKey(c.id, next.Due, d.record.Key); old != due {
		s.changes = append(s.changes, remove(old), put(due, nil))
	}
	return s, err
}

// forgetting removes all that is known of a dropped table.
func (c *Catalog) forgetting(d droppedTable) changeset {
	s := changeset{
		conditions: []Condition{{Kind: AtVersion, Key: d.record.Key, Version: d.record.Version}},
		changes:    []Change{remove(d.record.Key), remove(d.due(c))},
	}
	if left := d.left(c); left != "" {
		s.changes = append(s.changes, remove(left))
	}
	return s
}

// leaving makes the record of a table that is being dropped. It is empty where nothing is
// to be kept of it and nothing to be removed.
func (c *Catalog) leaving(id mounts.Identifier, caller mounts.Caller, p pointer, purge bool) (changeset, error) {
	if c.undrop == 0 && !purge {
		return changeset{}, nil
	}
	encoded, err := p.encode()
	if err != nil {
		return changeset{}, err
	}
	now := c.now().UTC()
	d := dropped{
		Pointer: encoded, DroppedAt: now, DroppedBy: caller.Principal, Purge: purge,
		State: Restorable, Until: now.Add(c.undrop), Due: now.Add(c.undrop),
	}
	value, err := encode(d)
	if err != nil {
		return changeset{}, err
	}
	key := droppedAs(c.id, id) + Key(p.Object)
	s := changeset{changes: []Change{put(key, value), put(dueKey(c.id, d.Due, key), nil)}}
	if left := c.placeKey(kindLeft, p); left != "" {
		where, err := encode(place{UUID: p.UUID})
		if err != nil {
			return changeset{}, err
		}
		s.changes = append(s.changes, put(left, where))
	}
	return s, nil
}

// ListDropped lists the dropped tables of which something is still known, in the order of
// their names, one page at a time. Names are those below the mount.
func (c *Catalog) ListDropped(ctx context.Context, p mounts.Page) (list []Dropped, next string, err error) {
	prefix := Key(kindDropped + c.id + nul)
	after := Key("")
	if p.Token != "" {
		after = prefix + Key(p.Token)
	}
	records, err := c.registry.Scan(ctx, prefix, after, p.Size)
	if err != nil {
		return nil, "", unavailable("list dropped tables", "", err)
	}
	for _, r := range records {
		name, object, err := droppedName(r)
		if err != nil {
			return nil, "", err
		}
		d, err := c.decodeDropped(r)
		if err != nil {
			c.log.WarnContext(ctx, "a dropped table's record can't be read", "table", name.String(), "error", err)
			list = append(list, Dropped{ID: object, Name: name, State: Damaged})
			continue
		}
		public := d.public()
		if d.Purge && d.State == Restorable {
			if public.Keeps, err = c.keeps(ctx, d.pointer); err != nil {
				return nil, "", unavailable("list dropped tables", name.String(), err)
			}
		}
		list = append(list, public)
	}
	if p.Size > 0 && len(records) == p.Size {
		next = string(records[len(records)-1].Key[len(prefix):])
	}
	return list, next, nil
}

// keeps is why a purge of a table would remove nothing, as far as the registry knows.
func (c *Catalog) keeps(ctx context.Context, p pointer) (string, error) {
	if _, reason := purgeable(p); reason != "" {
		return reason, nil
	}
	_, marked, err := c.registry.Get(ctx, adoptedKey(p.UUID))
	if err != nil || !marked {
		return "", err
	}
	return adopted, nil
}

func (d droppedTable) public() Dropped {
	return Dropped{
		ID: d.pointer.Object, Name: d.name, UUID: d.pointer.UUID, Location: d.pointer.Location, MetadataLocation: d.pointer.Metadata,
		DroppedAt: d.DroppedAt, DroppedBy: d.DroppedBy, RestorableUntil: d.Until, Purge: d.Purge, State: d.State, Report: d.Report,
	}
}

// placeKey is a table's key in an index of locations; empty where its location is none.
func (c *Catalog) placeKey(kind string, p pointer) Key {
	l, err := vend.ParseLocation(p.Location)
	if err != nil {
		return ""
	}
	return locationKey(kind, l, c.id, p.Object)
}
