package metadata

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"piedmont/cache/rawjson"
)

const (
	// versionHistorySize is how many versions a view keeps, 10 where it isn't set.
	versionHistorySize        = "version.history.num-entries"
	defaultVersionHistorySize = 10

	// dropDialectAllowed says whether a replacement may leave a dialect without a query.
	dropDialectAllowed = "replace.drop-dialect.allowed"
)

// ViewOptions is what a change to a view needs beyond the request.
type ViewOptions struct {
	// Now is the time of the change.
	Now time.Time
	// UUID is a new view's. Apply ignores it, as it does what follows.
	UUID string
	// Location is where a new view lies if the request doesn't say.
	Location string
	// Properties are set on a new view where the request doesn't set them.
	Properties map[string]string
}

// viewBuilder is a view under construction.
type viewBuilder struct {
	members
	viewHeader
	base *ViewDocument
	now  int64

	props        *rawjson.Object
	propsChanged bool

	lastSchema, lastVersion int                  // ids last added or reused, lastAdded if none
	added                   map[int]*viewVersion // by the id that each was given
	meant                   map[int]int          // from ids as the client has them to those given
	changed                 bool                 // in more than which version is the current one
}

// Apply makes the document that follows d: the updates done in their order, old
// versions expired, the version log moved on. Where they come to nothing, changed is
// false and next is d itself; no file needs writing. d is not modified.
//
// A commit that a client sends again, not having heard of the first time, comes to
// nothing by itself: versions and schemas that are there already are reused.
//
// Errors are *mounts.Errors: InvalidArgument for a second query in a dialect, else
// BadRequest; nothing may be concluded from next then. A document of a format version
// that isn't known is refused.
func (d *ViewDocument) Apply(updates []ViewUpdate, o ViewOptions) (next *ViewDocument, changed bool, err error) {
	if len(updates) == 0 {
		return d, false, nil
	}
	if d.version > viewFormatVersion {
		return nil, false, badRequest("Cannot update a view of format version " + itoa(d.version) +
			" (supported: " + itoa(viewFormatVersion) + ")")
	}
	b := newViewBuilder(d, o)
	for _, u := range updates {
		if err := u.applyView(b); err != nil {
			return nil, false, err
		}
		if b.r.err != nil {
			return nil, false, b.r.err
		}
	}
	if !b.changed && b.current == d.current {
		return d, false, nil
	}
	next, err = b.finish()
	return next, err == nil, err
}

func newViewBuilder(base *ViewDocument, o ViewOptions) *viewBuilder {
	b := &viewBuilder{
		members: newMembers("view metadata"), base: base, now: o.Now.UnixMilli(),
		lastSchema: lastAdded, lastVersion: lastAdded, added: map[int]*viewVersion{}, meant: map[int]int{},
	}
	if base != nil {
		b.top, b.viewHeader = base.top.Clone(), base.viewHeader
	} else {
		b.viewHeader = viewHeader{version: viewFormatVersion, current: noVersion}
	}
	return b
}

func (b *viewBuilder) properties() *rawjson.Object { return b.member(&b.props, "properties") }

// known is the schemas or versions there are, so that adding one again reuses its id.
func (b *viewBuilder) known(list string) *identities {
	if k := b.reuse[list]; k != nil {
		return k
	}
	of := schemaIdentity
	if list == "versions" {
		of = versionIdentity
	}
	b.reuse[list] = identitiesOf(b.list(list), of)
	return b.reuse[list]
}

// finish checks what only holds or not once all updates are done, expires old versions,
// writes what changed back into the members, and makes the document.
func (b *viewBuilder) finish() (*ViewDocument, error) {
	moved := b.base == nil || b.current != b.base.current
	if moved {
		if err := b.checkCurrent(); err != nil {
			return nil, err
		}
	}
	expired, err := b.expire()
	if err != nil {
		return nil, err
	}
	b.number("format-version", int64(b.version), true)
	b.text("view-uuid", b.uuid)
	b.text("location", b.location)
	if b.propsChanged {
		b.top.Set("properties", b.properties().AppendTo(nil))
	}
	b.writeLists("schemas")
	b.number("current-version-id", int64(b.current), true)
	b.writeLists("versions")
	if moved || expired {
		b.writeLog(moved, expired)
	}
	if b.r.err != nil {
		return nil, b.r.err
	}
	d := &ViewDocument{viewHeader: b.viewHeader}
	d.raw, d.top = b.top.Render(b.top.Size(), func(dst []byte, _ string, raw json.RawMessage) []byte {
		return append(dst, raw...)
	})
	return d, nil
}

// checkCurrent verifies that the new current version can be used, and that no dialect
// is left without a query that had one before (checkIfDialectIsDropped in Java).
func (b *viewBuilder) checkCurrent() error {
	versions := b.list("versions")
	raw := versions.get(int64(b.current))
	o := b.r.object(raw, "versions")
	if err := b.checkVersion(o); err != nil {
		return err
	}
	allowed, _ := rawjson.String(b.setting(dropDialectAllowed))
	if b.base == nil || strings.EqualFold(allowed, "true") {
		return nil
	}
	before := dialectsOf(versions.get(int64(b.base.current)))
	after := dialectsOf(raw)
	for _, dialect := range before {
		if _, ok := slices.BinarySearch(after, dialect); !ok {
			return badRequest("Cannot replace view due to loss of view dialects (" + dropDialectAllowed + "=false):\n" +
				"Previous dialects: [" + strings.Join(before, ", ") + "]\nNew dialects: [" + strings.Join(after, ", ") + "]")
		}
	}
	return nil
}

// dialectsOf is the dialects of a version that lies in the document, sorted: none if it
// is gone or broken, as there is nothing to lose then.
func dialectsOf(raw json.RawMessage) []string {
	r := &reader{}
	v := r.viewVersion(r.object(raw, ""))
	if r.err != nil {
		return nil
	}
	return slices.Sorted(slices.Values(v.dialects))
}

func (b *viewBuilder) setting(name string) json.RawMessage {
	raw, _ := b.properties().Get(name)
	return raw
}

// expire removes versions above the number to keep, those with the lowest ids first,
// but never the current one nor those added just now (expireVersions in Java).
func (b *viewBuilder) expire() (expired bool, err error) {
	keep := defaultVersionHistorySize
	if raw := b.setting(versionHistorySize); raw != nil {
		text, _ := rawjson.String(raw)
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return false, badRequest(versionHistorySize + " must be a number")
		}
		if n < 1 {
			return false, badRequest(versionHistorySize + " must be positive but was " + ltoa(n))
		}
		keep = int(n)
	}
	needed := len(b.added)
	if b.added[b.current] == nil {
		needed++
	}
	versions := b.list("versions")
	older := slices.Sorted(maps.Keys(versions.at))
	older = slices.DeleteFunc(older, func(id int64) bool { return id == int64(b.current) })
	if n := len(older) - (max(keep, needed) - 1); n > 0 {
		return versions.removeAll(older[:n]), nil
	}
	return false, nil
}

// writeLog appends that there is a new current version, and drops what expired. Times
// in it don't go back, whatever the clocks of the clients say.
func (b *viewBuilder) writeLog(moved, expired bool) {
	log := arrayOf(&b.top, "version-log")
	if moved {
		at := b.now
		if v := b.added[b.current]; v != nil {
			at = min(v.timestamp, b.now)
		}
		if n := len(log); n > 0 {
			last, _ := b.r.object(log[n-1], "version-log").optLong("timestamp-ms")
			at = max(at, last)
		}
		log = append(log, json.RawMessage(`{"timestamp-ms":`+ltoa(at)+`,"version-id":`+itoa(b.current)+`}`))
	}
	if expired {
		log = b.withoutGaps("version-log", log, "version-id", b.list("versions").has)
	}
	b.top.Set("version-log", joinArray(log))
}
