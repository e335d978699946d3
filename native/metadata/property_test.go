package metadata_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"piedmont/mounts"
	"piedmont/native/metadata"
)

// startingTable is a new table of that version, made from a create request with an
// unknown member in each object that a create has.
func startingTable(t testing.TB, version int, token func() string) *metadata.Document {
	t.Helper()
	x := func() string { return `"x-member":"` + token() + `"` }
	req, err := metadata.ParseCreate(fmt.Appendf(nil, `{"name":"t","properties":{"format-version":"%d"},
	"schema":{"type":"struct",%s,"fields":[{"id":0,"name":"id","required":true,"type":"long",%s},{"id":1,"name":"ts","required":false,"type":"timestamptz"},
		{"id":2,"name":"s","required":false,"type":{"type":"struct",%s,"fields":[{"id":3,"name":"l","required":false,"type":{"type":"list","element-id":4,"element":"string","element-required":false,%s}}]}}]},
	"partition-spec":{%s,"fields":[{"source-id":1,"transform":"day","name":"ts_day",%s}]},
	"write-order":{%s,"fields":[{"source-id":0,"transform":"identity","direction":"asc","null-order":"nulls-first",%s}]}}`,
		version, x(), x(), x(), x(), x(), x(), x(), x()))
	if err != nil {
		t.Fatal(err)
	}
	d, err := metadata.New(req, metadata.CreateOptions{Now: time.UnixMilli(1_000_000), UUID: "9c12d441-03fe-4693-9a96-a0705ddf69c1", Location: "s3://b/t"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func parseUpdates(t testing.TB, list []string) []metadata.Update {
	t.Helper()
	c, err := metadata.ParseCommit([]byte(`{"updates":[` + strings.Join(list, ",") + `]}`))
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(list, "\n"))
	}
	return c.Updates
}

// tokens is the planted members that a text holds.
func tokens(text string) []string {
	var all []string
	for _, part := range strings.Split(text, `"x-member":"`)[1:] {
		token, _, _ := strings.Cut(part, `"`)
		all = append(all, token)
	}
	return all
}

// TestUnknownMembersSurviveAnyCommits plants a member nobody knows into every object
// that is created or added, and runs commits that remove nothing: each must still be
// there at the end.
func TestUnknownMembersSurviveAnyCommits(t *testing.T) {
	most := 0
	for seed := range uint64(60) {
		planted := 0
		token := func() string { planted++; return fmt.Sprintf("token-%d", planted) }
		d := startingTable(t, 1+int(seed%3), token)
		g := newGenerator(seed)
		g.keep, g.token = true, token
		for range 30 {
			list := g.commit(t, d.Bytes())
			next, _, err := d.Apply(parseUpdates(t, list), metadata.Options{Now: time.UnixMilli(g.now), MetadataLocation: "s3://b/m"})
			if err != nil {
				continue
			}
			have := map[string]bool{}
			for _, token := range tokens(string(next.Bytes())) {
				have[token] = true
			}
			for _, token := range append(tokens(string(d.Bytes())), tokens(strings.Join(list, ""))...) {
				if !have[token] {
					t.Fatalf("seed %d: %s is lost after\n%s", seed, token, strings.Join(list, "\n"))
				}
			}
			d, most = next, max(most, len(have))
		}
	}
	if most < 50 {
		t.Errorf("at most %d members were planted: the generator has lost its way", most)
	}
}

// TestAnyCommitsLeaveAValidDocument runs commits of all kinds: each is refused with a
// kind that a client understands, or leads to a document that is valid, reads back as
// itself, and doesn't change its base.
func TestAnyCommitsLeaveAValidDocument(t *testing.T) {
	applied := 0
	for seed := range uint64(60) {
		d := startingTable(t, 1+int(seed%3), func() string { return "x" })
		g := newGenerator(1000 + seed)
		for range 30 {
			list := g.commit(t, d.Bytes())
			before := string(d.Bytes())
			next, changed, err := d.Apply(parseUpdates(t, list), metadata.Options{Now: time.UnixMilli(g.now), MetadataLocation: "s3://b/m"})
			if string(d.Bytes()) != before {
				t.Fatalf("seed %d: the base changed\n%s", seed, strings.Join(list, "\n"))
			}
			if err != nil {
				if !mounts.Is(err, mounts.BadRequest) && !mounts.Is(err, mounts.CommitFailed) {
					t.Fatalf("seed %d: %v", seed, err)
				}
				continue
			}
			checkNext(t, d, next, changed, list)
			d = next
			applied++
		}
	}
	if applied < 600 {
		t.Errorf("only %d of 1,800 commits were applied: the generator has lost its way", applied)
	}
}

func checkNext(t *testing.T, d, next *metadata.Document, changed bool, list []string) {
	t.Helper()
	if !changed && next != d {
		t.Fatal("no change, but another document")
	}
	again, err := metadata.Parse(next.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, strings.Join(list, "\n"), next.Bytes())
	}
	for _, v := range []*metadata.Document{next, again} {
		if err := v.Validate(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, strings.Join(list, "\n"), v.Bytes())
		}
	}
	if next.LastUpdatedMillis() < d.LastUpdatedMillis() || next.LastSequenceNumber() < d.LastSequenceNumber() {
		t.Fatal("time or sequence numbers went back")
	}
	// The same commit to the document as read back must come to the same.
	if changed {
		fresh, err := metadata.Parse(d.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		other, _, err := fresh.Apply(parseUpdates(t, list), metadata.Options{Now: time.UnixMilli(next.LastUpdatedMillis()), MetadataLocation: "s3://b/m"})
		if err != nil || string(other.Bytes()) != string(next.Bytes()) {
			t.Fatalf("read back, the same commit comes to something else: %v\n%s", err, strings.Join(list, "\n"))
		}
	}
}
