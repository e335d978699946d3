package native

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/native/metadata"
	"piedmont/vend"
)

// document reads a metadata document through the cache.
func (c *Catalog) document(ctx context.Context, p *vend.Profile, l vend.Location) (*cache.Document, error) {
	return vend.ReadDocument(ctx, c.documents, p, l)
}

// open reads a metadata file as a document that updates can be applied to.
func (c *Catalog) open(ctx context.Context, id mounts.Identifier, location string) (*metadata.Document, error) {
	p, l, err := c.storage.Find(location)
	if err != nil {
		return nil, misplaced("updateTable", id, err)
	}
	key := vend.DocumentKey{Profile: p.Name, Location: l.String()}
	if d, ok := c.parsed.Get(key); ok {
		return d, nil
	}
	raw, err := c.document(ctx, p, l)
	if err != nil {
		return nil, err
	}
	d, err := metadata.Parse(raw.Raw())
	if err != nil {
		return nil, &mounts.Error{Kind: mounts.Internal, Op: "updateTable", Name: id.String(), Detail: "Not a table's metadata: " + location, Err: err}
	}
	if vend.IsImmutable(l) {
		c.parsed.Add(key, d)
	}
	return d, nil
}

// base is the document that commits to a table build on. It must be that very table's: a
// file put in the place of another would lose what the table held.
func (c *Catalog) base(ctx context.Context, id mounts.Identifier, p pointer) (*metadata.Document, error) {
	d, err := c.open(ctx, id, p.Metadata)
	if err == nil && d.UUID() != p.UUID {
		return nil, c.foreignDocument(id, p)
	}
	return d, err
}

// checkOwn refuses a document that isn't that of the pointer's table or view.
func (c *Catalog) checkOwn(id mounts.Identifier, p pointer, d *cache.Document) error {
	uuid := d.TableUUID()
	if p.Type == typeView {
		uuid = d.ViewUUID()
	}
	if uuid != p.UUID {
		return c.foreignDocument(id, p)
	}
	return nil
}

// foreignDocument is the error for a metadata file that holds another table or view than
// the one whose pointer leads to it. It isn't kept, so that the table is served as soon as
// its own file is back.
func (c *Catalog) foreignDocument(id mounts.Identifier, p pointer) error {
	if profile, l, err := c.storage.Find(p.Metadata); err == nil {
		key := vend.DocumentKey{Profile: profile.Name, Location: l.String()}
		c.documents.Remove(key)
		c.parsed.Remove(key)
	}
	return &mounts.Error{Kind: mounts.Internal, Op: "read metadata file", Name: id.String(), Detail: "Not the metadata of {name}, as its uuid is another: " + p.Metadata}
}

// document is what table and view metadata have in common.
type document interface {
	Bytes() []byte
	UUID() string
	Location() string
	Property(name string) (value string, ok bool)
}

// file is a metadata file about to be written.
type file struct {
	profile  *vend.Profile
	location vend.Location
	document document
	gzipped  bool
	// expires: the files that fall out of the metadata log by this one are to be deleted.
	expires bool
}

// name chooses where the next document of a table or view goes: a fresh name in its metadata
// folder, numbered one above the file before it.
func (c *Catalog) name(d document, before string) (file, error) {
	f := file{document: d}
	suffix := ".metadata.json"
	if codec, _ := d.Property("write.metadata.compression-codec"); strings.EqualFold(codec, "gzip") {
		f.gzipped, suffix = true, ".gz.metadata.json"
	}
	expires, _ := d.Property("write.metadata.delete-after-commit.enabled")
	f.expires = strings.EqualFold(expires, "true")
	name := fmt.Sprintf("%s/%05d-%s%s", metadataFolder(d), number(before)+1, uuid.New(), suffix)
	var err error
	f.profile, f.location, err = c.storage.Find(name)
	return f, err
}

// metadataFolder is where the metadata files of a table or view go.
func metadataFolder(d document) string {
	folder, ok := d.Property("write.metadata.path")
	if !ok {
		return strings.TrimRight(d.Location(), "/") + "/metadata"
	}
	return strings.TrimRight(folder, "/")
}

// number is the leading number of a metadata file's name; -1 where there is no file
// before, and where its name has none (a registered one).
func number(location string) int {
	digits, _, ok := strings.Cut(path.Base(location), "-")
	n, err := strconv.Atoi(digits)
	if location == "" || !ok || err != nil || n < 0 {
		return -1
	}
	return n
}

// write makes the file. Whatever the error, the registry doesn't point to the file, so
// surely nothing was committed. A panic is an error too: commits write on goroutines of
// their own, where it would end the process.
func (f file) write(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &mounts.Error{Kind: mounts.Internal, Op: "write metadata file", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	data := f.document.Bytes()
	if f.gzipped {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("pack metadata: %w", err)
		}
		if err := w.Close(); err != nil {
			return fmt.Errorf("pack metadata: %w", err)
		}
		data = b.Bytes()
	}
	if err := f.profile.Files.Create(ctx, f.location, data); err != nil {
		detail := "The metadata file could not be written; nothing was committed"
		if e := (*mounts.Error)(nil); errors.As(err, &e) {
			switch e.Kind {
			case mounts.BadRequest:
				return &mounts.Error{Kind: mounts.BadRequest, Op: "write metadata file", Detail: e.Detail, Err: err} // it will never pass
			case mounts.Unavailable: // it names the storage profile
				detail += ": " + e.Detail
			default:
			}
		}
		return &mounts.Error{Kind: mounts.Unavailable, Op: "write metadata file", Detail: detail, Err: err}
	}
	return nil
}

// leavesNothing says of a write's error that no file of ours is there: none at all, or one
// that isn't ours to delete.
func leavesNothing(err error) bool {
	return errors.Is(err, vend.ErrExists) || errors.Is(err, vend.ErrNotWritten)
}

// keep puts a document that was just committed in the caches, and returns it as a load
// would.
func (c *Catalog) keep(f file) *mounts.Table {
	d := cache.TrustedDocument(f.document.Bytes())
	key := vend.DocumentKey{Profile: f.profile.Name, Location: f.location.String()}
	c.documents.Add(key, d)
	if table, ok := f.document.(*metadata.Document); ok {
		c.parsed.Add(key, table)
	}
	return tableOf(f.location.Verbatim(), f.profile.Name, d)
}

// tableOf is a table whose document is at hand.
func tableOf(location, profile string, d *cache.Document) *mounts.Table {
	return &mounts.Table{
		MetadataLocation: location, Version: location, Storage: profile,
		Metadata: func(context.Context) (mounts.Document, error) { return d, nil },
	}
}
