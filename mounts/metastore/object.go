package metastore

import (
	"context"
	"time"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// maxAbsent is how long an absence is kept at most, where FreshFor allows to keep anything: who
// creates a table expects to see it.
const maxAbsent = time.Second

// objectName is a name in a database.
type objectName struct{ database, name string }

// pointer is what is kept of an Object, or of its absence.
type pointer struct {
	absent   bool
	kind     Kind
	is       string
	location string
	asked    time.Time // when the question was sent that this answers
}

func sizeOfPointer(n objectName, p pointer) int64 {
	const fixed = 128
	return int64(fixed + len(n.database) + len(n.name) + len(p.is) + len(p.location))
}

// object is what the source has under a name, by an answer that is as fresh as the mount
// promises, or of this moment.
func (c *Catalog) object(ctx context.Context, op string, id mounts.Identifier, now bool) (pointer, error) {
	if len(id.Namespace) != 1 {
		return pointer{absent: true, asked: c.now()}, nil // databases hold no databases
	}
	key := objectName{id.Namespace[0], id.Name}
	memory := c.pointers != nil && !now
	if memory {
		if p, ok := c.remembered(key); ok {
			return p, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	load := func(ctx context.Context) (pointer, error) { return c.fetch(ctx, op, key, id) }
	if !memory {
		p, err := c.asking.DoFresh(ctx, key, load)
		return p, c.fail(op, id.String(), err)
	}
	p, err := c.asking.Do(ctx, key, func(ctx context.Context) (pointer, error) {
		if p, ok := c.remembered(key); ok { // another question was answered since the look above
			return p, nil
		}
		return load(ctx)
	})
	return p, c.fail(op, id.String(), err)
}

// remembered is what the source said, if that isn't too long ago.
func (c *Catalog) remembered(key objectName) (pointer, bool) {
	p, ok := c.pointers.Get(key)
	if !ok {
		return p, false
	}
	keep := c.freshFor
	if p.absent {
		keep = min(keep, maxAbsent)
	}
	return p, c.now().Sub(p.asked) < keep
}

// fetch asks the source.
func (c *Catalog) fetch(ctx context.Context, op string, key objectName, id mounts.Identifier) (pointer, error) {
	asked := c.now()
	o, err := guard.Do(ctx, c.guard, op, id.String(), func(ctx context.Context) (Object, error) {
		return c.source.Object(ctx, key.database, key.name)
	})
	absent := mounts.Is(err, mounts.NoSuchTable) || mounts.Is(err, mounts.NoSuchNamespace)
	if err != nil && !absent {
		return pointer{}, err
	}
	p := pointer{absent: absent, kind: o.Kind, is: o.Is, location: o.MetadataLocation, asked: asked}
	c.remember(key, p)
	return p, nil
}

// remember keeps an answer, unless one to a later question is there already.
func (c *Catalog) remember(key objectName, p pointer) {
	if c.pointers == nil {
		return
	}
	if known, ok := c.pointers.Get(key); ok && known.asked.After(p.asked) {
		return
	}
	c.pointers.Add(key, p)
}

// forget is for a pointer that turned out to be outdated.
func (c *Catalog) forget(id mounts.Identifier) {
	if c.pointers != nil {
		c.pointers.Remove(objectName{id.Namespace[0], id.Name})
	}
}
