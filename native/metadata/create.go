package metadata

import (
	"encoding/json"
	"strconv"
	"time"
)

// CreateRequest is a decoded CreateTableRequest. The exported fields may be changed
// before New is called. It refers to the body it was parsed from.
type CreateRequest struct {
	Name        string
	Location    string // empty where the catalog shall choose
	StageCreate bool
	Properties  map[string]string

	schema *schema
	spec   *spec // nil if unpartitioned
	order  *spec // nil if unsorted
}

// CreateOptions is what a new table needs beyond the request.
type CreateOptions struct {
	Now time.Time
	// UUID is the new table's, unless a staged create has given one already.
	UUID string
	// Location is where the table lies if the request or the updates don't say.
	Location string
	// Properties are set where the request doesn't set them. Build ignores them: the
	// answer to the staged create had them.
	Properties map[string]string
	// FormatVersion is that of tables whose creator asks for none; 0 means 2.
	FormatVersion int
	// FormatVersions are the versions a table may have. None means all that this
	// package knows.
	FormatVersions []int
}

// ParseCreate reads the body of a create, CreateTableRequest of the REST spec. Null is
// as good as missing for all but name and schema. Ids of schema, spec and order are the
// server's business and may be missing.
//
// The error is a BadRequest *mounts.Error that names the path, for the reasons that
// ParseCommit gives.
func ParseCreate(body []byte) (*CreateRequest, error) {
	r := &reader{what: "create request"}
	o := r.request(body)
	c := &CreateRequest{
		Name: o.str("name"), Location: o.optStr("location"),
		StageCreate: o.optBool("stage-create"), Properties: o.optStringMap("properties"),
	}
	if raw, ok := o.need("schema"); ok {
		c.schema = r.schema(raw, "schema")
	}
	if o.has("partition-spec") {
		c.spec = r.partitionSpec(o.child("partition-spec"))
	}
	if o.has("write-order") {
		c.order = r.sortOrder(o.child("write-order"))
	}
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

// New makes the first document of a table: what a direct create writes and a staged
// one answers. Field ids are numbered from 1, partition field ids from 1000, whatever
// the request says, and everything that refers to them follows (newTableMetadata in
// Java). The property format-version chooses the version and isn't stored, nor are the
// other reserved ones.
//
// The error is a BadRequest *mounts.Error: a format version that isn't allowed (it is
// never replaced by another), a type or default the version doesn't have, a transform
// that doesn't suit its column, no location anywhere.
func New(req *CreateRequest, o CreateOptions) (*Document, error) {
	version, err := o.version(req.Properties)
	if err != nil {
		return nil, err
	}
	b := newCreation(o, version)
	b.uuid = o.UUID
	location := req.Location
	if location == "" {
		location = o.Location
	}
	if b.location, err = cleanLocation(location); err != nil {
		return nil, err
	}
	if err := b.createStructure(req); err != nil {
		return nil, err
	}
	for _, properties := range []map[string]string{o.Properties, req.Properties} {
		setStrings(b.properties(), withoutReserved(properties))
	}
	return b.finish()
}

// version is the format version that properties ask for.
func (o CreateOptions) version(properties map[string]string) (int, error) {
	version := o.FormatVersion
	if version == 0 {
		version = defaultFormatVersion
	}
	if text, ok := properties["format-version"]; ok {
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, badRequest("Invalid format-version: not a number")
		}
		version = n
	}
	return version, o.allow(version)
}

func (o CreateOptions) allow(version int) error {
	if allowed(o.FormatVersions, version) {
		return nil
	}
	return badRequest("Unsupported format version: v" + itoa(version) + supportedVersions(o.FormatVersions))
}

// newCreation starts a document from nothing. The format version comes first, for
// whoever peeks at the file.
func newCreation(o CreateOptions, version int) *builder {
	b := newBuilder(nil, Options{Now: o.Now, FormatVersions: o.FormatVersions})
	b.version, b.structure = version, true
	b.number("format-version", int64(version), true)
	return b
}

func (b *builder) createStructure(req *CreateRequest) error {
	if err := checkSchema(req.schema, b.version); err != nil {
		return err
	}
	ids, highest := req.schema.freshIDs()
	raw := req.schema.appendRenumbered(nil, 0, ids)
	b.list("schemas").add(0, raw)
	b.lastColumn = highest
	fresh, err := b.schema()
	if err != nil {
		return err
	}
	if req.spec != nil {
		if err := b.createSpec(req.spec.clone(), fresh, ids); err != nil {
			return err
		}
	}
	if req.order != nil && len(req.order.fields) > 0 {
		if err := b.createOrder(req.order.clone(), fresh, ids); err != nil {
			return err
		}
	}
	b.addDefaults()
	return nil
}

func (b *builder) createSpec(s *spec, fresh *schema, ids map[int]int) error {
	if err := s.remap(ids, "partition"); err != nil {
		return err
	}
	for _, f := range s.fields {
		f.id = 0
	}
	if err := s.checkNew(fresh, "partition"); err != nil {
		return err
	}
	if err := b.numberFields(s); err != nil {
		return err
	}
	b.list("partition-specs").add(0, s.render("spec-id", 0))
	return nil
}

func (b *builder) createOrder(s *spec, fresh *schema, ids map[int]int) error {
	if err := s.remap(ids, "sort"); err != nil {
		return err
	}
	if err := s.checkNew(fresh, "sort"); err != nil {
		return err
	}
	b.defaultOrder = firstSortOrderID
	b.list("sort-orders").add(firstSortOrderID, s.render("order-id", firstSortOrderID))
	return nil
}

// addDefaults makes a table unpartitioned and unsorted that nobody said otherwise of.
func (b *builder) addDefaults() {
	if l := b.list("partition-specs"); l.live == 0 {
		l.add(0, json.RawMessage(`{"spec-id":0,"fields":[]}`))
	}
	if l := b.list("sort-orders"); l.live == 0 {
		l.add(unsortedOrderID, json.RawMessage(`{"order-id":0,"fields":[]}`))
	}
}

// Build makes the first document of a table from the updates that end a staged create
// (see Commit.IsCreate), from nothing, in their order. Ids stay as they are: the answer
// to the staged create has given them. What the updates leave out of uuid, location,
// partition spec and sort order comes from o, or is unpartitioned and unsorted.
//
// The format version is that of the first upgrade-format-version, as in Java, else of a
// property format-version, else the default. Errors are those of New and Apply.
func Build(updates []Update, o CreateOptions) (*Document, error) {
	version, err := o.stagedVersion(updates)
	if err != nil {
		return nil, err
	}
	b := newCreation(o, version)
	if err := b.apply(updates); err != nil {
		return nil, err
	}
	if b.list("schemas").live == 0 {
		return nil, badRequest("Cannot create a table without a schema")
	}
	b.addDefaults()
	if b.uuid == "" {
		b.uuid = o.UUID
	}
	if b.location == "" {
		if b.location, err = cleanLocation(o.Location); err != nil {
			return nil, err
		}
	}
	return b.finish()
}

func (o CreateOptions) stagedVersion(updates []Update) (int, error) {
	asked := map[string]string{}
	for _, u := range updates {
		switch u := u.(type) {
		case upgradeFormatVersion:
			return u.version, o.allow(u.version)
		case setProperties:
			if v, ok := u.properties["format-version"]; ok {
				asked["format-version"] = v
			}
		}
	}
	return o.version(asked)
}
