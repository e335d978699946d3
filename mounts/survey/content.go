package survey

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"piedmont/cache/rawjson"
	"piedmont/vend"
)

// Content is what a table's metadata document says.
type Content struct {
	UUID          string `json:"uuid,omitempty"`
	Location      string `json:"location,omitempty"`
	FormatVersion int64  `json:"format-version,omitempty"`
	// Encrypted: the table has a key, or its snapshots have.
	Encrypted   bool       `json:"encrypted,omitempty"`
	LastUpdated *time.Time `json:"last-updated,omitempty"`
	Snapshots   int        `json:"snapshots,omitempty"`
	// DataFiles, Records and Bytes are the totals of the current snapshot, where its writer gave
	// them.
	DataFiles *int64 `json:"data-files,omitempty"`
	Records   *int64 `json:"records,omitempty"`
	Bytes     *int64 `json:"bytes,omitempty"`
	// Writers are those of the snapshots since the survey's Since, who wrote most first.
	Writers []Writer `json:"writers,omitempty"`
}

// readTable reads a table's metadata document. It decodes nothing but what Content has.
func readTable(raw []byte, since time.Time) (Content, error) {
	var c Content
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return c, err
	}
	version, _ := o.Get("format-version")
	location, _ := o.Get("location")
	var ok bool
	if c.FormatVersion, ok = rawjson.Int(version); !ok {
		return c, errors.New("no table's metadata: it has no format-version")
	}
	if c.Location, ok = rawjson.String(location); !ok {
		return c, errors.New("no table's metadata: it has no location")
	}
	c.Location, c.UUID = clipTo(c.Location, 2*vend.MaxLocationBytes), clip(text(&o, "table-uuid"))
	if raw, ok := o.Get("last-updated-ms"); ok {
		c.LastUpdated = moment(raw)
	}
	if c.Encrypted, err = encrypted(&o); err != nil {
		return c, err
	}
	return c, c.readSnapshots(&o, since)
}

func text(o *rawjson.Object, key string) string {
	raw, _ := o.Get(key)
	s, _ := rawjson.String(raw)
	return s
}

// moment is a time in milliseconds, nil where it is none.
func moment(raw []byte) *time.Time {
	ms, ok := rawjson.Int(raw)
	if !ok || ms <= 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return nil
	}
	t := time.UnixMilli(ms).UTC()
	return &t
}

// encrypted says whether a table has keys: by a property, or from version 3 on a list.
func encrypted(o *rawjson.Object) (bool, error) {
	if raw, ok := o.Get("encryption-keys"); ok && !rawjson.IsNull(raw) {
		keys, err := rawjson.Elements(raw)
		if err != nil {
			return false, fmt.Errorf("encryption-keys: %w", err)
		}
		if len(keys) > 0 {
			return true, nil
		}
	}
	raw, ok := o.Get("properties")
	if !ok || rawjson.IsNull(raw) {
		return false, nil
	}
	properties, err := rawjson.ParseObject(raw)
	if err != nil {
		return false, fmt.Errorf("properties: %w", err)
	}
	return text(&properties, "encryption.key-id") != "", nil
}

func (c *Content) readSnapshots(o *rawjson.Object, since time.Time) error {
	raw, ok := o.Get("snapshots")
	if !ok || rawjson.IsNull(raw) {
		return nil
	}
	snapshots, err := rawjson.Elements(raw)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	c.Snapshots = len(snapshots)
	current, _ := o.Get("current-snapshot-id")
	currentID, hasCurrent := rawjson.Int(current)
	var writers writers
	for _, raw := range snapshots {
		s, err := rawjson.ParseObject(raw)
		if err != nil {
			return fmt.Errorf("a snapshot: %w", err)
		}
		id, _ := s.Get("snapshot-id")
		n, ok := rawjson.Int(id)
		isCurrent := hasCurrent && ok && n == currentID
		ms, _ := s.Get("timestamp-ms")
		at := moment(ms)
		lately := at != nil && !at.Before(since)
		if isCurrent && text(&s, "key-id") != "" {
			c.Encrypted = true
		}
		if !isCurrent && !lately {
			continue
		}
		summary, err := summaryOf(&s)
		if err != nil {
			return err
		}
		if isCurrent {
			c.DataFiles, c.Records, c.Bytes = total(summary, "total-data-files"), total(summary, "total-records"), total(summary, "total-files-size")
		}
		if lately {
			writers.add(summary, *at)
		}
	}
	c.Writers = writers.list()
	return nil
}

// summaryOf is a snapshot's summary. Values that are no text are left out.
func summaryOf(s *rawjson.Object) (map[string]string, error) {
	summary := map[string]string{}
	raw, ok := s.Get("summary")
	if !ok || rawjson.IsNull(raw) {
		return summary, nil
	}
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("a snapshot's summary: %w", err)
	}
	for key, value := range o.All() {
		if v, ok := rawjson.String(value); ok {
			summary[key] = v
		}
	}
	return summary, nil
}

func total(summary map[string]string, key string) *int64 {
	n, err := strconv.ParseInt(summary[key], 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

// readView reads which dialects a view's current version has.
func readView(raw []byte) ([]string, error) {
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil, err
	}
	current, _ := o.Get("current-version-id")
	id, ok := rawjson.Int(current)
	list, has := o.Get("versions")
	if !ok || !has {
		return nil, errors.New("no view's metadata: it has no current-version-id or no versions")
	}
	versions, err := rawjson.Elements(list)
	if err != nil {
		return nil, fmt.Errorf("versions: %w", err)
	}
	for _, raw := range versions {
		v, err := rawjson.ParseObject(raw)
		if err != nil {
			return nil, fmt.Errorf("a version: %w", err)
		}
		at, _ := v.Get("version-id")
		if n, ok := rawjson.Int(at); ok && n == id {
			return dialects(&v)
		}
	}
	return nil, errors.New("its current version isn't among its versions")
}

func dialects(version *rawjson.Object) ([]string, error) {
	raw, ok := version.Get("representations")
	if !ok || rawjson.IsNull(raw) {
		return nil, nil
	}
	var representations []json.RawMessage
	representations, err := rawjson.Elements(raw)
	if err != nil {
		return nil, fmt.Errorf("representations: %w", err)
	}
	var all []string
	for _, raw := range representations {
		r, err := rawjson.ParseObject(raw)
		if err != nil {
			return nil, fmt.Errorf("a representation: %w", err)
		}
		if d := text(&r, "dialect"); d != "" {
			all = append(all, clip(strings.ToLower(d)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
