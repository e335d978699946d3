package metadata_test

import (
	"testing"
	"time"

	"piedmont/mounts"
	"piedmont/native/metadata"
)

// viewClientFault fails the test unless err blames the request.
func viewClientFault(t *testing.T, err error) {
	t.Helper()
	if !mounts.Is(err, mounts.InvalidArgument) {
		clientFault(t, err)
	}
}

// viewReadsBack fails the test unless a view that was built parses. valid says that its
// base was valid, so it must be too.
func viewReadsBack(t *testing.T, d *metadata.ViewDocument, valid bool) {
	t.Helper()
	again, err := metadata.ParseView(d.Bytes())
	if err != nil {
		t.Fatalf("own text doesn't parse: %v\n%s", err, d.Bytes())
	}
	if err := again.Validate(); valid && err != nil {
		t.Fatalf("own text isn't valid: %v\n%s", err, d.Bytes())
	}
}

// applyToView applies a commit, which must be refused as the client's fault or lead to
// a view that reads back.
func applyToView(t *testing.T, d *metadata.ViewDocument, updates []metadata.ViewUpdate, valid bool) {
	t.Helper()
	next, changed, err := d.Apply(updates, metadata.ViewOptions{Now: time.UnixMilli(1 << 41)})
	if err != nil {
		viewClientFault(t, err)
	} else if changed {
		viewReadsBack(t, next, valid)
	}
}

func noMember() string { return "" }

func FuzzParseView(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		d, err := metadata.ParseView(raw)
		if err != nil {
			viewClientFault(t, err)
			return
		}
		if string(d.Bytes()) != before {
			t.Fatal("the text changed")
		}
		d.Properties()
		err = d.Validate()
		if err != nil {
			viewClientFault(t, err)
		}
		version := `{"action":"add-view-version","view-version":{"version-id":1,"schema-id":0,"timestamp-ms":1,"default-namespace":[],"representations":[{"type":"sql","sql":"a","dialect":"spark"}]}}`
		for _, list := range [][]string{
			{`{"action":"set-properties","updates":{"version.history.num-entries":"1"}}`},
			{version, `{"action":"set-current-view-version","view-version-id":-1}`},
		} {
			applyToView(t, d, parseViewUpdates(t, list), err == nil)
		}
	})
}

func FuzzParseViewCommit(f *testing.F) {
	d := startingView(f, noMember, "")
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := metadata.ParseViewCommit(body)
		if err != nil {
			viewClientFault(t, err)
			return
		}
		if err := d.CheckRequirements(c.Requirements); err != nil && !mounts.Is(err, mounts.CommitFailed) {
			t.Fatal(err)
		}
		applyToView(t, d, c.Updates, true)
	})
}

func FuzzParseCreateView(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := metadata.ParseCreateView(body)
		if err != nil {
			viewClientFault(t, err)
			return
		}
		d, err := metadata.NewView(req, metadata.ViewOptions{Now: time.UnixMilli(1), UUID: "9c12d441-03fe-4693-9a96-a0705ddf69c1", Location: "s3://b"})
		if err != nil {
			viewClientFault(t, err)
			return
		}
		viewReadsBack(t, d, true)
	})
}

func FuzzApplyView(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw, body []byte) {
		d, err := metadata.ParseView(raw)
		if err != nil {
			return
		}
		c, err := metadata.ParseViewCommit(body)
		if err != nil {
			return
		}
		applyToView(t, d, c.Updates, d.Validate() == nil)
	})
}
