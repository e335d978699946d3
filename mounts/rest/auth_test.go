package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

func TestBearerToken(t *testing.T) {
	u := withTable(t, func(u *upstream) { u.secret, u.tokens["static"] = "s3cret", true })
	c := u.mount(func(o *rest.Options) { o.Credential, o.Token = "", "static" })
	load(t, c, table)
	u.revokeTokens()
	require.Equal(t, mounts.Unavailable, kindOfLoad(t, c))
	require.Equal(t, 2, u.count("GET table"), "the same token again would be refused again")
	require.Zero(t, u.count("POST token"))
}

func TestOAuthToken(t *testing.T) {
	u := withTable(t, func(u *upstream) { u.secret = "s3cret" })
	c := u.mount()
	for range 5 {
		load(t, c, table)
	}
	require.Equal(t, 1, u.count("POST token"))

	u.revokeTokens()
	load(t, c, table)
	require.Equal(t, 2, u.count("POST token"), "one that was refused is replaced, and the question asked again")
	require.EqualValues(t, 1+6+1+2, c.Stats().Requests)
}

// A token is replaced before it ends; where none is to be had it serves to its end.
func TestOAuthExpiry(t *testing.T) {
	var clock atomic.Int64
	u := withTable(t, func(u *upstream) { u.secret, u.lifetime = "s3cret", 3600 })
	c := u.mount(func(o *rest.Options) { o.Now = func() time.Time { return time.Unix(clock.Load(), 0) } })
	load(t, c, table)
	clock.Store(3539)
	load(t, c, table)
	require.Equal(t, 1, u.count("POST token"))
	clock.Store(3540)
	load(t, c, table)
	require.Equal(t, 2, u.count("POST token"))

	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return r.Method == http.MethodPost
	})
	clock.Store(3540 + 3599)
	load(t, c, table)
	require.Equal(t, 2+2, u.count("POST token"), "for the configuration, which is old, and for the table")
	clock.Store(3540 + 3600)
	require.Equal(t, mounts.Unavailable, kindOfLoad(t, c))
}

// An upstream that refuses every token is asked twice, not for ever.
func TestOAuthAlwaysRefused(t *testing.T) {
	for _, status := range []int{401, 419} {
		u := withTable(t, func(u *upstream) { u.secret = "s3cret" })
		c := u.mount()
		load(t, c, table)
		u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				return false
			}
			w.WriteHeader(status)
			return true
		})
		require.Equal(t, mounts.Unavailable, kindOfLoad(t, c))
		require.Equal(t, 3, u.count("GET table"))
		require.Equal(t, 2, u.count("POST token"))
	}
}

func TestOAuthWrongSecret(t *testing.T) {
	u := withTable(t, func(u *upstream) { u.secret = "s3cret" })
	c := u.mount(func(o *rest.Options) { o.Credential = "id:s3cretwrong" })
	_, err := c.LoadTable(t.Context(), mounts.Caller{}, table, mounts.LoadOptions{})
	require.Equal(t, mounts.Unavailable, checkError(t, err))
	require.Contains(t, err.Error(), "credential")
	require.NotContains(t, err.Error(), "s3cretwrong", "not in the log either")
	require.Zero(t, u.count("GET config"))
}

// An upstream that repeats the credential it was sent doesn't get it into our log.
func TestUpstreamRepeatsTheCredential(t *testing.T) {
	u := withTable(t, func(u *upstream) { u.secret = secret })
	log := mounttest.Log(t, secret)
	c := u.mount()
	load(t, c, table)
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		words := "no such credential: " + r.Header.Get("Authorization") + r.PostFormValue("client_secret")
		says(401, fmt.Sprintf(`{"error":{"message":%q,"type":%q,"code":401}}`, words, words))(w, r)
		return true
	})
	for op, err := range reading(t.Context(), c) {
		require.Equal(t, mounts.Unavailable, checkError(t, err), op)
		require.ErrorContains(t, err, "[credential]")
		log.Error("the request failed", "error", err)
	}
}

func TestTokenAnswersThatAreNone(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		body   string
		want   mounts.Kind
	}{
		"html":          {200, "<html>", mounts.BadGateway},
		"no token":      {200, `{"token_type":"bearer"}`, mounts.BadGateway},
		"empty":         {200, `{"access_token":""}`, mounts.BadGateway},
		"a number":      {200, `{"access_token":1}`, mounts.BadGateway},
		"two":           {200, `{"access_token":"a","access_token":"b"}`, mounts.BadGateway},
		"lines":         {200, `{"access_token":"a\r\nX: y"}`, mounts.BadGateway},
		"another type":  {200, `{"access_token":"a","token_type":"mac"}`, mounts.BadGateway},
		"too large":     {200, `{"access_token":"` + strings.Repeat("a", 1<<20) + `"}`, mounts.BadGateway},
		"refused":       {403, ``, mounts.Unavailable},
		"no such route": {404, ``, mounts.BadGateway},
		"an absence":    {404, `{"error":{"message":"m","type":"NoSuchTableException","code":404}}`, mounts.BadGateway},
		"redirect":      {307, ``, mounts.BadGateway},
		"down":          {500, ``, mounts.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			u := withTable(t, func(u *upstream) { u.secret = "s3cret" })
			c := u.mount()
			u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					w.Header().Set("Location", "http://127.0.0.1:1/steal")
					says(answer.status, answer.body)(w, r)
				}
				return r.Method == http.MethodPost
			})
			require.Equal(t, answer.want, kindOfLoad(t, c))
		})
	}
}

// Odd lifetimes: the token is used, and asked for again only as often as makes sense.
func TestOAuthOddLifetimes(t *testing.T) {
	for _, lifetime := range []string{`0`, `-5`, `"3600"`, `1e3`, `null`, `9223372036854775807`} {
		u := withTable(t, func(u *upstream) { u.secret = "s3cret"; u.tokens["x"] = true })
		c := u.mount()
		u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				says(200, fmt.Sprintf(`{"access_token":"x","expires_in":%s}`, lifetime))(w, r)
			}
			return r.Method == http.MethodPost
		})
		load(t, c, table)
		load(t, c, table)
		require.Equal(t, 1, u.count("POST token"), lifetime)
	}
}

// Many callers who need a token share one request for it, also after it was refused.
func TestOAuthShared(t *testing.T) {
	u := withTable(t, func(u *upstream) { u.secret = "s3cret" })
	for i := range 30 {
		u.write(db.Table(fmt.Sprint("t", i)), 1)
	}
	c := u.mount()
	all := func() {
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() { load(t, c, db.Table(fmt.Sprint("t", i))) })
		}
		wg.Wait()
	}
	all()
	require.Equal(t, 1, u.count("POST token"))
	u.revokeTokens()
	all()
	require.LessOrEqual(t, u.count("POST token"), 10, "one, and few more for those who were late")
}

// The configuration's own token server wins, then the upstream's if it is the same host.
func TestOAuthServers(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		says(200, `{"access_token":"x"}`)(w, r)
	}))
	defer other.Close()
	u := withTable(t, func(u *upstream) { u.secret, u.tokens["x"] = "s3cret", true })
	u.overrides = map[string]string{"oauth2-server-uri": "/elsewhere/oauth/tokens"}
	c := u.mount(func(o *rest.Options) { o.OAuth2ServerURI = other.URL + "/realm/token" })
	load(t, c, table)
	require.Equal(t, []string{"/realm/token"}, asked)
	require.Zero(t, u.count("POST token"))
	u.revokeTokens()
	require.Equal(t, mounts.Unavailable, kindOfLoad(t, c))
	require.Equal(t, []string{"/realm/token", "/realm/token"}, asked)

	var paths []string
	c = u.mount()
	u.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			paths = append(paths, r.URL.Path)
		}
		return false
	})
	load(t, c, table)
	u.revokeTokens()
	load(t, c, table)
	require.Equal(t, []string{"/iceberg/v1/oauth/tokens", "/elsewhere/oauth/tokens"}, paths)

	u.overrides = map[string]string{"oauth2-server-uri": other.URL + "/stolen"}
	c = u.mount()
	load(t, c, table)
	u.revokeTokens()
	load(t, c, table)
	require.NotContains(t, asked, "/stolen")
}

func TestScope(t *testing.T) {
	for given, want := range map[string]string{"": "catalog", "PRINCIPAL_ROLE:ALL": "PRINCIPAL_ROLE:ALL"} {
		u := withTable(t, func(u *upstream) { u.secret = "s3cret" })
		c := u.mount(func(o *rest.Options) { o.Scope = given })
		var got string
		u.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				got = r.PostFormValue("scope")
			}
			return false
		})
		load(t, c, table)
		require.Equal(t, want, got)
	}
}

func TestSigV4(t *testing.T) {
	u := withTable(t)
	c := u.mount(func(o *rest.Options) {
		o.SigV4 = &rest.SigV4{Region: "eu-west-1", Service: "glue", AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "s3cret"}
		o.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	})
	var header http.Header
	u.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		header = r.Header.Clone()
		return false
	})
	load(t, c, table)
	require.Regexp(t, regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/eu-west-1/glue/aws4_request, SignedHeaders=accept;host;x-amz-content-sha256;x-amz-date;x-client-version, Signature=[0-9a-f]{64}$`), header.Get("Authorization"))
	require.Equal(t, "20260102T030405Z", header.Get("X-Amz-Date"))
	require.Equal(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", header.Get("X-Amz-Content-Sha256"))

	u.intercept(afterConfig(says(401, "")))
	require.Equal(t, mounts.Unavailable, kindOfLoad(t, c))
	require.Equal(t, 2, u.count("GET table"))
}

// Without static ones the process's own credentials are looked for when first needed.
func TestSigV4Ambient(t *testing.T) {
	u := withTable(t)
	sign := func(o *rest.Options) { o.SigV4 = &rest.SigV4{Region: "eu-west-1", Service: "glue"} }
	empty := t.TempDir()
	for k, v := range map[string]string{
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": empty + "/config", "AWS_SHARED_CREDENTIALS_FILE": empty + "/credentials", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(k, v)
	}
	require.Equal(t, mounts.Unavailable, kindOfLoad(t, u.mount(sign)))
	require.Empty(t, u.calls, "nothing is sent unsigned")

	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDAMBIENT")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
	t.Setenv("AWS_SESSION_TOKEN", "session")
	c := u.mount(sign)
	var header http.Header
	u.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		header = r.Header.Clone()
		return false
	})
	load(t, c, table)
	require.Contains(t, header.Get("Authorization"), "AKIDAMBIENT")
	require.Equal(t, "session", header.Get("X-Amz-Security-Token"))
}
