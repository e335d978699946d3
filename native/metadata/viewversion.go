package metadata

import (
	"encoding/json"
	"strings"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
)

// viewVersion is a decoded version of a view. The object it came from keeps what isn't
// decoded.
type viewVersion struct {
	*object
	id        int
	schemaID  int
	timestamp int64
	dialects  []string // of its queries, in lower case
}

// viewVersion decodes a version. What is wrong goes to r. The summary may be missing or
// null, which is how iceberg-go has it if there is nothing to say.
func (r *reader) viewVersion(o *object) *viewVersion {
	v := &viewVersion{object: o, id: o.int("version-id"), schemaID: o.int("schema-id"), timestamp: o.long("timestamp-ms")}
	o.optStringMap("summary")
	o.optStr("default-catalog")
	for i, level := range o.strings("default-namespace") {
		if strings.ContainsRune(level, 0) {
			// Java could no longer read the view.
			r.fail(o.at("default-namespace["+itoa(i)+"]"), "must not hold the character U+0000")
		}
	}
	representations := o.children("representations")
	if len(representations) == 0 {
		r.fail(o.at("representations"), "must not be empty")
	}
	for _, representation := range representations {
		if isSQL(representation.str("type")) {
			representation.filled("sql")
			v.dialects = append(v.dialects, strings.ToLower(strings.TrimSpace(representation.filled("dialect"))))
		}
	}
	return v
}

// isSQL says whether a representation of that type is a query. Java takes the type in
// any case.
func isSQL(kind string) bool { return strings.EqualFold(kind, "sql") }

// filled is a string that must not be blank: iceberg-go can't read a view whose query or
// dialect is.
func (o *object) filled(key string) string {
	s := o.str(key)
	if strings.TrimSpace(s) == "" {
		o.r.fail(o.at(key), "must not be empty")
	}
	return s
}

// checkDialects refuses a second query for a dialect, in the words that the
// compatibility kit matches.
func (v *viewVersion) checkDialects() error {
	seen := make(map[string]bool, len(v.dialects))
	for _, dialect := range v.dialects {
		if seen[dialect] {
			return &mounts.Error{
				Kind:   mounts.InvalidArgument,
				Detail: "Invalid view version: Cannot add multiple queries for dialect " + dialect,
			}
		}
		seen[dialect] = true
	}
	return nil
}

// withIDs is the version's text under these ids. A summary is added where there is
// none: Java could not read the view without.
func (v *viewVersion) withIDs(id, schemaID int64) json.RawMessage {
	o := v.clone()
	o.Set("version-id", rawjson.AppendInt(nil, id))
	o.Set("schema-id", rawjson.AppendInt(nil, schemaID))
	if !o.has("summary") {
		o.Set("summary", json.RawMessage("{}"))
	}
	return o.AppendTo(nil)
}

// versionIdentity is what makes two versions the same: all but their ids and times
// (ViewMetadata.Builder.sameViewVersion in Java).
func versionIdentity(raw json.RawMessage) identity {
	t, err := rawjson.ParseTree(raw, rawjson.MaxDepth)
	if err != nil {
		return identity{string(raw), string(raw)}
	}
	return identity{full: string(appendVersion(t, false)), plain: string(appendVersion(t, true))}
}

// appendVersion spells a version one way; plain leaves out members that the spec
// doesn't define.
func appendVersion(t *rawjson.Tree, plain bool) []byte {
	counts := func(m rawjson.TreeMember) bool {
		switch m.Key {
		case "version-id", "timestamp-ms":
			return false
		case "summary":
			return len(m.Value.Members) > 0
		case "schema-id", "representations", "default-catalog", "default-namespace":
			return !rawjson.IsNull(m.Value.Raw)
		}
		return !plain
	}
	return appendSorted(nil, t, counts, func(dst []byte, m rawjson.TreeMember) []byte {
		if m.Key != "representations" {
			return canonical{verbatim: true}.append(dst, m.Value, m.Key)
		}
		for _, e := range m.Value.Elements {
			dst = append(appendRepresentation(dst, e, plain), ',')
		}
		return dst
	})
}

// appendRepresentation spells a representation. Of types but SQL all counts in any
// case: nobody knows what makes two of them the same.
func appendRepresentation(dst []byte, t *rawjson.Tree, plain bool) []byte {
	kind, _ := textOf(t.Get("type"))
	counts := func(m rawjson.TreeMember) bool {
		return !plain || !isSQL(kind) || m.Key == "type" || m.Key == "sql" || m.Key == "dialect"
	}
	return appendSorted(dst, t, counts, func(dst []byte, m rawjson.TreeMember) []byte {
		return canonical{verbatim: true}.append(dst, m.Value, m.Key)
	})
}
