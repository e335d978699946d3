package vend_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/vend"
)

func parse(t *testing.T, s string) vend.Location {
	t.Helper()
	l, err := vend.ParseLocation(s)
	require.NoError(t, err, s)
	return l
}

func TestParseLocation(t *testing.T) {
	for _, c := range []struct{ in, canonical, bucket, key string }{
		{"s3://b", "s3://b", "b", ""},
		{"s3://b/", "s3://b", "b", ""},
		{"s3a://b/t", "s3://b/t", "b", "t"},
		{"s3n://B_1.x-y/t/", "s3://B_1.x-y/t", "B_1.x-y", "t"},
		{"s3://b/t//", "s3://b/t", "b", "t"},
		{"s3://b/t//x", "s3://b/t//x", "b", "t//x"},
		{"s3://b//x", "s3://b//x", "b", "/x"},
		{"s3://b/a b/é/+=&;@:$", "s3://b/a b/é/+=&;@:$", "b", "a b/é/+=&;@:$"},
		{"s3://b/100%/%zz/%41%c3%a9/%25x/%", "s3://b/100%/%zz/%41%c3%a9/%25x/%", "b", "100%/%zz/%41%c3%a9/%25x/%"},
		{"s3://b/.../a.b/..c/.d", "s3://b/.../a.b/..c/.d", "b", ".../a.b/..c/.d"},
		{"file:/x", "file:///x", "", "x"},
		{"file:///x/y/", "file:///x/y", "", "x/y"},
	} {
		l := parse(t, c.in)
		require.Equal(t, c.canonical, l.String(), c.in)
		require.Equal(t, c.in, l.Verbatim())
		require.Equal(t, c.bucket, l.Bucket(), c.in)
		require.Equal(t, c.key, l.Key(), c.in)
		require.Equal(t, c.bucket == "", l.Scheme() == "file", c.in)
		again := parse(t, l.String())
		require.True(t, again.Equal(l), c.in)
	}
}

func TestParseLocationRefuses(t *testing.T) {
	for in, rule := range map[string]string{
		"":                                    "no scheme",
		"/wh/ch/":                             "no scheme",
		"wh":                                  "no scheme",
		"//b/t":                               "no scheme",
		"a/b:c":                               "no scheme",
		"://b":                                "no storage profile serves the scheme ''",
		"S3://b/t":                            "no storage profile serves the scheme 'S3'",
		"gs://b/t":                            "'gs'",
		"abfss://c@a.dfs.core.windows.net/t":  "'abfss'",
		"hdfs://nn:8020/t":                    "'hdfs'",
		"http://b/t":                          "'http'",
		" s3://b/t":                           "no storage profile serves the scheme",
		"s3:b/t":                              "begins with s3://",
		"s3:/b/t":                             "begins with s3://",
		"s3://":                               "bucket is empty",
		"s3:///t":                             "bucket is empty",
		"s3://key:secret@b/t":                 "user information",
		"s3://b:9000/t":                       "other letters",
		"s3://b%41/t":                         "other letters",
		"s3://../t":                           "other letters",
		"s3://b c/t":                          "other letters",
		"s3://é/t":                            "other letters",
		"s3://b/..":                           "segments",
		"s3://b/t/../x":                       "segments",
		"s3://b/./t":                          "segments",
		"s3://b/t/.":                          "segments",
		"s3://b/t/../":                        "segments",
		"file:///x/../y":                      "segments",
		"s3://b/%2e%2e/t":                     "percent-encodings",
		"s3://b/a%2Fb":                        "percent-encodings",
		"s3://b/a%5cb":                        "percent-encodings",
		"s3://b/a%00":                         "percent-encodings",
		"s3://b/a%0a":                         "percent-encodings",
		"s3://b/a%7F":                         "percent-encodings",
		"s3://b/%252e":                        "percent-encodings",
		"s3://b/%%32e":                        "percent-encodings",
		"s3://b/%25%32%65":                    "percent-encodings",
		"s3://b/%2525252541":                  "too many times",
		"s3://b/a*":                           "wildcard",
		"s3://b/a?x=1":                        "'?' and '#'",
		"s3://b/a#x":                          "'?' and '#'",
		"s3://b/${aws:username}/":             "'${'",
		"s3://b/a\\..\\b":                     "backslashes",
		"s3://b/a\x00b":                       "control characters",
		"s3://b/a\nb":                         "control characters",
		"s3://b/a\u0085b":                     "control characters",
		"s3://b/a\u2028b":                     "control characters",
		"s3://b/\xff":                         "UTF-8",
		"s3://b/" + strings.Repeat("x", 1994): "2,000 bytes",
		"file:x":                              "absolute path",
		"file:":                               "absolute path",
		"file:///":                            "absolute path",
		"file:////":                           "absolute path",
		"file://localhost/x":                  "names no host",
		"file://x":                            "names no host",
		"file:////x":                          "empty segments",
		"file:///x//y":                        "empty segments",
		"file://///x":                         "empty segments",
	} {
		_, err := vend.ParseLocation(in)
		require.Error(t, err, in)
		require.Equal(t, mounts.BadRequest, mounts.KindOf(err), in)
		var e *mounts.Error
		require.ErrorAs(t, err, &e)
		require.Contains(t, e.Message(), "Invalid location: ", in)
		require.Contains(t, e.Message(), rule, in)
		require.NotContains(t, err.Error(), "secret")
		require.NotContains(t, err.Error(), "\n")
		require.True(t, utf8.ValidString(e.Message()))
		require.Less(t, len(e.Message()), 500)
	}
	parse(t, "s3://b/"+strings.Repeat("x", 1993))
}

// A partition value may hold what a table's location must not.
func TestParseFile(t *testing.T) {
	for _, ok := range []string{"s3://b/t/data/p=a%2Fb/x.parquet", "s3://b/t/data/p=%2E%2E/x", "file:///t/p=*/x"} {
		l, err := vend.ParseFile(ok)
		require.NoError(t, err, ok)
		require.Equal(t, ok, l.String())
		_, err = vend.ParseLocation(ok)
		require.Error(t, err, ok)
	}
	for _, bad := range []string{"s3://b/t/../x", "s3://b/t?x", "s3://b/t#x", "/x", "s3://b/a\x01", "s3://b/a\\b"} {
		_, err := vend.ParseFile(bad)
		require.Equal(t, mounts.BadRequest, mounts.KindOf(err), bad)
	}
}

func TestUnder(t *testing.T) {
	for _, c := range []struct {
		l, prefix string
		under     bool
	}{
		{"s3://b/t", "s3://b/t", true},
		{"s3a://b/t/", "s3n://b/t", true},
		{"s3://b/t/x", "s3://b/t/", true},
		{"s3://b/t/x", "s3://b", true},
		{"s3://b/t//x", "s3://b/t", true},
		{"s3://b/table", "s3://b/t", false},
		{"s3://bb/t", "s3://b", false},
		{"s3://b", "s3://b/t", false},
		{"s3://b/T/x", "s3://b/t", false},
		{"s3://b//t/x", "s3://b/t", false},
		{"file:/t/x", "file:///t", true},
		{"file:///b/t", "s3://b/t", false},
	} {
		l, p := parse(t, c.l), parse(t, c.prefix)
		require.Equal(t, c.under, l.Under(p), "%s under %s", l, p)
		require.Equal(t, c.under, p.Contains(l))
		require.Equal(t, c.under || p.Under(l), l.Overlaps(p))
		require.Equal(t, l.Overlaps(p), p.Overlaps(l))
	}
	require.False(t, parse(t, "s3://b/t").Under(vend.Location{}))
	require.False(t, vend.Location{}.Under(vend.Location{}))
	require.True(t, vend.Location{}.IsZero())
}

func TestIsDir(t *testing.T) {
	for in, dir := range map[string]bool{"s3://b": true, "s3://b/": true, "s3://b/t/": true, "s3://b/t": false, "file:/x/": true, "file:/x": false} {
		require.Equal(t, dir, parse(t, in).IsDir(), in)
	}
}

func FuzzParseLocation(f *testing.F) {
	for _, seed := range []string{
		"s3://b/t", "s3a://b//t/", "file:/x", "file:///x/y", "/wh/ch/", "s3://b/%2e%2e", "s3://b/%252e", "s3://b/%%32e", "s3://b/t/../x",
		"s3://k:s@b/t", "s3://b/é", "s3://b/\xff", "s3://b/*", "gs://b/t", "s3://b/a%2Fb", "file://h/x", "s3://b/${x}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		file, fileErr := vend.ParseFile(s)
		l, err := vend.ParseLocation(s)
		if err != nil {
			if !mounts.Is(err, mounts.BadRequest) || !utf8.ValidString(err.Error()) {
				t.Fatalf("%q: odd error %v", s, err)
			}
			return
		}
		if fileErr != nil || !file.Equal(l) {
			t.Fatalf("%q: a table's location that no file may have: %v", s, fileErr)
		}
		again, err := vend.ParseLocation(l.String())
		if err != nil || again.String() != l.String() {
			t.Fatalf("%q: canonical %q parses to %q, %v", s, l, again, err)
		}
		if l.Verbatim() != s || !l.Under(l) || strings.HasSuffix(l.String(), "/") || len(s) > vend.MaxLocationBytes {
			t.Fatalf("%q: %q", s, l)
		}
		for segment := range strings.SplitSeq(l.Key(), "/") {
			if segment == ".." || segment == "." {
				t.Fatalf("%q: leaves its prefix", s)
			}
		}
	})
}
