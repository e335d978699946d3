package authz

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	lru "github.com/hashicorp/golang-lru/v2"
)

// TokenLifetime is how long a token made from a key is valid.
const TokenLifetime = time.Hour

const (
	signingKeyBytes = 32
	issuer          = "piedmont"
)

// Anybody can make up tokens that name signing keys nobody has, each of which the store
// would be asked for.
const (
	// unknownFor is how long a signing key that isn't there is not asked for again.
	unknownFor = 10 * time.Second
	// maxUnknown is how many of those are remembered.
	maxUnknown = 1024
	// maxQuestions is how many signing keys are asked for in a second. There are a handful
	// in all, and those found are never asked for again.
	maxQuestions = 20
)

// KeyStore is where signing keys lie, so that replicas share them. It must be durable.
type KeyStore interface {
	// SigningKey reads the key of that id; ok is false where it surely isn't there.
	SigningKey(ctx context.Context, id string) (secret []byte, ok bool, err error)
	// CurrentSigningKey reads the id of the key to sign with; ok is false where none was
	// ever set.
	CurrentSigningKey(ctx context.Context) (id string, ok bool, err error)
	// AddSigningKey stores a key and makes it the current one unless one is already
	// current, which is no error: who loses that race uses the winner's.
	AddSigningKey(ctx context.Context, id string, secret []byte) error
}

// Tokens signs and verifies the tokens that POST /v1/oauth/tokens gives out: JWTs signed
// with HMAC-SHA256 by a key that lies in the registry and is named in the token. A token
// holds an API key's id, which secret the key had, and an expiry, nothing about rights:
// those are looked up on each request, so that taking a key away, or changing its secret,
// works at once.
type Tokens struct {
	store   KeyStore
	now     func() time.Time
	current string

	mu        sync.RWMutex
	secrets   map[string][]byte // by signing key id; a handful, they never change
	second    int64             // the second in which the store was asked last
	questions int               // how often in that second
	unknown   *lru.Cache[string, time.Time]
}

// NewTokens loads the current signing key, making one where the store has none.
func NewTokens(ctx context.Context, store KeyStore, now func() time.Time) (*Tokens, error) {
	unknown, err := lru.New[string, time.Time](maxUnknown)
	if err != nil {
		return nil, fmt.Errorf("load the token signing key: %w", err)
	}
	t := &Tokens{store: store, now: now, secrets: map[string][]byte{}, unknown: unknown}
	id, ok, err := store.CurrentSigningKey(ctx)
	if err == nil && !ok {
		if err = t.add(ctx); err == nil {
			id, ok, err = store.CurrentSigningKey(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("load the token signing key: %w", err)
	}
	if !ok {
		return nil, errors.New("load the token signing key: it isn't there after it was stored")
	}
	t.current = id
	if _, err := t.secret(ctx, id); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tokens) add(ctx context.Context) error {
	var id [8]byte
	secret := make([]byte, signingKeyBytes)
	_, _ = rand.Read(id[:]) // neither fails: crypto/rand ends the process instead
	_, _ = rand.Read(secret)
	return t.store.AddSigningKey(ctx, hex.EncodeToString(id[:]), secret)
}

// secret finds a signing key, asking the store for one this process has not seen: another
// replica may have made it.
func (t *Tokens) secret(ctx context.Context, id string) ([]byte, error) {
	t.mu.RLock()
	secret, ok := t.secrets[id]
	t.mu.RUnlock()
	if ok {
		return secret, nil
	}
	if since, ok := t.unknown.Get(id); ok && t.now().Sub(since) < unknownFor {
		return nil, errUnknownSigningKey
	}
	if !t.mayAsk() {
		return nil, errTooManyQuestions
	}
	asked := t.now()
	secret, ok, err := t.store.SigningKey(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read token signing key %q: %w", id, err)
	}
	if !ok || len(secret) != signingKeyBytes {
		t.unknown.Add(id, asked)
		return nil, errUnknownSigningKey
	}
	t.mu.Lock()
	t.secrets[id] = secret
	t.mu.Unlock()
	return secret, nil
}

// mayAsk says whether the store may be asked once more in this second.
func (t *Tokens) mayAsk() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now().Unix(); now != t.second {
		t.second, t.questions = now, 0
	}
	t.questions++
	return t.questions <= maxQuestions
}

var (
	errUnknownSigningKey = errors.New("unknown token signing key")
	errTooManyQuestions  = errors.New("too many tokens name signing keys that aren't known")
)

// tokenClaims are what a token says.
type tokenClaims struct {
	jwt.RegisteredClaims
	// Secret tells the key's secret from those it had before and will have.
	Secret string `json:"key"`
}

// secretMark tells secrets of a key apart without giving away the digest that the
// configuration holds.
func secretMark(k Key) string {
	sum := sha256.Sum256(k.SHA256[:])
	return hex.EncodeToString(sum[:8])
}

// Sign makes a token for a key. It does no I/O.
func (t *Tokens) Sign(k Key) (string, error) {
	t.mu.RLock()
	secret := t.secrets[t.current]
	t.mu.RUnlock()
	now := t.now()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, tokenClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Subject: k.ID, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(TokenLifetime)),
		},
		Secret: secretMark(k),
	})
	token.Header["kid"] = t.current
	signed, err := token.SignedString(secret)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed, nil
}

// verified is what a valid token says.
type verified struct {
	keyID   string
	secret  string
	expires time.Time
}

// errStore marks a token that couldn't be checked, which is not the caller's fault.
type errStore struct{ error }

// verify checks a token. An errStore means that nothing is known; any other error that it
// is not valid.
func (t *Tokens) verify(ctx context.Context, token string) (verified, error) {
	var claims tokenClaims
	var storeErr error
	_, err := jwt.ParseWithClaims(token, &claims, func(token *jwt.Token) (any, error) {
		id, _ := token.Header["kid"].(string)
		if len(id) != 16 {
			return nil, errUnknownSigningKey
		}
		secret, err := t.secret(ctx, id)
		if err != nil && !errors.Is(err, errUnknownSigningKey) {
			storeErr = err
		}
		return secret, err
	}, jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuer(issuer), jwt.WithExpirationRequired(), jwt.WithTimeFunc(t.now))
	switch {
	case storeErr != nil:
		return verified{}, errStore{storeErr}
	case err != nil:
		return verified{}, err
	}
	return verified{keyID: claims.Subject, secret: claims.Secret, expires: claims.ExpiresAt.Time}, nil
}

// Derive makes a key of 32 bytes for another use from the current signing key, the same in
// every process that shares it (HKDF, RFC 5869).
func (t *Tokens) Derive(use string) ([]byte, error) {
	t.mu.RLock()
	secret := t.secrets[t.current]
	t.mu.RUnlock()
	return hkdf.Key(sha256.New, secret, nil, "piedmont "+use, signingKeyBytes)
}
