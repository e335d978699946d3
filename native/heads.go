package native

import (
	"context"
	"time"

	"piedmont/cache"
	"piedmont/mounts"
)

const (
	// headsBytes bounds the pointers that a catalog remembers of its own commits.
	headsBytes = 8 << 20
	// contendedFor is how long a table that another process committed to is read anew for
	// each commit: what is remembered of it would be stale, and its file written in vain.
	contendedFor = 10 * time.Second
)

// head is a table's pointer as a commit finds it.
type head struct {
	pointer pointer
	record  Record
	// remembered: it is what this process's last commit made it, and nobody asked whether it
	// still is. A swap finds out; a refusal or an answer without a swap must not rest on it.
	remembered bool
	// contended is until when it is of no use.
	contended time.Time
}

// heads saves a commit the question to the registry where the pointer is: a table that a
// process commits to is mostly its own for a while.
type heads = cache.Cache[Key, head]

func newHeads() *heads {
	return cache.New(headsBytes, func(k Key, h head) int64 { return 3*int64(len(k)) + int64(len(h.record.Value)) })
}

// head is the pointer that a commit to a table begins with.
func (c *Catalog) head(ctx context.Context, id mounts.Identifier) (head, error) {
	if h, ok := c.heads.Get(objectKey(c.id, id)); ok && h.remembered {
		return h, nil
	}
	return c.readHead(ctx, id)
}

func (c *Catalog) readHead(ctx context.Context, id mounts.Identifier) (head, error) {
	p, r, err := c.table(ctx, "updateTable", id)
	return head{pointer: p, record: r}, err
}

// remember keeps what a swap made of a pointer, unless others commit to the table too.
func (c *Catalog) remember(s changeset, p pointer) {
	for _, change := range s.changes {
		if string(change.Key[:1]) != kindObject {
			continue
		}
		if h, ok := c.heads.Get(change.Key); ok && c.now().Before(h.contended) {
			return
		}
		c.heads.Add(change.Key, head{pointer: p, record: Record{Key: change.Key, Value: change.Value, Version: change.Version}, remembered: true})
	}
}

// forgetHeads takes back what is remembered of the tables that were changed in other ways.
func (c *Catalog) forgetHeads(changes []Change) {
	for _, change := range changes {
		if h, ok := c.heads.Get(change.Key); ok && h.remembered {
			c.heads.Remove(change.Key)
		}
	}
}

// contend notes that what was remembered of a table was stale.
func (c *Catalog) contend(h head) {
	c.heads.Add(h.record.Key, head{contended: c.now().Add(contendedFor)})
}
