package native

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/google/uuid"

	"piedmont/cache"
	"piedmont/mounts"
	"piedmont/native/metadata"
)

// CreateTable creates a table, or only says what it would be (stage-create): staging
// writes nothing and reserves nothing.
func (c *Catalog) CreateTable(ctx context.Context, caller mounts.Caller, id mounts.Identifier, body []byte) (*mounts.Table, error) {
	const op = "createTable"
	request, err := metadata.ParseCreate(body)
	if err != nil {
		return nil, err
	}
	if err := c.mustBeFree(ctx, op, id, typeTable); err != nil {
		return nil, err
	}
	unique := newID(caller, request.StageCreate)
	location, err := c.locate(ctx, op, id, request.Location, unique)
	if err != nil {
		return nil, err
	}
	d, err := metadata.New(request, c.createOptions(location, unique))
	if err != nil {
		return nil, err
	}
	if err := c.checkNewPlaces(ctx, op, d, nil, ""); err != nil {
		return nil, err
	}
	if request.StageCreate {
		return c.staged(d)
	}
	return c.create(ctx, op, id, typeTable, caller, d)
}

// newID is what tells a new table from all others, in its uuid and its location. Staging
// keeps no receipt, so under an Idempotency-Key the id follows from the request: sent again
// it is answered with the same table.
func newID(caller mounts.Caller, staged bool) uuid.UUID {
	if !staged || caller.Receipt == nil {
		return uuid.New()
	}
	request := slices.Concat([]byte(receiptKey(caller)), caller.Receipt.Fingerprint[:])
	return uuid.NewHash(sha256.New(), uuid.Nil, request, 8)
}

func (c *Catalog) createOptions(location string, unique uuid.UUID) metadata.CreateOptions {
	return metadata.CreateOptions{UUID: unique.String(), Location: location, Now: c.now(), FormatVersion: c.format, FormatVersions: c.formats}
}

// staged is a table that isn't there: its document, and no metadata location.
func (c *Catalog) staged(d *metadata.Document) (*mounts.Table, error) {
	p, _, err := c.storage.Find(d.Location())
	if err != nil {
		return nil, err
	}
	staged := tableOf("", p.Name, cache.TrustedDocument(d.Bytes()))
	staged.Version = "staged " + d.UUID()
	return staged, nil
}

// mustBeFree refuses a name that is taken or has no namespace, before a file is written
// for it. What holds in the end is decided by the registry's commit.
func (c *Catalog) mustBeFree(ctx context.Context, op string, id mounts.Identifier, t objectType) error {
	if err := c.mustExist(ctx, op, id.Namespace); err != nil {
		return err
	}
	r, ok, err := c.registry.Get(ctx, objectKey(c.id, id))
	if err != nil {
		return unavailable(op, id.String(), err)
	}
	if ok {
		return taken(op, id, t, r)
	}
	return nil
}

const tableExists = "Table already exists: {name}"

// taken is the refusal of a name in use. A view in a table's way, or the other way round,
// has words of its own, which Iceberg's clients test.
func taken(op string, id mounts.Identifier, wanted objectType, r Record) error {
	p, err := decodePointer(r)
	if err != nil {
		return err
	}
	detail := p.Type.title() + " already exists: {name}"
	if p.Type != wanted {
		detail = p.Type.title() + " with same name already exists: {name}"
	}
	return &mounts.Error{Kind: mounts.AlreadyExists, Op: op, Name: id.String(), Detail: detail}
}

// locate is where a new table goes: where the request says, else below the namespace's
// location or the warehouse, under a name no other table ever had.
func (c *Catalog) locate(ctx context.Context, op string, id mounts.Identifier, requested string, unique uuid.UUID) (string, error) {
	if requested != "" {
		location := strings.TrimRight(requested, "/")
		_, _, err := c.storage.Find(location)
		return location, err
	}
	n, _, err := c.namespace(ctx, op, id.Namespace)
	if err != nil {
		return "", err
	}
	own := "/" + safeSegment(id.Name) + "-" + strings.ReplaceAll(unique.String(), "-", "")
	location := c.folder(id.Namespace, n.Properties) + own
	_, _, err = c.storage.Find(location)
	return location, err
}

// maxFolder bounds the folder of a namespace's tables. What follows in the locations of
// their files, partitions above all, has to fit into vend.MaxLocationBytes too.
const maxFolder = 1000

// folder is where a namespace's tables go that name no location: the namespace's own
// location, else a folder of the warehouse.
func (c *Catalog) folder(n mounts.Namespace, properties map[string]string) string {
	folder := strings.TrimRight(properties["location"], "/")
	if folder == "" {
		folder = c.warehouse.String()
		for _, level := range n {
			if len(folder)+len(level) > maxFolder {
				break // the tables' own names in it are unlike all others
			}
			folder += "/" + safeSegment(level)
		}
	}
	return folder
}

const maxSegment = 64

// safeSegment spells a name in letters that every store and engine takes in a path. Two
// names may get one spelling: what follows it in a location tells them apart.
func safeSegment(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	return safe[:min(len(safe), maxSegment)]
}

// create writes the first metadata file of a table or view and enters it in the registry.
func (c *Catalog) create(ctx context.Context, op string, id mounts.Identifier, t objectType, caller mounts.Caller, d document) (*mounts.Table, error) {
	f, err := c.name(d, "")
	if err != nil {
		return nil, err
	}
	if err := f.write(ctx); err != nil {
		if !leavesNothing(err) {
			c.discard(ctx, f)
		}
		return nil, err
	}
	if err := c.enter(ctx, op, id, t, caller, d, f.location.Verbatim()); err != nil {
		if !mounts.Is(err, mounts.CommitStateUnknown) {
			c.discard(ctx, f)
		}
		return nil, err
	}
	return c.keep(f), nil
}

// enter puts a table or view into the registry. Any error but CommitStateUnknown means that surely
// nothing was entered.
func (c *Catalog) enter(ctx context.Context, op string, id mounts.Identifier, t objectType, caller mounts.Caller, d document, location string, more ...Change) error {
	object := newObject()
	return retry(ctx, op, id.String(), func() error {
		s, err := c.entering(ctx, op, id, t, object, d, location)
		if err != nil {
			return err
		}
		s.changes = append(s.changes, more...)
		return c.commit(ctx, op, id.String(), caller, s, receipt{MetadataLocation: location}, func(lost *ConflictError) error {
			return enterConflict(op, id, t, lost)
		})
	})
}

func enterConflict(op string, id mounts.Identifier, t objectType, lost *ConflictError) error {
	switch f := lost.Failures[0]; f.Condition.Kind {
	case Absent:
		return taken(op, id, t, *f.Found)
	case Exists:
		return &mounts.Error{Kind: mounts.NoSuchNamespace, Op: op, Name: id.Namespace.String()}
	case PrefixEmpty, AtVersion: // a table came or went in this place: look again
	}
	return errLost
}
