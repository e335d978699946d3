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
// hold the current schema against the default spec and order at the end of a commit.
func knownAcceptance(err error) bool {
	return strings.Contains(err.Error(), "Cannot find source column")
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
			e = strip(e)
			v[key] = e
			if e == nil || key == "x-member" || reflect.ValueOf(e).Kind() != reflect.String && isEmpty(e) && key != "fields" {
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

func TestDifferential(t *testing.T) {
	compared := 0
	for seed := range uint64(300) {
		d := startingTable(t, 1+int(seed%3), func() string { return "x" })
		g := newGenerator(5000 + seed)
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
		if !knownAcceptance(err) {
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
	if err := same(normal(t, next.Bytes()), normal(t, other)); err != nil {
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
			return errors.New(k + " differs:\nours   " + string(a) + "\ntheirs " + string(b))
		}
	}
	return nil
}
