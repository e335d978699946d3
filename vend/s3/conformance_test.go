package s3_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

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
	bare(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
	o := options(t, server.URL)
	o.AccessKeyID, o.SecretAccessKey = "", ""
	require.NoError(t, open(t, o).Create(t.Context(), location(t, "s3://bucket/wh/x"), []byte("x")))
}

// bare takes away whatever the surroundings have of AWS.
func bare(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"} {
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name))
	}
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
}

// A container's endpoint that accepts and never answers: operations fail in time, naming the
// cause, with nothing written; and go on when it answers again.
func TestCredentialsThatHang(t *testing.T) {
	_, server := newStore(t)
	bare(t)
	var well atomic.Bool
	container := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !well.Load() {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"AccessKeyId":"key","SecretAccessKey":"`+secret+`","Token":"","Expiration":"2099-01-01T00:00:00Z"}`)
	}))
	defer func() {
		container.CloseClientConnections()
		container.Close()
	}()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.URL)
	o := options(t, server.URL)
	o.AccessKeyID, o.SecretAccessKey, o.Timeout = "", "", time.Minute
	files, l := open(t, o), location(t, "s3://bucket/wh/x")
	began := time.Now()
	err := files.Create(t.Context(), l, []byte("x"))
	require.Less(t, time.Since(began), 30*time.Second)
	require.Equal(t, "storage profile 'lake' could not be asked: no AWS credentials could be had", message(t, err))
	require.ErrorIs(t, err, vend.ErrNotWritten)
	well.Store(true)
	require.Eventually(t, func() bool { return files.Create(t.Context(), l, []byte("x")) == nil }, time.Minute, 100*time.Millisecond)
}
