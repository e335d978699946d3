package router

import (
	"net/http"
	"net/url"
	"strings"

	"piedmont/mounts"
)

// reading says how a client spells names in URLs. It is decided once, by the client's
// X-Client-Version, so that no name is looked up under two readings.
type reading struct {
	// plusIsSpace: Java's clients form-encode path segments, so that a space is "+" and a
	// plus "%2B". Others leave a plus as it is.
	plusIsSpace bool
	// parentTwice: PyIceberg percent-encodes each level of the parent parameter and then
	// the parameter.
	parentTwice bool
}

func readingOf(r *http.Request) reading {
	version := r.Header.Get("X-Client-Version")
	return reading{
		plusIsSpace: strings.HasPrefix(version, "Apache Iceberg"),
		parentTwice: strings.HasPrefix(version, "PyIceberg"),
	}
}

// segment decodes one raw segment of a path, once.
func (d reading) segment(raw string) (string, error) {
	if d.plusIsSpace && strings.Contains(raw, "+") {
		raw = strings.ReplaceAll(raw, "+", " ")
	}
	if !strings.Contains(raw, "%") {
		return raw, nil
	}
	s, err := url.PathUnescape(raw)
	if err != nil {
		return "", &mounts.Error{Kind: mounts.BadRequest, Op: "read path", Detail: "Invalid path: a percent sign isn't followed by two hexadecimal digits", Err: err}
	}
	return s, nil
}

// namespace decodes the segment of a namespace: levels joined by 0x1F. The separator isn't
// advertised as anything else, so a dot is part of a level.
func (d reading) namespace(raw string) (mounts.Namespace, error) {
	s, err := d.segment(raw)
	if err != nil {
		return nil, err
	}
	return split(s)
}

// parent decodes the parent parameter, which has been form-decoded already. Empty means
// the root.
func (d reading) parent(value string) (mounts.Namespace, error) {
	if value == "" {
		return nil, nil
	}
	n, err := split(value)
	if err != nil || !d.parentTwice {
		return n, err
	}
	for i, level := range n {
		if n[i], err = url.PathUnescape(level); err != nil {
			n[i] = level // a percent sign that PyIceberg didn't write
		}
	}
	return n, n.Validate()
}

func split(s string) (mounts.Namespace, error) {
	n := mounts.Namespace(strings.Split(s, mounts.Separator))
	return n, n.Validate()
}
