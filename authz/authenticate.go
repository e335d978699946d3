package authz

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"piedmont/mounts"
)

// MaxCredentialBytes bounds a bearer token, an API key or a client secret.
const MaxCredentialBytes = 8 << 10

// verifiedTokens is how many verified tokens are remembered, so that the signature is
// checked once and not on every request.
const verifiedTokens = 4096

// Identity is an authenticated caller.
type Identity struct {
	Caller mounts.Caller
	// Admin is whether the configuration names the principal in auth.admins.
	Admin bool
	// KeyID is the API key behind the credential.
	KeyID string
}

// Authenticator turns credentials into identities.
type Authenticator struct {
	keys   keyring
	admins map[string]bool
	tokens *Tokens
	now    func() time.Time
	seen   *lru.Cache[[sha256.Size]byte, verified]
}

// NewAuthenticator takes the API keys and the principals that are admins. It fails
// without a key (nobody could come in), with keys that contradict each other, and
// without tokens.
func NewAuthenticator(keys []Key, admins []string, tokens *Tokens, now func() time.Time) (*Authenticator, error) {
	if len(keys) == 0 {
		return nil, errors.New("authentication: no API key")
	}
	if tokens == nil || now == nil {
		return nil, errors.New("authentication: no token signer")
	}
	ring, err := newKeyring(keys)
	if err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	seen, err := lru.New[[sha256.Size]byte, verified](verifiedTokens)
	if err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	a := &Authenticator{keys: ring, tokens: tokens, now: now, seen: seen, admins: map[string]bool{}}
	for _, p := range admins {
		a.admins[p] = true
	}
	return a, nil
}

// denied is the one answer to every credential that isn't valid.
func denied(cause error) error {
	return &mounts.Error{Kind: mounts.NotAuthorized, Op: "authenticate", Detail: "Not authorized: the request carries no valid credential", Err: cause}
}

var (
	errNone     = errors.New("no credential")
	errWrong    = errors.New("unknown key or wrong secret")
	errTooLong  = errors.New("credential too long")
	errRevoked  = errors.New("token of a key that isn't there any more, or has another secret now")
	errNotToken = errors.New("neither id:secret nor a token")
)

// Credential authenticates what a request carries as bearer token or X-Api-Key: a key as
// "id:secret", or a token of Token. NotAuthorized for anything else, in the same words
// whatever is wrong; Unavailable where the signing key couldn't be read.
func (a *Authenticator) Credential(ctx context.Context, credential string) (Identity, error) {
	switch {
	case credential == "":
		return Identity{}, denied(errNone)
	case len(credential) > MaxCredentialBytes:
		return Identity{}, denied(errTooLong)
	}
	if id, secret, ok := strings.Cut(credential, ":"); ok {
		key, ok := a.keys.check(id, secret)
		if !ok {
			return Identity{}, denied(errWrong)
		}
		return a.identity(key), nil
	}
	if strings.Count(credential, ".") != 2 {
		return Identity{}, denied(errNotToken)
	}
	return a.token(ctx, credential)
}

func (a *Authenticator) token(ctx context.Context, token string) (Identity, error) {
	sum := sha256.Sum256([]byte(token))
	known, ok := a.seen.Get(sum)
	if ok && !a.now().Before(known.expires) {
		a.seen.Remove(sum)
		ok = false
	}
	if !ok {
		var err error
		known, err = a.tokens.verify(ctx, token)
		if errors.As(err, &errStore{}) {
			return Identity{}, &mounts.Error{Kind: mounts.Unavailable, Op: "authenticate", Detail: "The token can't be checked right now", Err: err}
		}
		if err != nil {
			return Identity{}, denied(err)
		}
		a.seen.Add(sum, known)
	}
	key, ok := a.keys[known.keyID]
	if !ok || secretMark(key) != known.secret {
		return Identity{}, denied(errRevoked)
	}
	return a.identity(key), nil
}

func (a *Authenticator) identity(k Key) Identity {
	return Identity{Caller: mounts.Caller{Principal: k.Principal, Groups: k.Groups}, Admin: a.admins[k.Principal], KeyID: k.ID}
}

// Token exchanges a key for a token (OAuth2 client credentials: the id is the client_id,
// the secret the client_secret). NotAuthorized where they aren't right.
func (a *Authenticator) Token(id, secret string) (token string, lifetime time.Duration, err error) {
	if len(secret) > MaxCredentialBytes {
		return "", 0, denied(errTooLong)
	}
	key, ok := a.keys.check(id, secret)
	if !ok {
		return "", 0, denied(errWrong)
	}
	token, err = a.tokens.Sign(key)
	return token, TokenLifetime, err
}
