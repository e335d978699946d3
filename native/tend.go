package native

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"piedmont/mounts"
	"piedmont/vend"
)

const (
	// purgeLease is how long nobody else takes over a purge. Its holder renews it.
	purgeLease = 10 * time.Minute
	// maxPurgeBackoff bounds the time until a purge that failed is tried again.
	maxPurgeBackoff = 24 * time.Hour
	// reportedFor is how long what a purge came to can be looked up.
	reportedFor = 7 * 24 * time.Hour
	// concludeTimeout bounds the time for recording what a purge came to.
	concludeTimeout = 10 * time.Second
	// tendPage is how many entries of the queue are read at once.
	tendPage = 100
)

// Tend does what is due for dropped tables: it gives up those whose time is over, and removes
// the files of those whose drop asked for it. It returns when nothing is due any more, which
// may take long, or when the context ends. Several processes may tend one catalog: each
// purge is one's for a time. What fails is tried again later and doesn't keep the rest
// from being done; the error joins it all.
func (c *Catalog) Tend(ctx context.Context) error {
	var failed failures
	after := Key("")
	for {
		records, err := c.registry.Scan(ctx, dueOf(c.id), after, tendPage)
		if err != nil {
			return failed.and(fmt.Errorf("find dropped tables that are due: %w", err))
		}
		for _, r := range records {
			if strings.Compare(string(r.Key), string(dueKey(c.id, c.now().Add(time.Second), ""))) >= 0 {
				return failed.and(nil)
			}
			after = r.Key
			if err := c.tend(ctx, r.Key); err != nil {
				failed.add(err)
			}
			if err := ctx.Err(); err != nil {
				return failed.and(err)
			}
		}
		if len(records) < tendPage {
			return failed.and(nil)
		}
	}
}

// failures are the first of the errors of many tables, and how many there were.
type failures struct {
	first []error
	count int
}

// maxFailures bounds the errors that are told one by one.
const maxFailures = 10

func (f *failures) add(err error) {
	if f.count++; f.count <= maxFailures {
		f.first = append(f.first, err)
	}
}

// and is all of them and one more, nil where there is none.
func (f *failures) and(err error) error {
	if more := f.count - len(f.first); more > 0 {
		err = errors.Join(fmt.Errorf("and %d more", more), err)
	}
	return errors.Join(append(f.first, err)...)
}

// tend does what one entry of the queue is for.
func (c *Catalog) tend(ctx context.Context, due Key) error {
	key := due[len(dueKey(c.id, time.Time{}, "")):]
	r, ok, err := c.registry.Get(ctx, key)
	if err != nil {
		return err
	}
	if !ok {
		return nil // it was restored meanwhile
	}
	d, err := c.decodeDropped(r)
	if err != nil { // no reason to say so every few seconds
		later := put(dueKey(c.id, c.now().Add(maxPurgeBackoff), key), nil)
		return errors.Join(err, c.registry.Commit(ctx, nil, []Change{remove(due), later}))
	}
	if d.due(c) != due {
		return nil // somebody else is at it
	}
	if d.State == Purging || d.State == Restorable && d.Purge {
		return c.purge(ctx, &d)
	}
	s := c.forgetting(d)
	return unlessLost(c.registry.Commit(ctx, s.conditions, s.changes))
}

// unlessLost is nil where another process, or a restore, was faster.
func unlessLost(err error) error {
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// purge takes a dropped table for this process's own and removes its files.
func (c *Catalog) purge(ctx context.Context, d *droppedTable) error {
	again := d.Tries > 0
	if lost, err := c.claim(ctx, d); lost || err != nil {
		return err
	}
	report, err := c.purgeHeld(ctx, d, again)
	if errors.Is(err, errTakenOver) {
		return nil
	}
	// what was found out is kept, and what isn't done is left to others, also at a shutdown
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), concludeTimeout)
	defer cancel()
	if err != nil {
		return errors.Join(fmt.Errorf("purge the dropped table %s: %w", d.name, err), c.postpone(ctx, d))
	}
	return c.conclude(ctx, d, report)
}

// claim makes the purge of a table this process's for a time. From then on it can't be
// restored. lost says that somebody else was faster.
func (c *Catalog) claim(ctx context.Context, d *droppedTable) (lost bool, err error) {
	next := d.dropped
	next.State, next.Due, next.Tries = Purging, c.now().UTC().Add(purgeLease), d.Tries+1
	var changes []Change
	if left := d.left(c); left != "" {
		changes = append(changes, remove(left))
	}
	err = c.advance(ctx, d, next, changes...)
	return errors.Is(err, ErrConflict), unlessLost(err)
}

// renew keeps the purge this process's. The error says that it isn't any more.
func (c *Catalog) renew(ctx context.Context, d *droppedTable) error {
	if d.Due.Sub(c.now()) > purgeLease*2/3 {
		return nil
	}
	next := d.dropped
	next.Due = c.now().UTC().Add(purgeLease)
	if err := c.advance(ctx, d, next); !errors.Is(err, ErrConflict) {
		return err
	}
	return errTakenOver
}

// advance changes the record of a dropped table, unless it changed since it was read.
func (c *Catalog) advance(ctx context.Context, d *droppedTable, next dropped, more ...Change) error {
	s, err := c.becoming(*d, next)
	if err != nil {
		return err
	}
	if err := c.registry.Commit(ctx, s.conditions, append(s.changes, more...)); err != nil {
		return err
	}
	d.dropped, d.record.Version = next, s.changes[0].Version
	return nil
}

// purgeHeld purges while the table's location is held like a live table's, so that no other
// table comes to lie there meanwhile.
func (c *Catalog) purgeHeld(ctx context.Context, d *droppedTable, again bool) (PurgeReport, error) {
	l, keeps := purgeable(d.pointer)
	if keeps != "" {
		return PurgeReport{Reason: keeps}, nil
	}
	own := locationKey(kindLocation, l, c.id, d.pointer.Object)
	err := retry(ctx, "purgeTable", d.name.String(), func() error { return c.hold(ctx, d, l, own) })
	switch {
	case errors.Is(err, errAdopted):
		return PurgeReport{Reason: adopted}, nil
	case mounts.Is(err, mounts.BadRequest):
		return PurgeReport{Reason: "another table lies in or around its location"}, nil
	case err != nil:
		return PurgeReport{}, err
	}
	c.log.InfoContext(ctx, "purge begins", "table", d.name.String(), "location", d.pointer.Location, "tries", d.Tries)
	return c.purgeFiles(ctx, d, again)
}

// purgeable is where a purge would remove files, or why the pointer alone forbids it.
func purgeable(p pointer) (l vend.Location, keeps string) {
	l, err := vend.ParseLocation(p.Location)
	switch {
	case err != nil:
		return l, "its location is none that may be written"
	case p.UUID == "":
		return l, adopted // only registered tables have none
	}
	return l, ""
}

const adopted = "it was registered from a metadata file: its files may be another's too"

// errAdopted ends a purge of files that may be another table's too. errTakenOver ends one
// that is another process's now.
var (
	errAdopted   = errors.New(adopted)
	errTakenOver = errors.New("another process took over the purge")
)

// hold enters a table that is being purged among the live ones, if no other lies in or
// around its place and the purge is still this process's.
func (c *Catalog) hold(ctx context.Context, d *droppedTable, l vend.Location, own Key) error {
	live, err := c.apart(ctx, "purgeTable", kindLocation, l, "", own)
	if err != nil {
		return err
	}
	restorable, err := c.apart(ctx, "purgeTable", kindLeft, l, "", "")
	if err != nil {
		return err
	}
	conditions := slices.Concat([]Condition{
		{Kind: AtVersion, Key: d.record.Key, Version: d.record.Version},
		{Kind: Absent, Key: adoptedKey(d.pointer.UUID)},
	}, live, restorable)
	err = c.registry.Commit(ctx, conditions, []Change{put(own, []byte("{}"))})
	var lost *ConflictError
	switch {
	case !errors.As(err, &lost):
		return err
	case lost.names(d.record.Key):
		return errTakenOver
	case lost.names(adoptedKey(d.pointer.UUID)):
		return errAdopted
	}
	return errLost
}

// conclude records what a purge came to and lets go of the location.
func (c *Catalog) conclude(ctx context.Context, d *droppedTable, report PurgeReport) error {
	next := d.dropped
	next.State, next.Due, next.Report = Purged, c.now().UTC().Add(reportedFor), &report
	if report.Removed == 0 && report.Reason != "" {
		next.State = Kept
	}
	c.log.InfoContext(ctx, "purge ends", "table", d.name.String(), "location", d.pointer.Location,
		"removed", report.Removed, "outside", report.Outside, "unreadable", report.Unread, "reason", report.Reason)
	var changes []Change
	if own := c.placeKey(kindLocation, d.pointer); own != "" {
		changes = append(changes, remove(own))
	}
	return unlessLost(c.advance(ctx, d, next, changes...))
}

// postpone leaves a purge that failed to whoever comes first after a time that grows with
// each failure.
func (c *Catalog) postpone(ctx context.Context, d *droppedTable) error {
	next := d.dropped
	next.Due = c.now().UTC().Add(min(time.Minute<<min(d.Tries, 20), maxPurgeBackoff))
	return unlessLost(c.advance(ctx, d, next))
}
