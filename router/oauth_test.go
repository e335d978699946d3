package router_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/authz"
)

const formType = "Content-Type: application/x-www-form-urlencoded"

func credentials(id, secret string) string {
	return url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}, "scope": {"catalog"}}.Encode()
}

// token asks for a token as Java's clients do.
func (g *gateway) token(credential string) string {
	g.t.Helper()
	id, secret, _ := strings.Cut(credential, ":")
	return g.as("", "POST", "/v1/oauth/tokens", credentials(id, secret), formType).ok().text("access_token")
}

func basic(credential string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(credential))
}

func TestTokenWorksAsBearer(t *testing.T) {
	g := newGateway(t)
	for _, r := range []reply{
		g.as("", "POST", "/v1/oauth/tokens", credentials("ops", "ops-secret"), formType),                          // a form
		g.as("", "POST", "/v1/oauth/tokens", "grant_type=client_credentials&scope=catalog", formType, basic(ops)), // HTTP Basic
		g.as("", "POST", "/v1/oauth/tokens?"+credentials("ops", "ops-secret"), ""),                                // the query
		g.as("no.such.token", "POST", "/v1/oauth/tokens", credentials("ops", "ops-secret"), formType),             // an old bearer beside it
	} {
		require.Equal(t, "bearer", r.ok().text("token_type"))
		require.Equal(t, "3600", r.member("expires_in").(interface{ String() string }).String())
		require.Equal(t, "no-store", r.Header().Get("Cache-Control"))
		g.as(r.text("access_token"), "GET", "/v1/namespaces/legacy", "").ok()
		require.Equal(t, 200, g.as("", "GET", "/v1/config", "", "X-Api-Key: "+r.text("access_token")).Code)
	}
}

func TestTokenRefusals(t *testing.T) {
	g := newGateway(t)
	for _, c := range []struct {
		what, query, body string
		headers           []string
		status            int
		err               string
	}{
		{"wrong secret", "", credentials("ops", "wrong"), []string{formType}, 401, "invalid_client"},
		{"unknown client", "", credentials("who", "ops-secret"), []string{formType}, 401, "invalid_client"},
		{"another's secret", "", credentials("ops", "etl-secret"), []string{formType}, 401, "invalid_client"},
		{"no client", "", "grant_type=client_credentials", []string{formType}, 401, "invalid_client"},
		{"long secret", "", credentials("ops", strings.Repeat("x", 9_000)), []string{formType}, 401, "invalid_client"},
		{"wrong Basic", "", "grant_type=client_credentials", []string{formType, basic("ops:wrong")}, 401, "invalid_client"},
		{"Basic before form", "", credentials("ops", "ops-secret"), []string{formType, basic("ops:wrong")}, 401, "invalid_client"},
		{"other grant", "", "grant_type=password&username=ops&password=ops-secret", []string{formType}, 400, "unsupported_grant_type"},
		{"exchange", "", "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", []string{formType}, 400, "unsupported_grant_type"},
		{"no grant", "", "", nil, 400, "unsupported_grant_type"},
		{"JSON", "", `{"grant_type":"client_credentials","client_id":"ops","client_secret":"ops-secret"}`, []string{"Content-Type: application/json"}, 400, "unsupported_grant_type"},
		{"bad form", "", "grant_type=%zz", []string{formType}, 400, "invalid_request"},
		{"huge form", "", "x=" + strings.Repeat("y", 100_000), []string{formType}, 400, "invalid_request"},
	} {
		r := g.as("", "POST", "/v1/oauth/tokens"+c.query, c.body, c.headers...)
		require.Equal(t, c.status, r.Code, c.what)
		require.Equal(t, c.err, r.text("error"), c.what)
		require.NotEmpty(t, r.text("error_description"), c.what)
		require.Equal(t, c.status == 401, r.Header().Get("WWW-Authenticate") != "", c.what)
		require.NotContains(t, r.Body.String(), "secret\":")
	}
	require.NotContains(t, g.log.String(), "ops-secret")
	require.NotContains(t, g.log.String(), "etl-secret")
}

func TestExpiredToken(t *testing.T) {
	g := newGateway(t)
	token := g.token(ops)
	g.as(token, "GET", "/v1/namespaces/legacy", "").ok()
	g.clock.Add((authz.TokenLifetime - time.Second).Milliseconds())
	g.as(token, "GET", "/v1/namespaces/legacy", "").ok()
	g.clock.Add(time.Second.Milliseconds())
	for range 2 {
		r := g.as(token, "GET", "/v1/namespaces/legacy", "").refused(401, "NotAuthorizedException")
		require.Equal(t, `Bearer realm="piedmont"`, r.Header().Get("WWW-Authenticate"))
	}
	g.as(g.token(ops), "GET", "/v1/namespaces/legacy", "").ok()
}

func TestTokenOfARemovedKey(t *testing.T) {
	g := newGateway(t)
	token, kept := g.token(etl), g.token(ops)
	g.as(token, "GET", "/v1/namespaces", "").ok()
	g.Handler = g.route(settings{keys: []authz.Key{key(ops)}})
	g.as(token, "GET", "/v1/namespaces", "").refused(401, "NotAuthorizedException")
	g.as(etl, "GET", "/v1/namespaces", "").refused(401, "NotAuthorizedException")
	g.as(kept, "GET", "/v1/namespaces/legacy", "").ok()
}

func TestCredentials(t *testing.T) {
	g := newGateway(t)
	token := g.token(ops)
	head, rest, _ := strings.Cut(token, ".")
	claims, signature, _ := strings.Cut(rest, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
	for what, headers := range map[string][]string{
		"none": nil, "empty": {"Authorization: Bearer "}, "an id alone": {"Authorization: Bearer ops"}, "wrong secret": {"Authorization: Bearer ops:x"},
		"no secret": {"Authorization: Bearer ops:"}, "no id": {"Authorization: Bearer :ops-secret"}, "another's": {"Authorization: Bearer ops:etl-secret"},
		"Basic": {basic(ops)}, "cut": {"Authorization: Bearer " + token[:len(token)-2]}, "unsigned": {"Authorization: Bearer " + none + "." + claims + "."},
		"other claims": {"Authorization: Bearer " + head + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"piedmont","sub":"ops","exp":99999999999}`)) + "." + signature},
		"huge":         {"X-Api-Key: " + strings.Repeat("x", 100_000)}, "a wrong bearer before a right key": {"Authorization: Bearer x:y", "X-Api-Key: " + ops},
	} {
		for _, target := range []string{"/v1/config", "/v1/namespaces", "/v1/namespaces/none", "/v1/elsewhere/namespaces"} {
			r := g.as("", "GET", target, "", headers...)
			require.Equal(t, 401, r.Code, what)
			r.refused(401, "NotAuthorizedException", "no valid credential")
			require.Equal(t, `Bearer realm="piedmont"`, r.Header().Get("WWW-Authenticate"))
		}
	}
	for _, header := range []string{"X-Api-Key: " + ops, "Authorization: Bearer " + ops, "Authorization: BEARER  " + ops, "Authorization: Bearer " + token, "X-Api-Key: " + token} {
		require.Equal(t, 200, g.as("", "GET", "/v1/namespaces", "", header).Code, header)
	}
}

func TestRequestIDs(t *testing.T) {
	g := newGateway(t)
	for _, target := range []string{"/v1/namespaces", "/v1/namespaces/none", "/healthz", "/nowhere", "/v1/config"} {
		require.Regexp(t, `^[0-9a-f]{16}$`, g.do("GET", target, "").Header().Get("X-Request-Id"), target)
		require.Equal(t, "mine-1", g.do("GET", target, "", "X-Request-Id: mine-1").Header().Get("X-Request-Id"))
	}
	for _, bad := range []string{"", strings.Repeat("x", 129), "a b", "a\tb", "é"} {
		require.Regexp(t, `^[0-9a-f]{16}$`, g.do("GET", "/v1/namespaces", "", "X-Request-Id: "+bad).Header().Get("X-Request-Id"), bad)
	}
	require.NotEqual(t, g.do("GET", "/healthz", "").Header().Get("X-Request-Id"), g.do("GET", "/healthz", "").Header().Get("X-Request-Id"))
}

func TestNotReady(t *testing.T) {
	g := newGateway(t)
	require.Equal(t, 200, g.as("", "GET", "/readyz", "").Code)
	g.unready.Store(true)
	r := g.as("", "GET", "/readyz", "").refused(503, "SlowDownException")
	require.NotEmpty(t, r.Header().Get("Retry-After"))
	require.Equal(t, 200, g.as("", "GET", "/healthz", "").Code)
}
