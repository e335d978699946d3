package configs

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

func (v *validator) mount(path string, m *Mount, profiles, ats, ids map[string]bool) {
	v.unique(path+".at", "a mount at", m.At, ats)
	for _, level := range strings.Split(m.At, ".") {
		if level == "" && m.At != "" {
			v.fault(path+".at", "an empty level: levels are joined by single dots")
			break
		}
	}
	used := map[string]bool{}
	for i, name := range m.Storage {
		at := fmt.Sprintf("%s.storage[%d]", path, i)
		v.unique(at, "the profile", name, used)
		if !profiles[name] {
			v.fault(at, "no storage profile has the name%s", v.quoted(at, name))
		}
	}
	for i, level := range m.Source {
		if level == "" {
			v.fault(fmt.Sprintf("%s.source[%d]", path, i), "an empty level")
		}
	}
	if m.Case != "" && m.Case != "exact" && m.Case != "lower" {
		v.fault(path+".case", "want exact or lower")
	}
	v.kind(path, m, ids)
}

// kind checks the one catalog that a mount attaches.
func (v *validator) kind(path string, m *Mount, ids map[string]bool) {
	var kinds []string
	for _, k := range []struct {
		name string
		set  bool
	}{{"native", m.Native != nil}, {"rest", m.REST != nil}, {"glue", m.Glue != nil}, {"hive", m.Hive != nil}} {
		if k.set {
			kinds = append(kinds, k.name)
		}
	}
	switch {
	case len(kinds) == 0:
		v.fault(path, "want native, rest, glue or hive")
	case len(kinds) > 1:
		v.fault(path, "%s exclude each other", strings.Join(kinds, " and "))
	case m.Native != nil:
		v.native(path, m, ids)
	case m.Glue != nil:
		v.glue(path+".glue", m.Glue)
	case m.Hive != nil:
		v.hive(path+".hive", m.Hive)
	default:
		v.rest(path+".rest", m.REST)
	}
}

func (v *validator) native(path string, m *Mount, ids map[string]bool) {
	if m.Native.ID == "" {
		v.fault(path+".native.id", "missing; it keys the catalog's state, so never change it")
	} else {
		v.unique(path+".native.id", "the id", m.Native.ID, ids)
	}
	if m.Native.Warehouse == "" {
		v.fault(path+".native.warehouse", "missing; it says where tables are put that name no location")
	}
	if len(m.Storage) == 0 {
		v.fault(path+".storage", "missing; a native mount needs the profile that its warehouse lies in")
	}
	v.formatVersions(path+".native", m.Native)
	if m.FreshFor != 0 {
		v.fault(path+".fresh_for", "a native mount is always fresh")
	}
}

func (v *validator) formatVersions(path string, n *Native) {
	for i, version := range n.FormatVersions {
		if version < 1 || version > 3 {
			v.fault(fmt.Sprintf("%s.format_versions[%d]", path, i), "there are the format versions 1, 2 and 3")
		}
	}
	allowed := n.FormatVersions
	if len(allowed) == 0 {
		allowed = []int{1, 2, 3}
	}
	v.positive(path+".default_format_version", int64(n.DefaultFormatVersion))
	if n.DefaultFormatVersion > 0 && !slices.Contains(allowed, n.DefaultFormatVersion) {
		v.fault(path+".default_format_version", "%d isn't among the allowed versions %v", n.DefaultFormatVersion, allowed)
	}
}

func (v *validator) rest(path string, r *REST) {
	if r.URI == "" {
		v.fault(path+".uri", "missing")
	} else {
		v.url(path+".uri", r.URI)
	}
	if r.OAuth2ServerURI != "" {
		v.url(path+".oauth2_server_uri", r.OAuth2ServerURI)
	}
	ways := 0
	for _, set := range []bool{r.Credential != "", r.Token != "", r.SigV4 != nil} {
		if set {
			ways++
		}
	}
	if ways > 1 {
		v.fault(path, "credential, token and sigv4 exclude each other")
	}
	v.positive(path+".connections", int64(r.Connections))
	v.positive(path+".timeout", int64(r.Timeout))
	if r.Credential != "" && !strings.Contains(r.Credential, ":") {
		v.fault(path+".credential", "want id:secret")
	}
	if s := r.SigV4; s != nil {
		if s.Region == "" || s.Service == "" {
			v.fault(path+".sigv4", "region and service are needed")
		}
		v.pair(path+".sigv4", s.AccessKeyID, s.SecretAccessKey)
	}
}

func (v *validator) glue(path string, g *Glue) {
	if g.Region == "" {
		v.fault(path+".region", "missing")
	}
	if g.Endpoint != "" {
		v.url(path+".endpoint", g.Endpoint)
	}
	if g.STSEndpoint != "" {
		v.url(path+".sts_endpoint", g.STSEndpoint)
	}
	v.pair(path, g.AccessKeyID, g.SecretAccessKey)
	if g.RoleARN == "" && (g.ExternalID != "" || g.SessionName != "" || g.STSEndpoint != "") {
		v.fault(path+".role_arn", "missing; external_id, session_name and sts_endpoint are for a role")
	}
	v.positive(path+".calls_per_second", int64(g.CallsPerSecond))
	v.positive(path+".timeout", int64(g.Timeout))
}

func (v *validator) hive(path string, h *Hive) {
	if len(h.URIs) == 0 {
		v.fault(path+".uris", "missing")
	}
	for i, uri := range h.URIs {
		v.metastore(fmt.Sprintf("%s.uris[%d]", path, i), uri, h)
	}
	v.positive(path+".connections", int64(h.Connections))
	v.positive(path+".timeout", int64(h.Timeout))
	if t := h.TLS; t != nil && (t.Cert == "") != (t.Key == "") && !v.faultInside(path+".tls") {
		v.fault(path+".tls", "cert and key need each other")
	}
	if p := h.Plain; p != nil {
		if (p.User == "" || p.Password == "") && !v.faultInside(path+".plain") {
			v.fault(path+".plain", "user and password are needed")
		}
		if h.Framed || h.User != "" {
			v.fault(path+".plain", "it frames messages and says who asks, so leave out framed and user")
		}
	}
}

// metastore checks the URI of one.
func (v *validator) metastore(path, uri string, h *Hive) {
	u, err := url.Parse(uri)
	switch {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
		v.url(path, uri)
		if h.Framed || h.Plain != nil {
			v.fault(path, "framed and plain are for thrift:// alone")
		}
		if u.Scheme == "http" && h.TLS != nil {
			v.fault(path, "tls is set: want https://")
		}
	case err != nil || u.Scheme != "thrift" || u.Hostname() == "" || u.Port() == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		v.fault(path, "want thrift://host:port, or http:// or https:// for Thrift over HTTP")
	case u.User != nil:
		v.fault(path, "a URL must hold no password")
	}
}
