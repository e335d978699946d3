package metadata

import "piedmont/cache/rawjson"

// viewFormatVersion is the one version of the view spec.
const viewFormatVersion = 1

// noVersion is the current version of a view under construction that has none yet.
const noVersion = -1

// ViewDocument is the metadata of a view at one moment. It never changes once returned,
// and any number of goroutines may use it.
type ViewDocument struct {
	raw []byte
	top rawjson.Object // its values lie in raw
	viewHeader
}

// viewHeader is the scalar members, decoded.
type viewHeader struct {
	version  int
	uuid     string
	location string
	current  int // the current version's id
}

// ParseView reads a view metadata document (Iceberg view spec). It keeps raw, which
// must not be modified.
//
// The error is a BadRequest *mounts.Error that names the member: text that isn't
// exactly one JSON object, a top-level key that occurs twice, a required member that is
// missing, one of a wrong JSON type. What lies inside the arrays isn't looked at; see
// Validate. Any format version is read, so that newer views can be served; Apply
// refuses those it doesn't know.
func ParseView(raw []byte) (*ViewDocument, error) {
	r := &reader{what: "view metadata"}
	o := r.object(raw, "")
	h := readViewHeader(o)
	if r.err != nil {
		return nil, r.err
	}
	return &ViewDocument{raw: raw, top: o.Object, viewHeader: h}, nil
}

func readViewHeader(o *object) viewHeader {
	h := viewHeader{version: o.int("format-version")}
	if h.version < 1 {
		o.r.fail("format-version", "must be 1 or more")
		return h
	}
	h.uuid, h.location, h.current = o.str("view-uuid"), o.str("location"), o.int("current-version-id")
	for _, key := range []string{"schemas", "versions", "version-log"} {
		o.array(key)
	}
	o.optObject("properties")
	return h
}

// Bytes is the document's text: for a parsed one the very bytes it was parsed from. The
// caller must not modify it.
func (d *ViewDocument) Bytes() []byte { return d.raw }

// FormatVersion is the format version, 1 or more.
func (d *ViewDocument) FormatVersion() int { return d.version }

// UUID is the view's uuid.
func (d *ViewDocument) UUID() string { return d.uuid }

// Location is the view's base location.
func (d *ViewDocument) Location() string { return d.location }

// CurrentVersionID is the id of the version that readers use.
func (d *ViewDocument) CurrentVersionID() int { return d.current }

// Property is one view property; ok is false where it isn't set.
func (d *ViewDocument) Property(name string) (value string, ok bool) { return property(&d.top, name) }

// Properties is a new map of all view properties. Values that aren't strings, which no
// writer may write, are left out.
func (d *ViewDocument) Properties() map[string]string { return properties(&d.top) }

// Size is about how many bytes of memory the document holds, for a cache's bookkeeping.
func (d *ViewDocument) Size() int64 { return int64(len(d.raw)) + 2048 }

// Validate looks into the arrays, which ParseView doesn't: versions, schemas and log
// entries that decode, ids that occur once and lead somewhere, one query for each
// dialect. It is for documents from elsewhere before the catalog takes them over
// (register). A version without a summary passes: iceberg-go writes null for none. The
// error is a *mounts.Error naming the path, BadRequest or, for the dialects, as Apply
// has it.
//
// Versions newer than this package knows are only held to what ParseView checks.
func (d *ViewDocument) Validate() error {
	if d.version > viewFormatVersion {
		return nil
	}
	b := newViewBuilder(d, ViewOptions{})
	if !validUUID(d.uuid) {
		b.r.fail("view-uuid", "expected 8-4-4-4-12 hexadecimal digits")
	}
	if d.location == "" {
		b.r.fail("location", "must not be empty")
	}
	(&object{Object: b.top, r: b.r}).optStringMap("properties")
	schemas, versions := b.list("schemas"), b.list("versions")
	if schemas.twice || versions.twice {
		b.r.fail("", "an id occurs twice in schemas or versions")
	}
	for i, raw := range schemas.raws {
		b.r.schema(raw, "schemas["+itoa(i)+"]")
	}
	for i, raw := range versions.raws {
		if err := b.checkVersion(b.r.object(raw, "versions["+itoa(i)+"]")); err != nil {
			return err
		}
	}
	for i, e := range arrayOf(&b.top, "version-log") {
		o := b.r.object(e, "version-log["+itoa(i)+"]")
		o.long("timestamp-ms")
		o.int("version-id")
	}
	if !versions.has(int64(d.current)) {
		b.r.fail("current-version-id", "no such version")
	}
	return b.r.err
}

// checkVersion checks a version that lies in the document.
func (b *viewBuilder) checkVersion(o *object) error {
	v := b.r.viewVersion(o)
	if !b.list("schemas").has(int64(v.schemaID)) {
		b.r.fail(o.at("schema-id"), "no such schema")
	}
	if b.r.err != nil {
		return b.r.err
	}
	return v.checkDialects()
}
