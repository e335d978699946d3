package router

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"piedmont/mounts"
)

// The seeds lie in testdata/fuzz, one corpus for each target.

func FuzzNamespacePath(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw string) {
		for _, d := range []reading{{}, {plusIsSpace: true}, {parentTwice: true}} {
			n, err := d.namespace(raw)
			if err != nil {
				if !mounts.Is(err, mounts.BadRequest) {
					t.Fatalf("%q: %v", raw, err)
				}
				continue
			}
			if err := n.Validate(); err != nil {
				t.Fatalf("%q gives a namespace that isn't valid: %v", raw, err)
			}
			again, err := d.namespace(strings.ReplaceAll(url.PathEscape(n.Encode()), "+", "%2B"))
			if err != nil || !again.Equal(n) {
				t.Fatalf("%q: spelled anew it is %q, not %q: %v", raw, again, n, err)
			}
		}
	})
}

func FuzzParent(f *testing.F) {
	f.Fuzz(func(t *testing.T, value string) {
		for _, d := range []reading{{}, {parentTwice: true}} {
			n, err := d.parent(value)
			switch {
			case err != nil && !mounts.Is(err, mounts.BadRequest):
				t.Fatalf("%q: %v", value, err)
			case err == nil && n.Validate() != nil:
				t.Fatalf("%q gives a namespace that isn't valid: %q", value, n)
			case err == nil && n.IsRoot() && value != "":
				t.Fatalf("%q gives the root", value)
			}
		}
	})
}

func FuzzPageToken(f *testing.F) {
	tokens, err := newPageTokens(make([]byte, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, given, bound, other string) {
		if token, err := tokens.open(given, []byte(bound)); given != "" && err == nil {
			t.Fatalf("a token that nobody made opens as %q", token)
		} else if err != nil && !mounts.Is(err, mounts.BadRequest) {
			t.Fatal(err)
		}
		sealed := tokens.seal(given, []byte(bound))
		if len(sealed) > maxTokenBytes {
			return // no name is that long
		}
		if token, err := tokens.open(sealed, []byte(bound)); err != nil || token != given {
			t.Fatalf("%q comes back as %q: %v", given, token, err)
		}
		if bound != other && given != "" {
			if _, err := tokens.open(sealed, []byte(other)); !mounts.Is(err, mounts.BadRequest) {
				t.Fatalf("a token for %q opens for %q: %v", bound, other, err)
			}
		}
	})
}

func FuzzIfNoneMatch(f *testing.F) {
	const opaque = "q83vASNFZ4mrze8BI0VniQ"
	f.Fuzz(func(t *testing.T, first, second string) {
		header := []string{first, second}
		if matches(header, `W/"`+opaque+`"`) && !strings.Contains(first+"\n"+second, opaque) && !strings.Contains(first+second, "*") {
			t.Fatalf("%q matches", header)
		}
		if !matches(append(header, `W/"`+opaque+`"`), `W/"`+opaque+`"`) {
			t.Fatalf("the tag after %q doesn't match", header)
		}
	})
}

func FuzzAcceptEncoding(f *testing.F) {
	f.Fuzz(func(t *testing.T, header string) {
		accepts := acceptsGzip(&http.Request{Header: http.Header{"Accept-Encoding": {header}}})
		if accepts && !strings.Contains(strings.ToLower(header), "gzip") && !strings.Contains(header, "*") {
			t.Fatalf("%q accepts gzip", header)
		}
	})
}
