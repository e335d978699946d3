package native

import (
	"strings"
	"time"
)

// postponeBy is how long a restored registry leaves dropped tables alone, at least. A backup may
// say of a table that it is dropped and due for a purge, though it was restored
// behind the backup and is in use; who restored the registry needs time to see that.
const postponeBy = 7 * 24 * time.Hour

// postponed is a record of a dropped table as a restore writes it, and its entry in the queue.
func postponed(r Record, now time.Time) ([]Change, error) {
	d, err := decode[dropped](r)
	if err != nil {
		return nil, err
	}
	id, _, _ := strings.Cut(string(r.Key[len(kindDropped):]), nul)
	if earliest := now.UTC().Add(postponeBy); (d.State == Restorable || d.State == Purging) && d.Due.Before(earliest) {
		d.Due = earliest
		if d.State == Restorable {
			d.Until = earliest
		}
	}
	value, err := encode(d)
	return []Change{put(r.Key, value), put(dueKey(id, d.Due, r.Key), nil)}, err
}
