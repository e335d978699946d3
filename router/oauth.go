package router

import (
	"encoding/json"
	"net/http"
	"net/url"

	"piedmont/mounts"
)

// maxFormBytes bounds the body of a token request.
const maxFormBytes = 64 << 10

type tokenResponse struct {
	AccessToken     string `json:"access_token"`
	TokenType       string `json:"token_type"`
	IssuedTokenType string `json:"issued_token_type"`
	ExpiresIn       int    `json:"expires_in"`
	Scope           string `json:"scope,omitempty"`
}

// oauthError is RFC 6749's error, which this route answers with instead of Iceberg's.
type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// getToken exchanges a key for a short-lived token (RFC 6749, client credentials). Clients
// send the key in the form, in the query (older ClickHouse) or as HTTP Basic (DuckDB).
// Trino calls it before nearly every request, so it does no I/O.
func (rt *Router) getToken(w http.ResponseWriter, r *http.Request, _ *call) error {
	w.Header().Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	if err := r.ParseForm(); err != nil {
		return refuseToken(w, r, http.StatusBadRequest, "invalid_request", "the form can't be read")
	}
	if grant := r.Form.Get("grant_type"); grant != "client_credentials" {
		return refuseToken(w, r, http.StatusBadRequest, "unsupported_grant_type", "only client_credentials is supported")
	}
	id, secret := r.Form.Get("client_id"), r.Form.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		id, secret = formDecoded(user), formDecoded(password)
	}
	token, lifetime, err := rt.authenticator.Token(id, secret)
	if mounts.Is(err, mounts.NotAuthorized) {
		w.Header().Set("WWW-Authenticate", `Basic realm="piedmont"`)
		return refuseToken(w, r, http.StatusUnauthorized, "invalid_client", "unknown client or wrong secret")
	}
	if err != nil {
		return err
	}
	return answer(w, r, tokenResponse{ //nolint:gosec // a token type's name, no credential
		AccessToken: token, TokenType: "bearer", IssuedTokenType: "urn:ietf:params:oauth:token-type:access_token",
		ExpiresIn: int(lifetime.Seconds()), Scope: r.Form.Get("scope"),
	})
}

// formDecoded undoes the encoding that RFC 6749 (2.3.1) asks of Basic credentials. Clients
// that don't encode send letters that it leaves alone.
func formDecoded(s string) string {
	if d, err := url.QueryUnescape(s); err == nil {
		return d
	}
	return s
}

func refuseToken(w http.ResponseWriter, r *http.Request, code int, kind, description string) error {
	body, err := json.Marshal(oauthError{Error: kind, Description: description})
	if err != nil {
		return err
	}
	writeJSON(w, r, code, body)
	return nil
}
