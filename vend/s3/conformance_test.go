package s3_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/vend"
	"piedmont/vend/s3"
	"piedmont/vend/vendtest"
)

func TestConformance(t *testing.T) {
	vendtest.Run(t, func(t *testing.T) *vend.Profile {
		_, server := newStore(t)
		o := options(t, server.URL)
		return &vend.Profile{Name: o.Profile, Prefix: o.Prefix, Files: open(t, o)}
	})
}

// A key goes out letter for letter: no slash joined, nothing decoded.
func TestKeysAreVerbatim(t *testing.T) {
	st, server := newStore(t)
	files := open(t, options(t, server.URL))
	for _, rel := range []string{"t//x", "/x", "100%", "%41", "a b", "a+b", "é"} {
		l := location(t, "s3a://bucket/wh/"+rel)
		require.NoError(t, files.Create(t.Context(), l, []byte(rel)))
		got, err := files.Read(t.Context(), l, 100)
		require.NoError(t, err)
		require.Equal(t, rel, string(got))
	}
	for _, path := range []string{"t//x", "/x", "100%25", "%2541", "a%20b", "a%2Bb", "%C3%A9"} {
		require.Contains(t, st.objects, "/bucket/wh/"+path)
	}
}

func TestNewRefuses(t *testing.T) {
	for rule, change := range map[string]func(*s3.Options){
		"is no s3 location":                func(o *s3.Options) { o.Prefix = location(t, "file:///x") },
		"region is missing":                func(o *s3.Options) { o.Region = "" },
		"an access key without its secret": func(o *s3.Options) { o.SecretAccessKey = "" },
		"a secret without an access key":   func(o *s3.Options) { o.AccessKeyID = "" },
		"timeout is negative":              func(o *s3.Options) { o.Timeout = -1 },
		"endpoint is no plain":             func(o *s3.Options) { o.Endpoint = "http://user:" + secret + "@host" },
		"endpoint is no plain ":            func(o *s3.Options) { o.Endpoint = "host:9000" },
		"endpoint is no plain h":           func(o *s3.Options) { o.Endpoint = "ftp://host" },
		"endpoint is no plain ht":          func(o *s3.Options) { o.Endpoint = "http://host?x=1" },
		"endpoint is no plain htt":         func(o *s3.Options) { o.Endpoint = "http://%zz" },
	} {
		o := options(t, "http://host:9000")
		change(&o)
		_, err := s3.New(t.Context(), o)
		require.ErrorContains(t, err, `s3 storage profile "lake": `)
		require.ErrorContains(t, err, rule)
		require.NotContains(t, err.Error(), secret)
	}
}

// Credentials may come from the surroundings; where to go must not.
func TestAmbientCredentials(t *testing.T) {
	_, server := newStore(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	o := options(t, server.URL)
	o.AccessKeyID, o.SecretAccessKey = "", ""
	require.NoError(t, open(t, o).Create(t.Context(), location(t, "s3://bucket/wh/x"), []byte("x")))
}
