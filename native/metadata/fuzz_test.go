package metadata_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"piedmont/mounts"
	"piedmont/native/metadata"
)

// The seeds lie in testdata/fuzz, one corpus for each target.

// clientFault fails the test unless err blames the request.
func clientFault(t *testing.T, err error) {
	t.Helper()
	if !mounts.Is(err, mounts.BadRequest) && !mounts.Is(err, mounts.CommitFailed) {
		t.Fatalf("not the client's fault: %v", err)
	}
}

func options() metadata.Options {
	return metadata.Options{Now: time.UnixMilli(1 << 41), MetadataLocation: "s3://b/m"}
}

// readsBack fails the test unless a document that was built parses. valid says that its
// base was valid, so it must be too.
func readsBack(t *testing.T, d *metadata.Document, valid bool) {
	t.Helper()
	again, err := metadata.Parse(d.Bytes())
	if err != nil {
		t.Fatalf("own text doesn't parse: %v\n%s", err, d.Bytes())
	}
	if err := again.Validate(); valid && err != nil {
		t.Fatalf("own text isn't valid: %v\n%s", err, d.Bytes())
	}
}

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		d, err := metadata.Parse(raw)
		if err != nil {
			clientFault(t, err)
			return
		}
		if string(d.Bytes()) != before {
			t.Fatal("the text changed")
		}
		d.Properties()
		d.MetadataLog()
		d.RefSnapshotID("main")
		valid := d.Validate() == nil
		next, changed, err := d.Apply(parseUpdates(t, []string{`{"action":"set-properties","updates":{"a":"b"}}`, `{"action":"remove-snapshots","snapshot-ids":[1,2]}`}), options())
		if err != nil {
			clientFault(t, err)
			return
		}
		if changed {
			readsBack(t, next, valid)
		}
	})
}

func FuzzParseCommit(f *testing.F) {
	bases := []*metadata.Document{}
	for version := 1; version <= 3; version++ {
		bases = append(bases, startingTable(f, version, func() string { return "x" }))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := metadata.ParseCommit(body)
		if err != nil {
			clientFault(t, err)
			return
		}
		for _, d := range bases {
			if err := d.CheckRequirements(c.Requirements); err != nil && !mounts.Is(err, mounts.CommitFailed) {
				t.Fatal(err)
			}
			next, changed, err := d.Apply(c.Updates, options())
			if err != nil {
				clientFault(t, err)
			} else if changed {
				readsBack(t, next, true)
			}
		}
		d, err := metadata.Build(c.Updates, metadata.CreateOptions{Now: time.UnixMilli(1), UUID: "9c12d441-03fe-4693-9a96-a0705ddf69c1", Location: "s3://b"})
		if err != nil {
			clientFault(t, err)
			return
		}
		readsBack(t, d, true)
	})
}

func FuzzParseCreate(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := metadata.ParseCreate(body)
		if err != nil {
			clientFault(t, err)
			return
		}
		d, err := metadata.New(req, metadata.CreateOptions{Now: time.UnixMilli(1), UUID: "9c12d441-03fe-4693-9a96-a0705ddf69c1", Location: "s3://b"})
		if err != nil {
			clientFault(t, err)
			return
		}
		readsBack(t, d, true)
	})
}

func FuzzApply(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw, body []byte) {
		d, err := metadata.Parse(raw)
		if err != nil {
			return
		}
		c, err := metadata.ParseCommit(body)
		if err != nil {
			return
		}
		valid := d.Validate() == nil
		next, changed, err := d.Apply(c.Updates, options())
		if err != nil {
			clientFault(t, err)
			return
		}
		if changed {
			readsBack(t, next, valid)
		}
	})
}

// TestSeedCorporaAreOfUse keeps the committed seeds from decaying into texts that are
// refused at the first byte.
func TestSeedCorporaAreOfUse(t *testing.T) {
	parse := map[string]func([]byte) error{
		"FuzzParse":       func(b []byte) error { _, err := metadata.Parse(b); return err },
		"FuzzParseCommit": func(b []byte) error { _, err := metadata.ParseCommit(b); return err },
		"FuzzParseCreate": func(b []byte) error { _, err := metadata.ParseCreate(b); return err },
		"FuzzApply":       func(b []byte) error { _, err := metadata.Parse(b); return err },

		"FuzzParseView":       func(b []byte) error { _, err := metadata.ParseView(b); return err },
		"FuzzParseViewCommit": func(b []byte) error { _, err := metadata.ParseViewCommit(b); return err },
		"FuzzParseCreateView": func(b []byte) error { _, err := metadata.ParseCreateView(b); return err },
		"FuzzApplyView":       func(b []byte) error { _, err := metadata.ParseView(b); return err },
	}
	for target, check := range parse {
		files, _ := filepath.Glob(filepath.Join("testdata", "fuzz", target, "seed-*"))
		good := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			line := strings.Split(string(text), "\n")[1]
			seed, err := strconv.Unquote(strings.TrimSuffix(strings.TrimPrefix(line, "[]byte("), ")"))
			if err != nil {
				t.Fatal(fmt.Errorf("%s: %w", file, err))
			}
			if check([]byte(seed)) == nil {
				good++
			}
		}
		if good < 3 {
			t.Errorf("%s: %d of %d seeds are accepted", target, good, len(files))
		}
	}
}
