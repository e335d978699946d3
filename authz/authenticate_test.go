package authz

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func TestKeys(t *testing.T) {
	a := newAuthenticator(t, &memory{}, newClock())
	got, err := a.Credential(ctx, "etl:"+secretETL)
	require.NoError(t, err)
	assert.Equal(t, Identity{Caller: mounts.Caller{Principal: "etl-job", Groups: []string{"writers", "readers"}}, KeyID: "etl"}, got)
	got, err = a.Credential(ctx, "ops:the-secret-of-ops")
	require.NoError(t, err)
	assert.True(t, got.Admin)
}

// Whatever is wrong, the answer is the same.
func TestDenied(t *testing.T) {
	a := newAuthenticator(t, &memory{}, newClock())
	var texts []string
	for _, credential := range []string{
		"", ":", "etl", "etl:", ":" + secretETL, "etl:wrong", "nobody:" + secretETL, "nobody:wrong", "ops:" + secretETL, "ETL:" + secretETL,
		"etl:" + secretETL + " ", "etl:" + secretETL + "\x00", secretETL, "a.b", "a.b.c", "..", "a.b.c.d", "\xff\xfe:\xff",
		"etl:" + strings.Repeat("x", MaxCredentialBytes), strings.Repeat("x", MaxCredentialBytes+1),
		HashSecret(secretETL), "etl:" + HashSecret(secretETL),
	} {
		_, err := a.Credential(ctx, credential)
		require.True(t, mounts.Is(err, mounts.NotAuthorized), "%.40q: %v", credential, err)
		texts = append(texts, message(t, err))
	}
	for _, pair := range [][2]string{{"etl", "wrong"}, {"nobody", "wrong"}, {"", ""}, {"etl", strings.Repeat("x", MaxCredentialBytes+1)}} {
		_, _, err := a.Token(pair[0], pair[1])
		require.True(t, mounts.Is(err, mounts.NotAuthorized))
		texts = append(texts, message(t, err))
	}
	for _, text := range texts {
		assert.Equal(t, texts[0], text)
	}
}

// A credential of the greatest length is still looked at.
func TestLongSecret(t *testing.T) {
	long := strings.Repeat("x", MaxCredentialBytes-len("long:"))
	a, err := NewAuthenticator([]Key{apiKey("long", long, "p")}, nil, newTokens(t, &memory{}, newClock()), time.Now)
	require.NoError(t, err)
	_, err = a.Credential(ctx, "long:"+long)
	require.NoError(t, err)
}

// The time must not tell which ids exist: an unknown id allocates the same, hashes the
// secret too, and compares all of it.
func TestUnknownIDDoesTheSameWork(t *testing.T) {
	ring, err := newKeyring([]Key{apiKey("etl", secretETL, "p")})
	require.NoError(t, err)
	long := strings.Repeat("x", 1<<20)
	cost := func(id string) time.Duration {
		best := time.Hour
		for range 15 {
			start := time.Now()
			_, ok := ring.check(id, long)
			best = min(best, time.Since(start))
			assert.False(t, ok)
		}
		return best
	}
	known, unknown := cost("etl"), cost("nobody")
	assert.Less(t, known, 3*unknown)
	assert.Less(t, unknown, 3*known)
	zero := Key{}
	_, ok := keyring{"zero": zero}.check("nobody", "")
	assert.False(t, ok)
}

func TestNewAuthenticatorRefuses(t *testing.T) {
	c := newClock()
	tokens := newTokens(t, &memory{}, c)
	good := []Key{apiKey("a", "s", "p")}
	for name, make := range map[string]func() (*Authenticator, error){
		"no API key":            func() (*Authenticator, error) { return NewAuthenticator(nil, nil, tokens, c.now) },
		"no token signer":       func() (*Authenticator, error) { return NewAuthenticator(good, nil, nil, c.now) },
		"no token signer ":      func() (*Authenticator, error) { return NewAuthenticator(good, nil, tokens, nil) },
		"two keys have this id": func() (*Authenticator, error) { return NewAuthenticator(append(good, good...), nil, tokens, c.now) },
		"it has no principal": func() (*Authenticator, error) {
			return NewAuthenticator([]Key{apiKey("a", "s", "")}, nil, tokens, c.now)
		},
		"1 to 64 letters, digits,": func() (*Authenticator, error) {
			return NewAuthenticator([]Key{apiKey("a:b", "s", "p")}, nil, tokens, c.now)
		},
	} {
		_, err := make()
		require.ErrorContains(t, err, strings.TrimSpace(name))
	}
	for id, valid := range map[string]bool{"a": true, "A-_9": true, strings.Repeat("x", 64): true, "": false, "a.b": false, "a b": false, strings.Repeat("x", 65): false, "a\n": false} {
		assert.Equal(t, valid, CheckKeyID(id) == nil, "%q", id)
	}
	for _, hash := range []string{"", "zz", HashSecret("x")[2:], HashSecret("x") + "00"} {
		_, err := ParseHash(hash)
		require.Error(t, err, hash)
	}
	assert.NotEqual(t, NewSecret(), NewSecret())
	assert.Len(t, NewSecret(), 43)
}

func TestTokenExpires(t *testing.T) {
	c := newClock()
	a := newAuthenticator(t, &memory{}, c)
	token, lifetime, err := a.Token("etl", secretETL)
	require.NoError(t, err)
	assert.Equal(t, time.Hour, lifetime)
	for _, remembered := range []bool{false, true} {
		got, err := a.Credential(ctx, token)
		require.NoError(t, err, "remembered: %t", remembered)
		assert.Equal(t, "etl-job", got.Caller.Principal)
		assert.Equal(t, "etl", got.KeyID)
	}
	c.at = c.at.Add(lifetime - time.Second)
	_, err = a.Credential(ctx, token)
	require.NoError(t, err)
	fresh := newAuthenticator(t, a.tokens.store, c)
	c.at = c.at.Add(time.Second)
	for _, a := range []*Authenticator{a, fresh} {
		_, err = a.Credential(ctx, token)
		assert.True(t, mounts.Is(err, mounts.NotAuthorized), "also one that was verified before")
	}
}

func TestRevokedKey(t *testing.T) {
	store, c := &memory{}, newClock()
	token, _, err := newAuthenticator(t, store, c).Token("etl", secretETL)
	require.NoError(t, err)
	without, err := NewAuthenticator([]Key{apiKey("ops", "s", "ops")}, nil, newTokens(t, store, c), c.now)
	require.NoError(t, err)
	_, err = without.Credential(ctx, token)
	assert.True(t, mounts.Is(err, mounts.NotAuthorized))

	changed, err := NewAuthenticator([]Key{apiKey("etl", secretETL, "somebody", "few")}, nil, newTokens(t, store, c), c.now)
	require.NoError(t, err)
	got, err := changed.Credential(ctx, token)
	require.NoError(t, err)
	assert.Equal(t, mounts.Caller{Principal: "somebody", Groups: []string{"few"}}, got.Caller, "rights are those of now")

	rotated, err := NewAuthenticator([]Key{apiKey("etl", "another secret", "etl-job")}, nil, newTokens(t, store, c), c.now)
	require.NoError(t, err)
	_, err = rotated.Credential(ctx, token)
	assert.True(t, mounts.Is(err, mounts.NotAuthorized), "a token of the old secret")
}

// forge signs a token with one thing about it changed.
func forge(method jwt.SigningMethod, kid any, key any, claims jwt.Claims) string {
	token := jwt.NewWithClaims(method, claims)
	if kid != nil {
		token.Header["kid"] = kid
	}
	signed, err := token.SignedString(key)
	if err != nil {
		panic(err)
	}
	return signed
}

func TestForgedTokens(t *testing.T) {
	store, c := &memory{}, newClock()
	a := newAuthenticator(t, store, c)
	kid, secret := store.current, store.keys[store.current]
	hour := jwt.NewNumericDate(c.at.Add(time.Hour))
	mark := secretMark(apiKey("etl", secretETL, ""))
	good := tokenClaims{RegisteredClaims: jwt.RegisteredClaims{Issuer: "piedmont", Subject: "etl", ExpiresAt: hour}, Secret: mark}
	valid := forge(jwt.SigningMethodHS256, kid, secret, good)
	_, err := a.Credential(ctx, valid)
	require.NoError(t, err, "the forge works")

	parts := strings.Split(valid, ".")
	other := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"piedmont","sub":"ops","exp":99999999999}`))
	empty := hmac.New(sha256.New, nil)
	empty.Write([]byte(parts[0] + "." + parts[1]))
	for name, token := range map[string]string{
		"other claims":      parts[0] + "." + other + "." + parts[2],
		"no signature":      parts[0] + "." + parts[1] + ".",
		"cut signature":     valid[:len(valid)-4],
		"signed with ''":    parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(empty.Sum(nil)),
		"another key":       forge(jwt.SigningMethodHS256, kid, make([]byte, 32), good),
		"alg none":          forge(jwt.SigningMethodNone, kid, jwt.UnsafeAllowNoneSignatureType, good),
		"alg HS384":         forge(jwt.SigningMethodHS384, kid, secret, good),
		"alg HS512":         forge(jwt.SigningMethodHS512, kid, secret, good),
		"no kid":            forge(jwt.SigningMethodHS256, nil, secret, good),
		"a number as kid":   forge(jwt.SigningMethodHS256, 7, secret, good),
		"an unknown kid":    forge(jwt.SigningMethodHS256, "0123456789abcdef", secret, good),
		"a path as kid":     forge(jwt.SigningMethodHS256, "../../../etc/x/y", secret, good),
		"another issuer":    forge(jwt.SigningMethodHS256, kid, secret, tokenClaims{jwt.RegisteredClaims{Issuer: "else", Subject: "etl", ExpiresAt: hour}, mark}),
		"no issuer":         forge(jwt.SigningMethodHS256, kid, secret, tokenClaims{jwt.RegisteredClaims{Subject: "etl", ExpiresAt: hour}, mark}),
		"no expiry":         forge(jwt.SigningMethodHS256, kid, secret, tokenClaims{jwt.RegisteredClaims{Issuer: "piedmont", Subject: "etl"}, mark}),
		"expired":           forge(jwt.SigningMethodHS256, kid, secret, tokenClaims{jwt.RegisteredClaims{Issuer: "piedmont", Subject: "etl", ExpiresAt: jwt.NewNumericDate(c.at)}, mark}),
		"not yet valid":     forge(jwt.SigningMethodHS256, kid, secret, tokenClaims{jwt.RegisteredClaims{Issuer: "piedmont", Subject: "etl", ExpiresAt: hour, NotBefore: hour}, mark}),
		"no subject":        forge(jwt.SigningMethodHS256, kid, secret, tokenClaims{jwt.RegisteredClaims{Issuer: "piedmont", ExpiresAt: hour}, mark}),
		"an unknown key id": forge(jwt.SigningMethodHS256, kid, secret, tokenClaims{jwt.RegisteredClaims{Issuer: "piedmont", Subject: "nobody", ExpiresAt: hour}, mark}),
		"no secret":         forge(jwt.SigningMethodHS256, kid, secret, good.RegisteredClaims),
		"another secret":    forge(jwt.SigningMethodHS256, kid, secret, tokenClaims{good.RegisteredClaims, secretMark(apiKey("etl", "x", ""))}),
	} {
		_, err := a.Credential(ctx, token)
		assert.True(t, mounts.Is(err, mounts.NotAuthorized), "%s: %v", name, err)
	}
}

// TestUnknownSigningKeysAreNotAskedForEachTime: a token costs its forger nothing, so it
// may not cost a read each time.
func TestUnknownSigningKeysAreNotAskedForEachTime(t *testing.T) {
	store, c := &memory{}, newClock()
	a := newAuthenticator(t, store, c)
	claims := tokenClaims{RegisteredClaims: jwt.RegisteredClaims{Issuer: "piedmont", Subject: "etl", ExpiresAt: jwt.NewNumericDate(c.at.Add(time.Hour))}}
	credential := func(kid string) error {
		_, err := a.Credential(ctx, forge(jwt.SigningMethodHS256, kid, []byte("x"), claims))
		return err
	}
	c.at = c.at.Add(time.Second)
	before := store.reads
	for range 100 {
		require.True(t, mounts.Is(credential("0123456789abcdef"), mounts.NotAuthorized))
	}
	assert.Equal(t, 1, store.reads-before, "the same key")
	c.at = c.at.Add(unknownFor)
	require.True(t, mounts.Is(credential("0123456789abcdef"), mounts.NotAuthorized))
	assert.Equal(t, 2, store.reads-before, "asked for again after a while")

	c.at = c.at.Add(time.Second)
	before = store.reads
	var last error
	for i := range 5000 {
		last = credential(fmt.Sprintf("%016x", i))
	}
	assert.Equal(t, maxQuestions, store.reads-before, "other keys")
	require.True(t, mounts.Is(last, mounts.Unavailable), "nothing is known of it: %v", last)
	token, _, err := a.Token("etl", secretETL)
	require.NoError(t, err)
	_, err = a.Credential(ctx, token)
	require.NoError(t, err, "known keys aren't asked for")
	c.at = c.at.Add(time.Second)
	require.True(t, mounts.Is(credential("ffffffffffffffff"), mounts.NotAuthorized))
	assert.LessOrEqual(t, a.tokens.unknown.Len(), maxUnknown)
}

func TestReplicasShareSigningKeys(t *testing.T) {
	store, c := &memory{}, newClock()
	first := newAuthenticator(t, store, c)
	second := newAuthenticator(t, store, c)
	assert.Len(t, store.keys, 1, "the second replica makes none")
	token, _, err := second.Token("etl", secretETL)
	require.NoError(t, err)
	_, err = first.Credential(ctx, token)
	require.NoError(t, err)

	// A third signs with a key that came later.
	store.current = ""
	third := newAuthenticator(t, store, c)
	assert.Len(t, store.keys, 2)
	token, _, err = third.Token("etl", secretETL)
	require.NoError(t, err)

	store.down = true
	_, err = first.Credential(ctx, token)
	require.True(t, mounts.Is(err, mounts.Unavailable), "nothing is known of it: no 401, %v", err)
	assert.NotContains(t, message(t, err), "store")
	store.down = false
	_, err = first.Credential(ctx, token)
	require.NoError(t, err)
	store.down = true
	_, err = first.Credential(ctx, token)
	require.NoError(t, err, "a key once read needs no store")
}

func TestNewTokensNeedsTheStore(t *testing.T) {
	_, err := NewTokens(ctx, &memory{down: true}, time.Now)
	require.ErrorIs(t, err, errDown)
	_, err = NewTokens(ctx, &memory{current: "gone"}, time.Now)
	require.ErrorIs(t, err, errUnknownSigningKey)
	_, err = NewTokens(ctx, &memory{current: "short", keys: map[string][]byte{"short": []byte("x")}}, time.Now)
	require.ErrorIs(t, err, errUnknownSigningKey, "a damaged key is no key")
}

func TestDerive(t *testing.T) {
	store, c := &memory{}, newClock()
	one, two := newTokens(t, store, c), newTokens(t, store, c)
	derive := func(tokens *Tokens, use string) []byte {
		key, err := tokens.Derive(use)
		require.NoError(t, err)
		require.Len(t, key, 32)
		return key
	}
	assert.Equal(t, derive(one, "pages"), derive(two, "pages"))
	assert.NotEqual(t, derive(one, "pages"), derive(one, "other"))
	assert.NotEqual(t, derive(one, "pages"), derive(newTokens(t, &memory{}, c), "pages"))
	assert.NotEqual(t, store.keys[store.current], derive(one, ""))
}

func FuzzCredential(f *testing.F) {
	c := newClock()
	a := newAuthenticator(f, &memory{}, c)
	token, _, err := a.Token("etl", secretETL)
	require.NoError(f, err)
	parts := strings.Split(token, ".")
	for _, seed := range []string{
		"etl:" + secretETL, token, parts[0] + ".e30." + parts[2], "eyJhbGciOiJub25lIn0.e30.", "a.b.c", ":", "", "\x00:\xff", "e30.e30.e30",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, credential string) {
		got, err := a.Credential(ctx, credential)
		if err == nil {
			// a signature may end in other unused bits and still be the same bytes
			if credential != "etl:"+secretETL && !strings.HasPrefix(credential, parts[0]+"."+parts[1]+".") {
				t.Fatalf("%q lets in %v", credential, got)
			}
			return
		}
		// unavailable: many inputs name signing keys that aren't known
		require.True(t, mounts.Is(err, mounts.NotAuthorized) || mounts.Is(err, mounts.Unavailable), "%v", err)
	})
}
