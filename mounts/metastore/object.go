package metastore

import (
	"context"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// object is what the source has under a name, by an answer that is as fresh as the mount
// promises, or of this moment.
func (c *Catalog) object(ctx context.Context, op string, id mounts.Identifier, now bool) (pointer, error) {
	if len(id.Namespace) != 1 {
		return pointer{absent: true, asked: c.now()}, nil // databases hold no databases
	}
	key := ObjectName{id.Namespace[0], id.Name}
	memory := c.memory != nil && !now
	if memory {
		if p, ok := c.memory.get(key); ok {
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
	came := c.now()
	p, err := c.asking.Do(ctx, key, func(ctx context.Context) (pointer, error) {
		if p, ok := c.memory.get(key); ok { // another question was answered since the look above
			return p, nil
		}
		return load(ctx)
	})
	if err == nil && p.asked.Before(came) && c.memory.outdated(key, p.asked) {
		// it joined a question that was sent before a change of which we knew when it came
		p, err = c.asking.DoFresh(ctx, key, load)
	}
	return p, c.fail(op, id.String(), err)
}

// fetch asks the source.
func (c *Catalog) fetch(ctx context.Context, op string, key ObjectName, id mounts.Identifier) (pointer, error) {
	asked := c.now()
	o, err := guard.Do(ctx, c.guard, op, id.String(), func(ctx context.Context) (Object, error) {
		return c.source.Object(ctx, key.Database, key.Name)
	})
	absent := mounts.Is(err, mounts.NoSuchTable) || mounts.Is(err, mounts.NoSuchNamespace)
	if err != nil && !absent {
		return pointer{}, err
	}
	p := pointer{absent: absent, kind: o.Kind, is: o.Is, location: o.MetadataLocation, asked: asked}
	if c.memory != nil {
		c.memory.keep(key, p)
	}
	return p, nil
}

// forget is for a pointer that turned out to be outdated.
func (c *Catalog) forget(id mounts.Identifier) {
	if c.memory != nil {
		c.memory.forget(ObjectName{id.Namespace[0], id.Name})
	}
}
