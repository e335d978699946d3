package rest

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"piedmont/cache"
	"piedmont/mounts"
)

// Whatever a configuration says, requests stay at the host and below /v1 of a path there.
func FuzzConfig(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		base, err := url.Parse("https://host:8181/base")
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseConfig(body, base)
		if err != nil {
			return
		}
		if s.plain == "" || s.separator == "" || s.offers == nil {
			t.Fatalf("%q: %+v", body, s)
		}
		address := s.object(object{id: mounts.Namespace{"a/b", "..c"}.Table("d?e#f")})
		u, err := url.Parse(address)
		if err != nil {
			t.Fatalf("%q leads to %q: %v", body, address, err)
		}
		if u.Host != base.Host || u.Scheme != base.Scheme || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			t.Fatalf("%q leads to %q", body, address)
		}
		if !strings.HasPrefix(address, s.base) || !strings.Contains(s.base, "/v1") || u.EscapedPath() != strings.TrimPrefix(address, "https://"+base.Host) {
			t.Fatalf("%q leads to %q, sent as %q", body, address, u.EscapedPath())
		}
		if s.oauth != "" {
			if o, err := url.Parse(s.oauth); err != nil || o.Hostname() != base.Hostname() || o.Scheme != base.Scheme {
				t.Fatalf("%q sends secrets to %q", body, s.oauth)
			}
		}
	})
}

// What is taken for a list is one for encoding/json too, with the same names.
func FuzzList(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		if elements, next, err := parseList(body, "namespaces"); err == nil {
			var want struct {
				Namespaces []json.RawMessage `json:"namespaces"`
				Next       *string           `json:"next-page-token"`
			}
			var exact map[string]json.RawMessage
			if err := json.Unmarshal(body, &exact); err != nil {
				t.Fatalf("%q: %v", body, err)
			}
			if err := json.Unmarshal(exact["namespaces"], &want.Namespaces); err != nil || len(want.Namespaces) != len(elements) {
				t.Fatalf("%q: %d elements, want %d: %v", body, len(elements), len(want.Namespaces), err)
			}
			if !utf8.ValidString(next) {
				t.Fatalf("%q: token %q", body, next)
			}
			for _, e := range elements {
				levels, err := parseLevels(e)
				var same []string
				if err == nil && (json.Unmarshal(e, &same) != nil || len(same) != len(levels)) {
					t.Fatalf("%q: levels %q", e, levels)
				}
			}
		}
		if elements, _, err := parseList(body, "identifiers"); err == nil {
			for _, e := range elements {
				if id, err := parseIdentifier(e); err == nil && !utf8.ValidString(id.String()) {
					t.Fatalf("%q: %q", e, id)
				}
			}
		}
	})
}

func FuzzNamespace(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		n, properties, err := parseNamespace(body)
		if err != nil {
			return
		}
		if n == nil || properties == nil {
			t.Fatalf("%q: %v %v", body, n, properties)
		}
	})
}

// What is cut out as metadata is what NewDocument would take, and never more than the
// upstream's own member.
func FuzzLoad(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		location, metadata, err := parseLoad(body)
		if err != nil {
			return
		}
		if _, err := cache.NewDocument(metadata); err != nil {
			t.Fatalf("%q: cut %q: %v", body, metadata, err)
		}
		var exact map[string]json.RawMessage
		if err := json.Unmarshal(body, &exact); err != nil || string(exact["metadata"]) != string(metadata) {
			t.Fatalf("%q: cut %q, want %q: %v", body, metadata, exact["metadata"], err)
		}
		if !utf8.ValidString(location) {
			t.Fatalf("%q: location %q", body, location)
		}
		known, err := newEntry(&answer{body: body}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := newEntry(&answer{body: body}, known); err != nil || again != known {
			t.Fatalf("%q: the same answer is another table", body)
		}
	})
}

// Only a well-formed error body has a type, and no body makes a status an absence that
// isn't one.
func FuzzError(f *testing.F) {
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := parseError(status, body, secrets{"s3cret"})
		if e.typ != "" && !json.Valid(body) {
			t.Fatalf("%q has the type %q", body, e.typ)
		}
		if status != 404 && (object{}.missing(e) || object{form: view}.missing(e) || absent(e, typeNoFile, typeNoNamespace)) {
			t.Fatalf("%d %q is an absence", status, body)
		}
		if !utf8.ValidString(e.Error()) || strings.ContainsAny(e.Error(), "\r\n") {
			t.Fatalf("%q is logged as %q", body, e.Error())
		}
	})
}

func FuzzToken(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		sent := time.Unix(1_700_000_000, 0)
		got, err := parseToken(body, sent)
		if err != nil {
			return
		}
		if got.value == "" || !headerText(got.value) {
			t.Fatalf("%q: token %q", body, got.value)
		}
		if got.expires.IsZero() != got.renew.IsZero() || got.expires.Before(got.renew) || !got.renew.IsZero() && !got.renew.After(sent) {
			t.Fatalf("%q: %+v", body, got)
		}
	})
}
