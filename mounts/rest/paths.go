package rest

import (
	"net/url"
	"slices"
	"strings"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// defaultSeparator is the spec's, 0x1F, as it stands in a path.
const defaultSeparator = "%1F"

// escape writes a level or a name as a path segment, or a part of one: a space is %20 and
// a plus %2B, the spellings that no server reads as the other.
func escape(s string) string { return strings.ReplaceAll(url.PathEscape(s), "+", "%2B") }

// escapeQuery writes the value of a query parameter, with %20 for a space.
func escapeQuery(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// join appends a path to a base, whose own path may end in slashes.
func join(base *url.URL, path string) string { return strings.TrimRight(base.String(), "/") + path }

// pathText says whether s is written as a URL's path segment may be: no byte that needs
// escaping, and each percent sign begins an escape. extra are further bytes it may hold.
func pathText(s, extra string) bool {
	for i := 0; i < len(s); i++ {
		b := s[i]
		switch {
		case b == '%':
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return false
			}
			i += 2
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		case strings.IndexByte("-._~"+extra, b) < 0:
			return false
		}
	}
	return true
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}

func (s *settings) namespaces() string { return s.base + "/namespaces" }

// namespace is the URL of a namespace. Between the levels stands the separator as the
// upstream wrote it: some split before they decode.
func (s *settings) namespace(n mounts.Namespace) string {
	var b strings.Builder
	b.WriteString(s.base + "/namespaces/")
	for i, level := range n {
		if i > 0 {
			b.WriteString(s.separator)
		}
		b.WriteString(escape(level))
	}
	return b.String()
}

func (s *settings) tables(n mounts.Namespace) string { return s.namespace(n) + "/tables" }

func (s *settings) views(n mounts.Namespace) string { return s.namespace(n) + "/views" }

// object is the URL of a table or view.
func (s *settings) object(o object) string {
	in := s.tables(o.id.Namespace)
	if o.form == view {
		in = s.views(o.id.Namespace)
	}
	return in + "/" + escape(o.id.Name)
}

// parent is a namespace as the value of ?parent=, where the levels are not encoded one by
// one, but all together with the plain separator.
func (s *settings) parent(n mounts.Namespace) string {
	return escapeQuery(strings.Join(n, s.plain))
}

// holdsSeparator says whether a level holds the upstream's separator.
func (s *settings) holdsSeparator(n mounts.Namespace) bool {
	return slices.ContainsFunc(n, func(level string) bool { return strings.Contains(level, s.plain) })
}

// ambiguous says whether a level holds the upstream's separator, or a dot, by which many
// join names. Such an upstream may read another namespace there, one that a policy forbids.
func (s *settings) ambiguous(n mounts.Namespace) bool {
	return s.holdsSeparator(n) || slices.ContainsFunc(n, func(level string) bool { return strings.Contains(level, ".") })
}

// apart is a namespace whose levels are split where an upstream that joins them would split
// again; nil where there is none.
func (s *settings) apart(n mounts.Namespace) mounts.Namespace {
	if !s.ambiguous(n) {
		return nil
	}
	var all mounts.Namespace
	for _, level := range n {
		for part := range strings.SplitSeq(level, s.plain) {
			all = append(all, strings.Split(part, ".")...)
		}
	}
	if all.Validate() != nil {
		return nil // like that of "..."
	}
	return all
}

// nessieMarks begin what Nessie reads as a branch (t@dev), as a time or commit (t#2026-01-01),
// or quote a name.
const nessieMarks = "@#`'\""

// readable says whether the upstream takes the name of a table or view for a name and nothing
// else. Else a policy on t could be passed by asking for t@main.
func (s *settings) readable(name string) bool {
	return !s.nessie || !strings.ContainsAny(name, nessieMarks)
}

// crooked says whether a level or a name is none, or another, where something on the way decodes
// the path, takes a backslash for a slash and cleans that up: some proxies do before they pass
// it on, and the upstream would then read "x/../b" as b, or "b/" as b, which a policy may forbid.
// For that reason "." and ".." alone are no names anywhere here. What stands behind a semicolon
// some servers leave out first. What decodes twice isn't thought of: no name with a percent sign
// would get through it as it is.
func crooked(name string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(name, `\`, "/"), "/") {
		if part, _, _ = strings.Cut(part, ";"); part == "" || part == "." || part == ".." {
			return true
		}
	}
	return false
}

// askable is nil where a namespace, or a table or view in it, may be asked for.
func askable(n mounts.Namespace, names ...string) error {
	if slices.ContainsFunc(n, crooked) || slices.ContainsFunc(names, crooked) {
		return errCrooked
	}
	return nil
}

var errCrooked = &guard.Fault{
	Ours: true, Kind: mounts.BadRequest,
	Text: "is not asked for such a name: a part of it between slashes is empty, '.' or '..', and may be cleaned away on the way",
}
