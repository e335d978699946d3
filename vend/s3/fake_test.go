package s3_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/vend"
	"piedmont/vend/s3"
)

const secret = "very-secret"

// store is an S3 server as documented and no kinder: it refuses what our client must not
// send. A fault may take over some of its answers.
type store struct {
	t       *testing.T
	mu      sync.Mutex
	objects map[string][]byte // by the path as it was sent
	asked   []string          // "PUT /bucket/key"

	// fault, if set, sees each request before the store does and says whether it has
	// answered. n counts from 1; apply carries the request out without answering.
	fault func(n int, w http.ResponseWriter, r *http.Request, apply func()) bool
}

func newStore(t *testing.T) (*store, *httptest.Server) {
	s := &store{t: t, objects: map[string][]byte{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	s.checkRequest(r, body)
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.EscapedPath())
	n := len(s.asked)
	s.mu.Unlock()
	if s.fault != nil && s.fault(n, w, r, func() { s.serve(httptest.NewRecorder(), r, body) }) {
		return
	}
	s.serve(w, r, body)
}

// checkRequest holds what many servers refuse, or take for something else.
func (s *store) checkRequest(r *http.Request, body []byte) {
	fail := func(format string, args ...any) { s.t.Errorf(r.Method+" "+r.URL.String()+": "+format, args...) }
	if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/") {
		fail("signed as %q", r.Header.Get("Authorization"))
	}
	sum := sha256.Sum256(body)
	if got := r.Header.Get("X-Amz-Content-Sha256"); got != hex.EncodeToString(sum[:]) {
		fail("hash of the body is %q", got)
	}
	for name := range r.Header {
		if name = strings.ToLower(name); strings.Contains(name, "checksum") || name == "x-amz-trailer" || name == "expect" {
			fail("header %s", name)
		}
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" {
		fail("content encoding %q", enc)
	}
	switch {
	case r.Method == http.MethodPut && (r.Header.Get("If-None-Match") != "*" || r.ContentLength != int64(len(body))):
		fail("If-None-Match %q, length %d of %d", r.Header.Get("If-None-Match"), r.ContentLength, len(body))
	case r.Method == http.MethodGet && r.Header.Get("Accept-Encoding") != "identity":
		fail("accepts %q", r.Header.Get("Accept-Encoding"))
	}
}

func (s *store) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := r.URL.EscapedPath()
	object, ok := s.objects[path]
	switch {
	case r.Method == http.MethodDelete:
		delete(s.objects, path)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet && ok:
		w.Header().Set("Content-Length", fmt.Sprint(len(object)))
		_, _ = w.Write(object)
	case r.Method == http.MethodGet:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodPut && ok:
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		s.objects[path] = body
	default:
		s.t.Errorf("unexpected %s", r.Method)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>the host store-7.internal says no</Message></Error>`, code)
}

func (s *store) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func location(t *testing.T, in string) vend.Location {
	t.Helper()
	l, err := vend.ParseLocation(in)
	require.NoError(t, err)
	return l
}

func options(t *testing.T, endpoint string) s3.Options {
	return s3.Options{
		Profile: "lake", Prefix: location(t, "s3://bucket/wh"), Endpoint: endpoint, Region: "eu-north-7", PathStyle: true,
		AccessKeyID: "key", SecretAccessKey: secret, Timeout: 5 * time.Second,
	}
}

func open(t *testing.T, o s3.Options) *s3.Files {
	t.Helper()
	files, err := s3.New(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(files.Close)
	return files
}
