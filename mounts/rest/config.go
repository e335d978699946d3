package rest

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// The endpoints that we use, as configurations advertise them.
const (
	listNamespaces = "GET /v1/{prefix}/namespaces"
	loadNamespace  = "GET /v1/{prefix}/namespaces/{namespace}"
	listTables     = "GET /v1/{prefix}/namespaces/{namespace}/tables"
	loadTable      = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}"
	tableExists    = "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}"
	listViews      = "GET /v1/{prefix}/namespaces/{namespace}/views"
	loadView       = "GET /v1/{prefix}/namespaces/{namespace}/views/{view}"
	viewExists     = "HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}"
)

// settings is what the upstream's configuration says, as far as we use it. It never
// changes.
type settings struct {
	base      string // scheme, host, path and prefix
	separator string // as it stands in paths
	plain     string // decoded
	oauth     string // where tokens come from, if it said
	offers    map[string]bool
	silent    bool       // it doesn't say whether it has views
	nessie    bool       // it is a Nessie, with marks in names
	ignored   []override // that lead to another host
	asked     time.Time
}

// override is a key of the configuration, and what it says.
type override struct{ key, value string }

// loads is nil where the upstream may be asked for that.
func (s *settings) loads(o object) error {
	switch {
	case o.form == view && !s.offers[loadView] && !s.silent:
		return errNoViews
	case o.form != view && !s.offers[loadTable]:
		return errNotOffered
	case !s.readable(o.id.Name):
		return errMarks
	}
	return nil
}

var errMarks = &guard.Fault{Ours: true, Kind: mounts.BadRequest, Text: "does not take the name for one: it holds a character that means something else there"}

// parseConfig reads a CatalogConfig. Keys that we don't use may have any value.
func parseConfig(body []byte, base *url.URL) (*settings, error) {
	o, err := rawjson.ParseObject(body)
	if err != nil {
		return nil, err
	}
	var maps [2]rawjson.Object // overrides win
	for i, name := range []string{"overrides", "defaults"} {
		raw, _ := o.Get(name)
		if rawjson.IsNull(raw) {
			continue
		}
		if maps[i], err = rawjson.ParseObject(raw); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	get := func(key string) (string, error) {
		for i := range maps {
			if raw, ok := maps[i].Get(key); ok && !rawjson.IsNull(raw) {
				s, ok := rawjson.String(raw)
				if !ok {
					return "", fmt.Errorf("%s is no string", key)
				}
				return s, nil
			}
		}
		return "", nil
	}
	s := &settings{}
	if raw, _ := o.Get("endpoints"); !rawjson.IsNull(raw) {
		if s.offers, err = parseEndpoints(raw); err != nil {
			return nil, err
		}
	}
	if len(s.offers) == 0 { // an empty list too is none to Iceberg's own clients
		supported, err := get("view-endpoints-supported")
		if err != nil {
			return nil, err
		}
		s.offers, s.silent = defaultEndpoints(supported == "true"), supported == ""
	}
	return s, s.fill(base, get)
}

// fill reads the keys that we use.
func (s *settings) fill(base *url.URL, get func(string) (string, error)) error {
	var uri, prefix, separator, tokens, nessie string
	for key, value := range map[string]*string{
		"uri": &uri, "prefix": &prefix, "namespace-separator": &separator, "oauth2-server-uri": &tokens, "nessie.is-nessie-catalog": &nessie,
	} {
		var err error
		if *value, err = get(key); err != nil {
			return err
		}
	}
	if uri != "" {
		if moved, ok := sameOrigin(base, uri); ok {
			base = moved
		} else {
			s.ignored = append(s.ignored, override{"uri", uri})
		}
	}
	if tokens != "" {
		if at, ok := sameOrigin(base, tokens); ok {
			s.oauth = at.String()
		} else {
			s.ignored = append(s.ignored, override{"oauth2-server-uri", tokens})
		}
	}
	s.nessie = nessie == "true"
	var err error
	if prefix, err = parsePrefix(prefix); err != nil {
		return err
	}
	s.base = join(base, "/v1"+prefix)
	s.separator, s.plain, err = parseSeparator(separator)
	return err
}

// sameOrigin reads a URL that the upstream names, which may be relative to its base. ok is
// false where it leads to another scheme, host or port: our credential stays here.
func sameOrigin(base *url.URL, ref string) (*url.URL, bool) {
	r, err := url.Parse(ref)
	if err != nil || r.User != nil || r.Opaque != "" || r.RawQuery != "" || r.Fragment != "" {
		return nil, false
	}
	if r.Host == "" && r.Scheme == "" && !strings.HasPrefix(r.Path, "/") {
		parsed, err := url.Parse(join(base, "/"+ref))
		return parsed, err == nil
	}
	at := base.ResolveReference(r)
	same := at.Scheme == base.Scheme && strings.EqualFold(at.Hostname(), base.Hostname()) && port(at) == port(base)
	return at, same
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// maxPrefix bounds the prefix, which is in each question.
const maxPrefix = 2 << 10

// parsePrefix gives the prefix as it stands in paths, with a slash before it; empty for
// none. It may be several segments and come escaped already, as Java's client takes it
// verbatim.
func parsePrefix(prefix string) (string, error) {
	prefix = strings.Trim(prefix, "/")
	if prefix == "" {
		return "", nil
	}
	if len(prefix) > maxPrefix {
		return "", errors.New("the prefix is too long")
	}
	var b strings.Builder
	for segment := range strings.SplitSeq(prefix, "/") {
		if !pathText(segment, "!$&'()*+,;=:@") {
			segment = escape(segment)
		}
		if plain, err := url.PathUnescape(segment); err != nil || plain == "" || plain == "." || plain == ".." {
			return "", errors.New("the prefix is no path")
		}
		b.WriteString("/" + segment)
	}
	return b.String(), nil
}

// parseSeparator gives the separator as it stands in paths and decoded. It is advertised
// in its escaped form (spec: "namespace-separator").
func parseSeparator(s string) (escaped, plain string, err error) {
	if s == "" {
		s = defaultSeparator
	}
	if !pathText(s, "") {
		s = escape(s)
	}
	plain, err = url.PathUnescape(s)
	if err != nil || len(plain) > 8 || !utf8.ValidString(plain) || strings.Contains(plain, "/") {
		return "", "", errors.New("the namespace separator is none")
	}
	return s, plain, nil
}

func parseEndpoints(raw []byte) (map[string]bool, error) {
	elements, err := rawjson.Elements(raw)
	if err != nil {
		return nil, fmt.Errorf("endpoints: %w", err)
	}
	offers := make(map[string]bool, len(elements))
	for _, e := range elements {
		s, ok := rawjson.String(e)
		if !ok {
			return nil, errors.New("an endpoint is no string")
		}
		offers[s] = true
	}
	return offers, nil
}

// defaultEndpoints are those of an upstream that names none (the spec's list, as far as
// we use it): no HEAD is among them, and views only where the key says so that clients have
// for that.
func defaultEndpoints(views bool) map[string]bool {
	return map[string]bool{
		listNamespaces: true, loadNamespace: true, listTables: true, loadTable: true, listViews: views, loadView: views,
	}
}
