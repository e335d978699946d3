package metadata_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"piedmont/mounts"
	"piedmont/native/metadata"
)

// testdata/requests holds what clients really sent, as a proxy before this catalog recorded
// it, one archive for each client. A folder of an archive is the story of one table or view:
// its create, unless it was staged, and its commits in order. Requests of transactions were
// taken apart. Of the same shape only the first are kept; uuids and locations are those of
// these tests.

// request is one create or commit of a client.
type request struct {
	story  string // "java.txtar table-01"
	view   bool
	create bool
	body   []byte
	base   []byte // the document before it, nil for the first of a story
}

// at is the clock of the requests: the tables are as old as their first snapshots.
var requestsAt = time.UnixMilli(1_796_000_000_000)

const requestsUUID, requestsLocation = "9c12d441-03fe-4693-9a96-a0705ddf69c1", "s3://bucket/t"

// carryOut does what the catalog does with a request: it returns the document that it makes,
// which is the base where it changes nothing.
func (r request) carryOut(body []byte) ([]byte, error) {
	if r.view {
		return r.carryOutOnView(body)
	}
	options := metadata.CreateOptions{Now: requestsAt, UUID: requestsUUID, Location: requestsLocation}
	if r.create {
		parsed, err := metadata.ParseCreate(body)
		if err != nil {
			return nil, err
		}
		return bytesOf(metadata.New(parsed, options))
	}
	commit, err := metadata.ParseCommit(body)
	if err != nil {
		return nil, err
	}
	if commit.IsCreate() {
		return bytesOf(metadata.Build(commit.Updates, options))
	}
	if r.base == nil {
		return nil, &mounts.Error{Kind: mounts.NoSuchTable}
	}
	d, err := metadata.Parse(r.base)
	if err != nil {
		return nil, &mounts.Error{Kind: mounts.Internal, Err: err}
	}
	if err := d.CheckRequirements(commit.Requirements); err != nil {
		return nil, err
	}
	next, _, err := d.Apply(commit.Updates, metadata.Options{Now: requestsAt, MetadataLocation: requestsLocation + "/m"})
	return bytesOf(next, err)
}

func (r request) carryOutOnView(body []byte) ([]byte, error) {
	options := metadata.ViewOptions{Now: requestsAt, UUID: requestsUUID, Location: requestsLocation}
	if r.create {
		parsed, err := metadata.ParseCreateView(body)
		if err != nil {
			return nil, err
		}
		return bytesOf(metadata.NewView(parsed, options))
	}
	commit, err := metadata.ParseViewCommit(body)
	if err != nil {
		return nil, err
	}
	d, err := metadata.ParseView(r.base)
	if err != nil {
		return nil, &mounts.Error{Kind: mounts.Internal, Err: err}
	}
	if err := d.CheckRequirements(commit.Requirements); err != nil {
		return nil, err
	}
	next, _, err := d.Apply(commit.Updates, options)
	return bytesOf(next, err)
}

func bytesOf[D interface{ Bytes() []byte }](d D, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return d.Bytes(), nil
}

// requestsOfClients reads the archives and carries out every request, each on what the one
// before it made. None may be refused: they were not when they were recorded.
func requestsOfClients(t testing.TB) []request {
	t.Helper()
	archives, err := filepath.Glob("testdata/requests/*.txtar")
	if err != nil || len(archives) < 3 {
		t.Fatal(archives, err)
	}
	var all []request
	for _, archive := range archives {
		a, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		var document []byte
		for _, f := range a.Files {
			folder, name, _ := strings.Cut(f.Name, "/")
			r := request{
				story: filepath.Base(archive) + " " + folder, body: f.Data,
				view: strings.HasPrefix(folder, "view"), create: strings.HasSuffix(name, "create"),
			}
			if len(all) > 0 && all[len(all)-1].story == r.story {
				r.base = document
			}
			if document, err = r.carryOut(r.body); err != nil {
				t.Fatalf("%s %s: %v\n%s\n%s", archive, f.Name, err, r.body, r.base)
			}
			all = append(all, r)
		}
	}
	return all
}

// valid fails the test unless a document reads back and keeps every rule.
func (r request) valid(t *testing.T, document []byte) {
	t.Helper()
	var err error
	if r.view {
		var d *metadata.ViewDocument
		if d, err = metadata.ParseView(document); err == nil {
			err = d.Validate()
		}
	} else {
		var d *metadata.Document
		if d, err = metadata.Parse(document); err == nil {
			err = d.Validate()
		}
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", r.story, err, document)
	}
}

// blamed fails the test unless a refusal is of a kind that is no fault of ours.
func blamed(t *testing.T, err error, body []byte) {
	t.Helper()
	for _, kind := range []mounts.Kind{mounts.BadRequest, mounts.InvalidArgument, mounts.CommitFailed, mounts.NoSuchTable} {
		if mounts.Is(err, kind) {
			return
		}
	}
	t.Fatalf("not the client's fault: %v\n%s", err, body)
}

// TestRequestsOfClients: they are accepted, and make valid documents.
func TestRequestsOfClients(t *testing.T) {
	for _, r := range requestsOfClients(t) {
		document, err := r.carryOut(r.body)
		if err != nil {
			t.Fatal(r.story, err)
		}
		r.valid(t, document)
	}
}

// FuzzRequests sends mutated requests of real clients to the tables that they were sent to.
func FuzzRequests(f *testing.F) {
	all := requestsOfClients(f)
	for i, r := range all {
		f.Add(uint16(i), r.body)
	}
	f.Fuzz(func(t *testing.T, which uint16, body []byte) {
		r := all[int(which)%len(all)]
		document, err := r.carryOut(body)
		if err != nil {
			blamed(t, err, body)
			return
		}
		r.valid(t, document)
	})
}
