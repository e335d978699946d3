package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"piedmont/cache"
	"piedmont/cache/rawjson"
	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// oauth gets tokens by the client_credentials grant (RFC 6749, 4.4), as Iceberg's clients
// do: id and secret in the form. It asks again before a token expires and after one was
// refused, never for each request.
type oauth struct {
	client            *client
	id, secret, scope string
	timeout           time.Duration
	now               func() time.Time
	fixed             bool // the endpoint is the configuration's
	endpoint          atomic.Pointer[string]
	current           atomic.Pointer[token]
	fetching          cache.Flight[struct{}, *token]
}

type token struct {
	value          string
	renew, expires time.Time // zero where the upstream didn't say
}

// usable says whether t can be sent without asking for another first.
func (t *token) usable(now time.Time) bool {
	return t != nil && (t.renew.IsZero() || now.Before(t.renew))
}

func (a *oauth) authorize(ctx context.Context, r *http.Request) error {
	t, err := a.token(ctx)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+t.value)
	return nil
}

// token is the current token, or a new one. Where none is to be had, the current one is
// used to its end.
func (a *oauth) token(ctx context.Context) (*token, error) {
	current := a.current.Load()
	if current.usable(a.now()) {
		return current, nil
	}
	t, err := a.fetching.Do(ctx, struct{}{}, func(ctx context.Context) (*token, error) {
		if t := a.current.Load(); t.usable(a.now()) { // another was faster
			return t, nil
		}
		ctx, cancel := context.WithTimeout(ctx, a.timeout)
		defer cancel()
		t, err := a.fetch(ctx)
		if err == nil {
			a.current.Store(t)
		}
		return t, err
	})
	if err != nil && ctx.Err() == nil && current != nil && a.now().Before(current.expires) {
		return current, nil
	}
	return t, err
}

func (a *oauth) fetch(ctx context.Context) (*token, error) {
	sent := a.now()
	got, err := a.client.ask(ctx, question{
		method: http.MethodPost, url: *a.endpoint.Load(), limit: maxSmall,
		form: url.Values{"grant_type": {"client_credentials"}, "client_id": {a.id}, "client_secret": {a.secret}, "scope": {a.scope}},
	})
	var s *statusError
	if errors.As(err, &s) && (s.status == http.StatusBadRequest || s.status == http.StatusForbidden) {
		s.status = http.StatusUnauthorized // RFC 6749, 5.2: a bad client may be 400 too
	}
	if err != nil {
		return nil, fmt.Errorf("get a token: %w", err)
	}
	t, err := parseToken(got.body, sent)
	if err != nil {
		return nil, guard.Broken("gave an answer that is no token", err)
	}
	return t, nil
}

// refused forgets the token that r carried, unless another has taken its place already.
func (a *oauth) refused(r *http.Request) bool {
	value := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if t := a.current.Load(); t != nil && t.value == value {
		a.current.CompareAndSwap(t, nil)
	}
	return true
}

// moveTo takes the endpoint that the upstream's configuration names, unless ours does.
func (a *oauth) moveTo(endpoint string) {
	if !a.fixed && endpoint != "" {
		a.endpoint.Store(&endpoint)
	}
}

const (
	// longestLife bounds expires_in, which may be any number.
	longestLife = 365 * 24 * time.Hour
	// renewBefore is how long before its end a token is renewed; for short ones it is a
	// tenth of their life.
	renewBefore = time.Minute
)

// parseToken reads the answer to a request for a token that was sent at that time.
func parseToken(body []byte, sent time.Time) (*token, error) {
	o, err := rawjson.ParseObject(body)
	if err != nil {
		return nil, err
	}
	raw, _ := o.Get("access_token")
	value, ok := rawjson.String(raw)
	if !ok || value == "" || !headerText(value) {
		return nil, errors.New("access_token is no token")
	}
	if raw, ok := o.Get("token_type"); ok && !rawjson.IsNull(raw) {
		if kind, ok := rawjson.String(raw); !ok || !strings.EqualFold(kind, "bearer") {
			return nil, errors.New("token_type is not bearer")
		}
	}
	t := &token{value: value}
	raw, _ = o.Get("expires_in")
	if seconds, ok := rawjson.Int(raw); ok && seconds > 0 {
		life := time.Duration(min(seconds, int64(longestLife/time.Second))) * time.Second
		t.expires = sent.Add(life)
		t.renew = t.expires.Add(-min(life/10, renewBefore))
	}
	return t, nil
}

// unavailableCredential is the error where a credential of our own can't be had.
func unavailableCredential(cause error) error {
	return &guard.Fault{Kind: mounts.Unavailable, Text: "can't be asked: the mount's credential is not available", Err: cause}
}
