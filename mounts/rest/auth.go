package rest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// authorizer puts a credential on requests. It may be used at once by many.
type authorizer interface {
	// authorize may ask for a credential first. Its errors are those of client.ask.
	authorize(ctx context.Context, r *http.Request) error
	// refused hears that the upstream didn't accept the credential that r carried, and
	// says whether asking once more makes sense.
	refused(r *http.Request) bool
}

// authorizer is the one that the options ask for; nil for none.
func (o *Options) authorizer(c *client, base *url.URL) authorizer {
	switch {
	case o.Token != "":
		return bearer(o.Token)
	case o.SigV4 != nil:
		return newSigner(o.SigV4, o.Now)
	case o.Credential != "":
		id, secret, _ := strings.Cut(o.Credential, ":")
		a := &oauth{client: c, id: id, secret: secret, scope: o.Scope, timeout: o.Timeout, now: o.Now, fixed: o.OAuth2ServerURI != ""}
		endpoint := o.OAuth2ServerURI
		if endpoint == "" {
			endpoint = join(base, "/v1/oauth/tokens")
		}
		a.endpoint.Store(&endpoint)
		return a
	}
	return nil
}

// bearer is a token that never changes.
type bearer string

func (b bearer) authorize(_ context.Context, r *http.Request) error {
	r.Header.Set("Authorization", "Bearer "+string(b))
	return nil
}

func (bearer) refused(*http.Request) bool { return false }
