package native

import (
	"context"
	"slices"

	"piedmont/native/metadata"
	"piedmont/vend"
)

// expire deletes the metadata files that fell out of a table's metadata log by a commit,
// or by a chain of them, in the background, if the table asks for it. documents are the one
// the chain began with and those that it made, in their order; the pointer is at the file of
// the last.
func (c *Catalog) expire(ctx context.Context, current file, documents ...*metadata.Document) {
	if !current.expires {
		return
	}
	c.cleaner.start(ctx, "a metadata file that fell out of its table's log", func(ctx context.Context) []doomed {
		return c.expired(ctx, current.location, documents)
	})
}

func (c *Catalog) expired(ctx context.Context, current vend.Location, documents []*metadata.Document) []doomed {
	last := documents[len(documents)-1]
	folder, err := vend.ParseLocation(metadataFolder(last))
	if err != nil {
		return nil // such a table could not have been committed to
	}
	dropped := fallenOut(documents)
	if len(dropped) == 0 || c.isShared(ctx, last) {
		return nil
	}
	var list []doomed
	for _, name := range dropped {
		profile, l, err := c.storage.Find(name)
		if err != nil || !l.Under(folder) || l.IsDir() || l.Equal(current) {
			continue // not a file of this table's: who put it there may need it
		}
		list = append(list, doomed{profile, l})
	}
	return list
}

// fallenOut are the files that some document lists and the last one doesn't.
func fallenOut(documents []*metadata.Document) []string {
	kept := documents[len(documents)-1].MetadataLog()
	var dropped []string
	for _, d := range documents[:len(documents)-1] {
		for _, file := range d.MetadataLog() {
			if !slices.Contains(kept, file) && !slices.Contains(dropped, file) {
				dropped = append(dropped, file)
			}
		}
	}
	return dropped
}

// isShared says whether the table's files are another's too, or perhaps: of another name that
// lies where it does, also a dropped one that can be restored, or of the catalog that it was
// registered from. The files that this one needs no more may be what the other points to.
func (c *Catalog) isShared(ctx context.Context, d *metadata.Document) bool {
	l, err := vend.ParseLocation(d.Location())
	if err != nil {
		return true
	}
	live, err := c.registry.Scan(ctx, at(kindLocation, l.String()), "", 2)
	var left []Record
	var adopted bool
	if err == nil {
		left, err = c.registry.Scan(ctx, at(kindLeft, l.String()), "", 1)
	}
	if err == nil {
		_, adopted, err = c.registry.Get(ctx, adoptedKey(d.UUID()))
	}
	if err != nil {
		c.log.WarnContext(ctx, "old metadata files stay", "location", d.Location(), "error", err)
	}
	return err != nil || len(live) != 1 || len(left) > 0 || adopted
}
