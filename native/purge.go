package native

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"piedmont/mounts"
	"piedmont/native/metadata"
	"piedmont/vend"
)

// PurgeReport is what a purge came to.
type PurgeReport struct {
	// Removed counts the files that were deleted, of data and of metadata. A file that a
	// purge before, which was interrupted, had deleted already is counted again.
	Removed int64 `json:"removed"`
	// Outside counts the files that the table names and that stay, since they lie outside
	// of its own locations.
	Outside int64 `json:"outside,omitempty"`
	// Unread counts the manifests and manifest lists that can't be read. They stay, as what
	// they name does, which nobody can tell.
	Unread int64 `json:"unread,omitempty"`
	// Unreadable are the first hundred of them.
	Unreadable []string `json:"unreadable,omitempty"`
	// Reason says why nothing was removed.
	Reason string `json:"reason,omitempty"`
}

const (
	// purgersAtOnce bounds the files that one purge deletes at once.
	purgersAtOnce = 16
	// maxManifestBytes bounds a manifest or a manifest list that a purge reads.
	maxManifestBytes = 256 << 20
	// maxSeen bounds the files that are remembered so as to be counted once.
	maxSeen = 4 << 20
	// maxUnreadable bounds the list in a report.
	maxUnreadable = 100
	// purgeBatch is how many files are deleted between looks at the lease, and purgeBatchTime how
	// long that may take: less than the lease, so that no file goes behind its end.
	purgeBatch     = 2000
	purgeBatchTime = purgeLease / 2
)

// purge deletes the files of one dropped table: those that its metadata names and that lie
// below its own locations, nothing else. Files go before what names them, so that a purge
// that was interrupted can begin again.
type purge struct {
	c      *Catalog
	d      *droppedTable
	own    []vend.Location
	seen   map[[16]byte]struct{} // digests of the last maxSeen files met, or fewer
	unread map[string]bool       // manifests and lists that can't be read
	report PurgeReport
}

// purgeFiles deletes a dropped table's files. again says that it was begun before. An error
// means that it should be tried again later.
func (c *Catalog) purgeFiles(ctx context.Context, d *droppedTable, again bool) (PurgeReport, error) {
	document, err := c.base(ctx, d.name, d.pointer)
	switch {
	case mounts.Is(err, mounts.NotFound) && again:
		return PurgeReport{}, nil // it goes last
	case mounts.Is(err, mounts.NotFound):
		return PurgeReport{Reason: "its metadata file is gone"}, nil
	case mounts.Is(err, mounts.Internal):
		return PurgeReport{Reason: unreadableMetadata}, nil
	case err != nil:
		return PurgeReport{}, err
	}
	if gc, ok := document.Property("gc.enabled"); ok && !strings.EqualFold(gc, "true") { // as Iceberg's Java reads it
		// Java would take the metadata files nevertheless, and with them all knowledge of the data.
		return PurgeReport{Reason: "gc.enabled is not true"}, nil
	}
	named, err := document.Referenced()
	if err != nil {
		return PurgeReport{Reason: unreadableMetadata}, nil //nolint:nilerr // trying again won't help
	}
	own, err := ownLocation(d.pointer, document)
	if err != nil {
		return PurgeReport{Reason: "its metadata file tells of another location"}, nil //nolint:nilerr // it isn't what was dropped
	}
	p := &purge{c: c, d: d, seen: map[[16]byte]struct{}{}, unread: map[string]bool{}}
	if p.own, err = c.ownLocations(ctx, document, own); err == nil {
		err = p.run(ctx, document, named, d.pointer.Metadata)
	}
	return p.report, err
}

const unreadableMetadata = "its metadata file can't be read"

// ownLocation is where a dropped table lies. The purge holds the location of the pointer, so a
// file that was put in the document's place and tells of another is an error.
func ownLocation(p pointer, d *metadata.Document) (vend.Location, error) {
	held, err := vend.ParseLocation(p.Location)
	if err != nil {
		return held, err
	}
	told, err := vend.ParseLocation(d.Location())
	if err == nil && !told.Equal(held) {
		err = fmt.Errorf("the document lies at %s, not at %s", told, held)
	}
	return held, err
}

// ownLocations are where a table's files are its own: its location, and where its properties
// lead, unless another table lies in or around that.
func (c *Catalog) ownLocations(ctx context.Context, d *metadata.Document, location vend.Location) ([]vend.Location, error) {
	own := []vend.Location{location}
	for _, p := range placesOf(d) {
		l, err := vend.ParseLocation(p.value)
		if err != nil || l.Under(own[0]) {
			continue
		}
		alone, err := c.isAlone(ctx, l, own[0])
		if err != nil {
			return nil, err
		}
		if alone {
			own = append(own, l)
		}
	}
	return own, nil
}

// isAlone says whether no other table, live or restorable, lies in or around a place of the table at
// a location.
func (c *Catalog) isAlone(ctx context.Context, l, table vend.Location) (bool, error) {
	for _, kind := range []string{kindLocation, kindLeft} {
		prefixes := []Key{inOrBelow(kind, l)}
		for _, around := range above(l) {
			prefixes = append(prefixes, at(kind, around))
		}
		for _, prefix := range prefixes {
			records, err := c.registry.Scan(ctx, prefix, "", 2)
			if err != nil {
				return false, unavailable("purgeTable", "", err)
			}
			for _, r := range records {
				if !strings.HasPrefix(string(r.Key), string(at(kind, table.String()))) {
					return false, nil
				}
			}
		}
	}
	return true, nil
}

func (p *purge) run(ctx context.Context, document *metadata.Document, named metadata.Referenced, current string) error {
	manifests, err := p.manifests(ctx, named)
	if err != nil {
		return err
	}
	if manifests, err = p.data(ctx, manifests); err != nil {
		return err
	}
	lists := slices.DeleteFunc(named.ManifestLists, func(name string) bool { return p.unread[name] })
	for _, files := range [][]string{manifests, lists, named.Statistics, document.MetadataLog(), {current}} {
		if err := p.remove(ctx, files); err != nil {
			return err
		}
	}
	return nil
}

// manifests reads the manifest lists. One that is gone was deleted by a purge before.
func (p *purge) manifests(ctx context.Context, named metadata.Referenced) ([]string, error) {
	found := map[string]struct{}{} // a list names most of what the one before it names
	for _, name := range named.Manifests {
		found[name] = struct{}{}
	}
	for _, list := range named.ManifestLists {
		paths, err := p.read(ctx, list, manifestsIn)
		if err != nil {
			return nil, err
		}
		for _, name := range paths {
			found[name] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// data deletes the files that the manifests name, and returns the manifests that may go.
func (p *purge) data(ctx context.Context, manifests []string) ([]string, error) {
	var done []string
	for _, manifest := range manifests {
		files, err := p.read(ctx, manifest, filesIn)
		if err == nil {
			err = p.remove(ctx, files)
		}
		if err != nil {
			return nil, err
		}
		if !p.unread[manifest] {
			done = append(done, manifest)
		}
	}
	return done, nil
}

// read decodes a manifest or a manifest list, wherever the mount may read.
func (p *purge) read(ctx context.Context, name string, decode func(context.Context, []byte) ([]string, error)) ([]string, error) {
	if err := p.c.renew(ctx, p.d); err != nil { // there may be thousands to read, one after another
		return nil, err
	}
	profile, l, err := p.c.locateFile(name)
	if err != nil {
		return nil, nil //nolint:nilerr // it is outside, and is counted when its turn to go comes
	}
	raw, err := profile.Files.Read(ctx, l, maxManifestBytes)
	switch {
	case mounts.Is(err, mounts.NotFound), mounts.Is(err, mounts.BadRequest): // no file can have such a name there
		return nil, nil
	case errors.Is(err, vend.ErrTooLarge):
	case err != nil:
		return nil, err
	default:
		names, err := decode(ctx, raw)
		if err == nil || ctx.Err() != nil {
			return names, err
		}
		p.c.log.WarnContext(ctx, "a purge passes over a file it can't read", "location", name, "error", err)
	}
	p.unread[name] = true
	if p.report.Unread++; p.report.Unread <= maxUnreadable {
		p.report.Unreadable = append(p.report.Unreadable, name)
	}
	return nil, nil
}

// locateFile is where a file lies that a table's metadata names.
func (c *Catalog) locateFile(name string) (*vend.Profile, vend.Location, error) {
	l, err := vend.ParseFile(name)
	if err != nil {
		return nil, l, err
	}
	profile, err := c.storage.Profile(l)
	return profile, l, err
}

// owns says whether a file lies below the table's own locations.
func (p *purge) owns(l vend.Location) bool {
	return !l.IsDir() && slices.ContainsFunc(p.own, func(own vend.Location) bool { return l.Under(own) && !l.Equal(own) })
}

// remove deletes those of the files that are the table's own, each once.
func (p *purge) remove(ctx context.Context, names []string) error {
	for batch := range slices.Chunk(names, purgeBatch) {
		if err := p.c.renew(ctx, p.d); err != nil {
			return err
		}
		if err := p.removeBatch(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

func (p *purge) removeBatch(ctx context.Context, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, purgeBatchTime)
	defer cancel()
	var removed atomic.Int64
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(purgersAtOnce)
	for _, name := range names {
		sum := sha256.Sum256([]byte(name))
		digest := [16]byte(sum[:])
		if _, ok := p.seen[digest]; ok {
			continue
		}
		if len(p.seen) == maxSeen {
			clear(p.seen)
		}
		p.seen[digest] = struct{}{}
		profile, l, err := p.c.locateFile(name)
		if err != nil || !p.owns(l) {
			p.report.Outside++
			continue
		}
		workers.Go(func() error {
			err := profile.Files.Delete(ctx, l)
			if mounts.Is(err, mounts.BadRequest) {
				return nil // no file can have such a name there, and waiting won't help
			}
			if err == nil {
				removed.Add(1)
			}
			return err
		})
	}
	err := workers.Wait()
	p.report.Removed += removed.Load()
	return err
}
