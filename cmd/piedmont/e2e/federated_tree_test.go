//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// walked is what one client saw of the whole tree.
type walked struct {
	Namespaces []string
	Tables     map[string]int
	Refusals   map[string]string
}

// testTree: one client sees everything that all catalogs hold of Iceberg and nothing else,
// is told by name what it can't have, and changes nothing.
func (f *federation) testTree(t *testing.T) {
	hive, web := f.hive.content(), f.glueContent("web")
	before, _ := f.rest.counts()
	var w walked
	lastLine(t, federatedPython(t, "federated_walk.py", "PIEDMONT_URI="+f.URI, "PIEDMONT_KEY="+f.admin, "S3_ENDPOINT="+f.weed.S3,
		"MOUNTS=legacy remembered cloud old", "OTHERS=legacy.sales.plain legacy.sales.report cloud.web.plain old.shop.nothing",
		"WRITES=legacy.sales.orders cloud.web.clicks old.shop.returns"), &w)
	want := maps.Clone(f.rows)
	want["own.native"] = 20
	for name, n := range f.rows {
		if rest, ok := strings.CutPrefix(name, "legacy."); ok {
			want["remembered."+rest] = n
		}
	}
	if !reflect.DeepEqual(w.Tables, want) {
		t.Errorf("read %v, want %v", w.Tables, want)
	}
	for _, n := range []string{"own", "legacy", "legacy.default", "legacy.sales", "remembered.sales", "cloud", "cloud.web", "old", "old.shop"} {
		if !slices.Contains(w.Namespaces, n) {
			t.Errorf("no namespace %s in %v", n, w.Namespaces)
		}
	}
	f.checkRefusals(t, w.Refusals)
	if now := f.hive.content(); now != hive {
		t.Errorf("the metastore's content changed:\n%s\nwas\n%s", now, hive)
	}
	if now := f.glueContent("web"); now != web {
		t.Errorf("Glue's content changed:\n%s\nwas\n%s", now, web)
	}
	if reads, writes := f.rest.counts(); reads == before || len(writes) > 0 {
		t.Errorf("the REST catalog saw %d reads, and the writes %v", reads-before, writes)
	}
}

func (f *federation) checkRefusals(t *testing.T, refusals map[string]string) {
	t.Helper()
	reasons := map[string]string{
		"load legacy.sales.plain":    "legacy.sales.plain is a plain Hive table",
		"load legacy.sales.report":   "legacy.sales.report is a Hive view",
		"load legacy.sales.lost":     "legacy.sales.lost",
		"load remembered.sales.lost": "remembered.sales.lost",
		"load cloud.web.plain":       "cloud.web.plain is ",
		"load old.shop.nothing":      "old.shop.nothing",
	}
	writes := 0
	for what, said := range refusals {
		reason, read := reasons[what]
		delete(reasons, what)
		switch {
		case read && (!strings.HasPrefix(said, "NoSuchTableError") || !strings.Contains(said, reason)):
			t.Errorf("%s: it should say %q: %s", what, reason, said)
		case !read:
			writes++
			mount := strings.Split(what[strings.LastIndex(what, " ")+1:], ".")[0]
			if !strings.Contains(said, "mount at '"+mount+"'") || !strings.Contains(said, "ForbiddenError") && !strings.Contains(said, "UnsupportedOperationException") {
				t.Errorf("the refusal to %s isn't 403 or 406, or doesn't name the mount: %s", what, said)
			}
		}
		f.checkDiscreet(t, what, said)
	}
	if len(reasons) > 0 || writes != 30 {
		t.Errorf("%d writes were refused, and no refusal of %v", writes, slices.Collect(maps.Keys(reasons)))
	}
}

// checkDiscreet: clients hear of no host, folder or secret.
func (f *federation) checkDiscreet(t *testing.T, what, said string) {
	t.Helper()
	for _, hidden := range []string{"127.0.0.1", "localhost", "thrift:", "connection refused", filepath.Dir(f.files)} {
		if strings.Contains(said, hidden) {
			t.Errorf("%s: the answer tells of %q: %s", what, hidden, said)
		}
	}
	for _, leak := range book.leaks(said, true) {
		t.Errorf("%s: the answer tells a secret: %s", what, leak)
	}
}

// TestFederatedGenerations: the oldest and the newest metastore, read as the one in between.
func TestFederatedGenerations(t *testing.T) {
	for _, version := range []int{2, 4} {
		t.Run(fmt.Sprint("Hive", version), func(t *testing.T) {
			t.Parallel()
			m, files := startMetastore(t, version, t.TempDir()), t.TempDir()
			rows := map[string]int{}
			lastLine(t, federatedPython(t, "federated_seed.py", "FILES=file://"+files, "HIVE_URI="+m.URI, fmt.Sprint("HIVE_VERSION=", version)), &rows)
			plainHive(t, m, files)
			before := m.content()
			p := start(t, writeFile(t, filepath.Join(t.TempDir(), "piedmont.yaml"), `
storage: [{name: disk, location: "file://`+files+`/", local: {}}]
mounts:
  - {at: "", native: {id: main, warehouse: "file://`+files+`/own/"}, storage: [disk]}
  - {at: legacy, hive: {uris: ["`+m.URI+`"]}, storage: [disk]}
`), t.TempDir())
			var w walked
			lastLine(t, federatedPython(t, "federated_walk.py", "PIEDMONT_URI="+p.URI, "PIEDMONT_KEY="+p.key(), "MOUNTS=legacy",
				"OTHERS=legacy.sales.plain legacy.sales.report", "WRITES=legacy.sales.events"), &w)
			rows["own.native"] = 20
			if !reflect.DeepEqual(w.Tables, rows) || len(w.Refusals) != 13 {
				t.Errorf("read %v, want %v; refused: %v", w.Tables, rows, w.Refusals)
			}
			if now := m.content(); now != before {
				t.Errorf("the metastore's content changed:\n%s\nwas\n%s", now, before)
			}
		})
	}
}
