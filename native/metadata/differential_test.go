//go:build differential

package metadata_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"piedmont/native/metadata"
)

// The differential test holds this package against iceberg-go's own builder over random
// commits. It is built apart, from the root of the repository, because that builder
// brings Arrow, gRPC and substrait along, which the module shall not require:
//
//	go test -tags differential -modfile native/metadata/testdata/differential.mod -run Differential ./native/metadata

// theirs applies a commit with iceberg-go, which may panic.
func theirs(base []byte, list []string) (raw []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	before, err := table.ParseMetadataBytes(base)
	if err != nil {
		return nil, fmt.Errorf("parse base: %w", err)
	}
	var updates table.Updates
	if err := json.Unmarshal([]byte("["+strings.Join(list, ",")+"]"), &updates); err != nil {
		return nil, fmt.Errorf("decode updates: %w", err)
	}
	after, err := table.UpdateTableMetadata(before, updates, "s3://b/m")
	if err != nil {
		return nil, err
	}
	return json.Marshal(after)
}

// knownRefusal says whether iceberg-go refuses what Java and we apply.
func knownRefusal(err error, list []string) bool {
	text := err.Error()
	return strings.Contains(text, "snapshot ref not found") ||
		strings.Contains(text, "current snapshot cannot be removed") ||
		strings.Contains(text, "schema with id") && strings.Contains(strings.Join(list, ""), "remove-schemas") ||
		strings.Contains(text, "spec with id") && strings.Contains(strings.Join(list, ""), "remove-partition-specs")
}

// knownAcceptance says whether iceberg-go applies what Java and we refuse: it doesn't
// hold the current schema against the default spec and order at the end of a commit,
// and where it has added a spec a second time that one is the default, not the first.
func knownAcceptance(err error, list []string) bool {
	return strings.Contains(err.Error(), "Cannot find source column") ||
		strings.Contains(err.Error(), "Cannot remove the default partition spec") && strings.Contains(strings.Join(list, ""), "add-spec")
}

// normal is a document without what the two may write differently.
func normal(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	delete(m, "last-updated-ms") // iceberg-go takes it from the snapshot
	if m["current-snapshot-id"] == json.Number("-1") {
		delete(m, "current-snapshot-id")
	}
	for _, e := range asList(m["snapshots"]) {
		if snapshot := e.(map[string]any); snapshot["sequence-number"] == json.Number("0") {
			delete(snapshot, "sequence-number") // v1 has none
		}
	}
	// Of log entries iceberg-go takes some times from its own clock.
	for _, e := range asList(m["snapshot-log"]) {
		delete(e.(map[string]any), "timestamp-ms")
	}
	return strip(m).(map[string]any)
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}

// strip drops members nobody knows, nulls and empty collections: one writes them, the
// other leaves them out.
func strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			if text, ok := e.(string); ok && key == "type" {
				e = strings.ReplaceAll(text, " ", "") // decimal(9, 2)
			}
			e = strip(e)
			v[key] = e
			if e == nil || reflect.ValueOf(e).Kind() != reflect.String && isEmpty(e) && key != "fields" {
				delete(v, key)
			}
		}
		return v
	case []any:
		for i := range v {
			v[i] = strip(v[i])
		}
		return v
	}
	return v
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// knownTable is a new table without members nobody knows: iceberg-go would lose them,
// and find a schema to be the same that differs in them.
func knownTable(t *testing.T, version int) *metadata.Document {
	t.Helper()
	text := string(startingTable(t, version, func() string { return "x" }).Bytes())
	text = strings.ReplaceAll(strings.ReplaceAll(text, `"x-member":"x",`, ""), `,"x-member":"x"`, "")
	d, err := metadata.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDifferential(t *testing.T) {
	compared := 0
	for seed := range uint64(300) {
		d := knownTable(t, 1+int(seed%3))
		g := newGenerator(5000 + seed)
		g.number = true // iceberg-go, as Java, numbers fields without an id from 1000 again
		for range 25 {
			g.now = time.Now().UnixMilli() - 1000
			list := g.commit(t, d.Bytes())
			next, ok := compare(t, d, list)
			if ok {
				compared++
			}
			d = next
		}
	}
	t.Logf("%d documents compared", compared)
	if compared < 3000 {
		t.Error("too few documents were compared: the generator has lost its way")
	}
}

// compare applies a commit both ways. It returns our document, and whether there were
// two to compare.
func compare(t *testing.T, d *metadata.Document, list []string) (*metadata.Document, bool) {
	t.Helper()
	next, changed, err := d.Apply(parseUpdates(t, list), metadata.Options{Now: time.Now(), MetadataLocation: "s3://b/m"})
	other, otherErr := theirs(d.Bytes(), list)
	switch {
	case err != nil && otherErr != nil:
		return d, false
	case err != nil:
		if !knownAcceptance(err, list) {
			t.Errorf("only we refuse: %v\n%s\n%s", err, strings.Join(list, "\n"), d.Bytes())
		}
		return d, false
	case otherErr != nil:
		if !knownRefusal(otherErr, list) {
			t.Errorf("only iceberg-go refuses: %v\n%s\n%s", otherErr, strings.Join(list, "\n"), d.Bytes())
		}
		return next, false
	case !changed:
		return d, false // iceberg-go counts what changes nothing as a change
	}
	ours, their := normal(t, next.Bytes()), normal(t, other)
	if len(asList(their["partition-specs"])) > len(asList(ours["partition-specs"])) {
		// iceberg-go adds a spec again that is there already: its Equals compares ids.
		for _, m := range []map[string]any{ours, their} {
			for _, key := range []string{"partition-specs", "default-spec-id", "last-partition-id", "partition-spec"} {
				delete(m, key)
			}
		}
	}
	if ours["current-snapshot-id"] == nil {
		// iceberg-go then keeps intermediate snapshots in the log.
		delete(ours, "snapshot-log")
		delete(their, "snapshot-log")
	}
	if err := same(ours, their); err != nil {
		t.Fatalf("%v\n%s\nbase %s\nours %s\ntheirs %s", err, strings.Join(list, "\n"), d.Bytes(), next.Bytes(), other)
	}
	return next, true
}

func same(ours, other map[string]any) error {
	keys := map[string]bool{}
	for k := range ours {
		keys[k] = true
	}
	for k := range other {
		keys[k] = true
	}
	for k := range keys {
		if !reflect.DeepEqual(ours[k], other[k]) {
			a, _ := json.Marshal(ours[k])
			b, _ := json.Marshal(other[k])
			at := 0
			for at < min(len(a), len(b)) && a[at] == b[at] {
				at++
			}
			at = max(0, at-60)
			return errors.New(k + " differs:\nours   " + string(a[at:]) + "\ntheirs " + string(b[at:]))
		}
	}
	return nil
}
