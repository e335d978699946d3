package router

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"piedmont/authz"
	"piedmont/mounts"
)

func (rt *Router) loadTable(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := rt.authorized(r, c, ofTable, authz.LoadTable)
	if err != nil {
		return err
	}
	options, err := loadOptions(r)
	if err != nil {
		return err
	}
	table, err := c.tree.LoadTable(r.Context(), c.identity.Caller, t, options)
	if err != nil {
		return err
	}
	tag := rt.etag(table, options.Snapshots)
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.Header().Set("ETag", tag)
		rt.setAge(w, table)
		w.Header().Set("Vary", "Accept-Encoding") // as the 200 has it (RFC 9110, 15.4.5)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return rt.answerDocument(w, r, table, tag, withConfig)
}

// setAge says how old an answer from memory is (RFC 9111, 5.1).
func (rt *Router) setAge(w http.ResponseWriter, t *mounts.Table) {
	if !t.Asked.IsZero() {
		age := max(rt.now().Sub(t.Asked), 0)
		w.Header().Set("Age", strconv.FormatInt(int64(age/time.Second), 10))
	}
}

func loadOptions(r *http.Request) (mounts.LoadOptions, error) {
	var o mounts.LoadOptions
	if r.URL.RawQuery == "" {
		return o, nil
	}
	switch s := r.URL.Query().Get("snapshots"); s {
	case "", "all":
		return o, nil
	case "refs":
		o.Snapshots = mounts.SnapshotsRefs
		return o, nil
	}
	return mounts.LoadOptions{}, &mounts.Error{Kind: mounts.BadRequest, Op: "loadTable", Detail: "Invalid snapshots: want all or refs"}
}

// noCache says whether the client wants nothing from memory (RFC 9111, 5.2.1.4).
func noCache(header []string) bool {
	for _, line := range header {
		for directive := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(directive), "no-cache") {
				return true
			}
		}
	}
	return false
}

// etag composes the weak validator of a load: whatever changes the answer changes it. A
// commit's tag is that of the next plain load.
func (rt *Router) etag(t *mounts.Table, mode mounts.Snapshots) string {
	var space [512]byte
	b := append(space[:0], t.Version...)
	b = append(b, 0, byte(mode), 0)
	b = append(b, rt.storage[t.Storage]...)
	sum := sha256.Sum256(b)
	tag := append(space[:0], `W/"`...)
	tag = base64.RawURLEncoding.AppendEncode(tag, sum[:16])
	return string(append(tag, '"'))
}

// matches compares an If-None-Match header weakly: "*", or a list of tags, perhaps spread
// over several lines. Some clients send a tag without its quotes.
func matches(header []string, tag string) bool {
	if len(header) == 0 {
		return false
	}
	want := strings.Trim(strings.TrimPrefix(tag, "W/"), `"`)
	for _, line := range header {
		for part := range strings.SplitSeq(line, ",") {
			part = strings.TrimSpace(part)
			if part == "*" || strings.Trim(strings.TrimPrefix(part, "W/"), `"`) == want {
				return true
			}
		}
	}
	return false
}

// withConfig makes a LoadTableResult, withoutConfig a CommitTableResponse.
type shape bool

const (
	withConfig    shape = true
	withoutConfig shape = false
)

// answerTable answers a change of a table with the document it made.
func (rt *Router) answerTable(w http.ResponseWriter, r *http.Request, t *mounts.Table, s shape) error {
	return rt.answerDocument(w, r, t, rt.etag(t, mounts.SnapshotsAll), s)
}

// answerDocument writes a table's document between a few members of ours. The document is
// copied, never decoded; where it was deflated before, not even compressed again.
func (rt *Router) answerDocument(w http.ResponseWriter, r *http.Request, t *mounts.Table, tag string, s shape) error {
	d, err := t.Metadata(r.Context())
	if err != nil {
		return err
	}
	var headSpace, tailSpace [512]byte
	head := append(headSpace[:0], '{')
	if t.MetadataLocation != "" {
		head = append(head, `"metadata-location":`...)
		head = appendString(head, t.MetadataLocation)
		head = append(head, ',')
	}
	head = append(head, `"metadata":`...)
	tail := tailSpace[:0]
	if s == withConfig {
		tail = append(tail, `,"config":`...)
		tail = append(tail, rt.config(t.Storage)...)
	}
	tail = append(tail, '}')
	h := w.Header()
	if t.MetadataLocation != "" {
		h.Set("ETag", tag)
	}
	rt.setAge(w, t)
	h.Set("Content-Type", "application/json")
	h.Add("Vary", "Accept-Encoding")
	parts := [][]byte{head, d.Raw(), tail}
	if len(d.Raw()) >= gzipFrom && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		parts = gzipped(head, d, tail)
	}
	writeParts(w, r, parts)
	return nil
}

func (rt *Router) config(storage string) []byte {
	if b, ok := rt.storage[storage]; ok {
		return b
	}
	return []byte("{}")
}

// joinBelow is the size up to which an answer is joined in memory, for one write instead
// of several.
const joinBelow = 64 << 10

var joined = sync.Pool{New: func() any { b := make([]byte, 0, joinBelow); return &b }}

// writeParts answers 200 with the parts, one after the other. A client that goes away
// meanwhile hears nothing.
func writeParts(w http.ResponseWriter, r *http.Request, parts [][]byte) {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	announce(r.Context(), size)
	w.Header().Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(http.StatusOK)
	if size > joinBelow {
		for _, p := range parts {
			if _, err := w.Write(p); err != nil {
				return
			}
		}
		return
	}
	buffer := joined.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
	b := (*buffer)[:0]
	for _, p := range parts {
		b = append(b, p...)
	}
	_, _ = w.Write(b)
	*buffer = b
	joined.Put(buffer)
}
