//go:build differential

package metadata_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/view"

	"piedmont/mounts"
	"piedmont/native/metadata"
)

// theirView applies a commit with iceberg-go's view builder.
func theirView(base []byte, list []string) ([]byte, error) {
	before, err := view.ParseMetadataBytes(base)
	if err != nil {
		return nil, fmt.Errorf("parse base: %w", err)
	}
	var updates view.Updates
	if err := json.Unmarshal([]byte("["+strings.Join(list, ",")+"]"), &updates); err != nil {
		return nil, fmt.Errorf("decode updates: %w", err)
	}
	b, err := view.MetadataBuilderFromBase(before)
	if err != nil {
		return nil, err
	}
	for _, u := range updates {
		if err := u.Apply(b); err != nil {
			return nil, err
		}
	}
	after, err := b.Build()
	if err != nil {
		return nil, err
	}
	return json.Marshal(after.Metadata)
}

// normalView is a view without what the two may write differently.
func normalView(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	// After an expiry iceberg-go, as Java, has the current version first and the others
	// in descending order.
	slices.SortFunc(asList(m["versions"]), func(a, b any) int {
		x, _ := a.(map[string]any)["version-id"].(json.Number).Int64()
		y, _ := b.(map[string]any)["version-id"].(json.Number).Int64()
		return int(x - y)
	})
	// A rollback is logged with the clock of who applies it. Where a commit leads back to
	// where it started iceberg-go, as Java, logs that too.
	log := asList(m["version-log"])
	for _, e := range log {
		delete(e.(map[string]any), "timestamp-ms")
	}
	m["version-log"] = slices.CompactFunc(log, func(a, b any) bool { return reflect.DeepEqual(a, b) })
	return strip(m).(map[string]any)
}

// TestDifferentialViews holds views against iceberg-go's builder.
func TestDifferentialViews(t *testing.T) {
	compared, refused := 0, 0
	for seed := range uint64(300) {
		g := newViewGenerator(7000 + seed)
		// iceberg-go, as Java, keeps a version's id if it is the highest, and takes -1 for a
		// schema added before where the last one was there already. Alone it adds versions
		// that are there already a second time.
		g.plain = true
		d := startingView(t, noMember, "")
		for range 25 {
			list := g.commit(t, d.Bytes())
			next, changed, err := d.Apply(parseViewUpdates(t, list), metadata.ViewOptions{Now: time.Now()})
			if err != nil && !mounts.Is(err, mounts.BadRequest) {
				t.Fatal(err)
			}
			other, otherErr := theirView(d.Bytes(), list)
			switch {
			case err != nil && otherErr != nil:
				refused++
			case err != nil || otherErr != nil:
				t.Errorf("only one refuses: ours %v, theirs %v\n%s\n%s", err, otherErr, strings.Join(list, "\n"), d.Bytes())
			case changed:
				if err := same(normalView(t, next.Bytes()), normalView(t, other)); err != nil {
					t.Fatalf("%v\n%s\nbase %s\nours %s\ntheirs %s", err, strings.Join(list, "\n"), d.Bytes(), next.Bytes(), other)
				}
				compared++
			}
			if err == nil {
				d = next
			}
		}
	}
	t.Logf("%d views compared, %d commits refused by both", compared, refused)
	if compared < 3000 {
		t.Error("too few views were compared: the generator has lost its way")
	}
}
