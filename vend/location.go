package vend

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"piedmont/mounts"
)

// MaxLocationBytes bounds a location as it is written. Registries index locations, and
// Postgres keeps index entries under a third of a page.
const MaxLocationBytes = 2000

// Location is where a table, a directory or a file lies: a checked URI. Two spellings of
// one place have one String: s3a and s3n are s3, file:/x is file:///x, slashes at the
// end don't count (Iceberg strips them from every table location). Slashes are never
// joined: s3://b/t//x and s3://b/t/x are two objects. The zero Location is none.
type Location struct {
	verbatim  string
	canonical string
	scheme    string
	bucket    string // empty for file
	key       string // without slashes at either border, but s3 keys may begin with one
}

// ParseLocation checks the location of a table or of a metadata file, or a prefix of
// such. What it refuses is a BadRequest *mounts.Error naming the rule:
//
//   - a scheme other than file, s3, s3a and s3n, and none at all ("/wh/t");
//   - no bucket, a bucket of other letters than a–z A–Z 0–9 . _ -, user information, a
//     port, a host in a file location;
//   - segments . and .., backslashes, control characters, text that isn't UTF-8;
//   - the wildcards * and ? and the sequence ${, which mean something in the policies
//     that limit vended credentials to a location;
//   - ? and #, behind which Iceberg's Java S3 client ignores the rest;
//   - percent-encodings, even of percent-encodings, of dot, slash, backslash and control
//     characters. Others are text like any other, as for Iceberg itself, which never
//     decodes a location;
//   - empty segments in a file location, which would be a second name of one file;
//   - more than MaxLocationBytes.
func ParseLocation(s string) (Location, error) {
	l, err := parse(s)
	if err != nil {
		return Location{}, err
	}
	if strings.ContainsRune(s, '*') {
		return Location{}, refuse(s, "the wildcard '*' isn't allowed")
	}
	return l, checkEncodings(s)
}

// ParseFile checks the location of a file that a table's own metadata names, as for
// deleting it. Iceberg writes partition values into such paths, percent-encoded like
// a%2Fb, but a star as it is; so both are text here. All other rules are ParseLocation's.
func ParseFile(s string) (Location, error) { return parse(s) }

func parse(s string) (Location, error) {
	if err := checkText(s); err != nil {
		return Location{}, err
	}
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || strings.ContainsRune(scheme, '/') {
		return Location{}, refuse(s, "it has no scheme, like s3://bucket/path or file:///path")
	}
	l := Location{verbatim: s}
	var err error
	switch scheme {
	case "s3", "s3a", "s3n":
		err = l.parseS3(rest)
	case "file":
		err = l.parseFile(rest)
	default:
		err = refuse(s, fmt.Sprintf("no storage profile serves the scheme '%s'", clip(scheme, 20)))
	}
	if err != nil {
		return Location{}, err
	}
	for segment := range strings.SplitSeq(l.key, "/") {
		if segment == "." || segment == ".." {
			return Location{}, refuse(s, "the segments '.' and '..' aren't allowed")
		}
	}
	return l, nil
}

// checkText holds every rule that looks at single characters wherever they stand.
func checkText(s string) error {
	switch {
	case len(s) > MaxLocationBytes:
		return refuse(s, "it is longer than 2,000 bytes")
	case !utf8.ValidString(s):
		return refuse("", "it isn't valid UTF-8")
	case strings.ContainsFunc(s, isControl):
		return refuse("", "control characters aren't allowed")
	case strings.ContainsRune(s, '\\'):
		return refuse(s, "backslashes aren't allowed")
	case strings.ContainsAny(s, "?#"):
		return refuse(s, "the characters '?' and '#' aren't allowed")
	case strings.Contains(s, "${"):
		return refuse(s, "the sequence '${' isn't allowed")
	}
	return nil
}

// isControl takes in C1 controls and the separators that some readers break lines at.
func isControl(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029'
}

func (l *Location) parseS3(rest string) error {
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return refuse(l.verbatim, "an s3 location begins with s3:// and a bucket")
	}
	bucket, key, _ := strings.Cut(rest, "/")
	switch {
	case strings.ContainsRune(bucket, '@'):
		return refuse("", "user information before the bucket isn't allowed")
	case bucket == "":
		return refuse(l.verbatim, "the bucket is empty")
	case bucket == "." || bucket == ".." || strings.ContainsFunc(bucket, notBucket):
		return refuse(l.verbatim, "the bucket has other letters than a-z A-Z 0-9 . _ -")
	}
	l.scheme, l.bucket, l.key = "s3", bucket, strings.TrimRight(key, "/")
	l.canonical = "s3://" + bucket
	if l.key != "" {
		l.canonical += "/" + l.key
	}
	return nil
}

func notBucket(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}

func (l *Location) parseFile(rest string) error {
	if host, ok := strings.CutPrefix(rest, "//"); ok {
		if !strings.HasPrefix(host, "/") {
			return refuse("", "a file location names no host: file:///path")
		}
		rest = host
	}
	path, ok := strings.CutPrefix(strings.TrimRight(rest, "/"), "/")
	switch {
	case !ok:
		return refuse(l.verbatim, "a file location needs an absolute path below the root: file:///path")
	case strings.HasPrefix(path, "/") || strings.Contains(path, "//"):
		return refuse(l.verbatim, "empty segments aren't allowed in a file location")
	}
	l.scheme, l.key, l.canonical = "file", path, "file:///"+path
	return nil
}

// refuse builds the BadRequest of a location. It repeats the location only where that
// can't show a credential or break a line of a log.
func refuse(location, rule string) error {
	detail := "Invalid location: " + rule
	if location != "" {
		detail += ": " + clip(location, 300)
	}
	return &mounts.Error{Kind: mounts.BadRequest, Op: "parse location", Detail: detail}
}

// clip shortens s to n bytes or a little less, never inside a letter.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// String is the canonical spelling: what is compared, indexed and cached by.
func (l Location) String() string { return l.canonical }

// Verbatim is the location as it was written: what is stored and shown.
func (l Location) Verbatim() string { return l.verbatim }

// Scheme is "s3" or "file".
func (l Location) Scheme() string { return l.scheme }

// Bucket is the bucket's name, empty in a file location.
func (l Location) Bucket() string { return l.bucket }

// Key is what follows the bucket and one slash, or the path without its first slash;
// slashes at the end are gone. It is empty for a whole bucket.
func (l Location) Key() string { return l.key }

// IsZero says whether l is no location at all.
func (l Location) IsZero() bool { return l.canonical == "" }

// IsDir says whether l can't name a file: it ends in a slash or is a whole bucket.
func (l Location) IsDir() bool { return l.key == "" || strings.HasSuffix(l.verbatim, "/") }

// Equal says whether both are the same place, however written.
func (l Location) Equal(o Location) bool { return l.canonical == o.canonical }

// Under says whether l is prefix or lies below it; s3://b/table is not under s3://b/t.
// Nothing is under the zero Location.
func (l Location) Under(prefix Location) bool {
	rest, ok := strings.CutPrefix(l.canonical, prefix.canonical)
	return ok && !prefix.IsZero() && (rest == "" || rest[0] == '/')
}

// Contains says whether o is l or lies below it.
func (l Location) Contains(o Location) bool { return o.Under(l) }

// Overlaps says whether one of both is the other or lies below it: two tables must not.
func (l Location) Overlaps(o Location) bool { return l.Under(o) || o.Under(l) }
