package authz

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

var ctx = context.Background()

// memory is a KeyStore that replicas of a test share.
type memory struct {
	mu      sync.Mutex
	current string
	keys    map[string][]byte
	reads   int
	down    bool
}

var errDown = errors.New("store down")

func (m *memory) SigningKey(_ context.Context, id string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.down {
		return nil, false, errDown
	}
	secret, ok := m.keys[id]
	return secret, ok, nil
}

func (m *memory) CurrentSigningKey(context.Context) (string, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return "", false, errDown
	}
	return m.current, m.current != "", nil
}

func (m *memory) AddSigningKey(_ context.Context, id string, secret []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = map[string][]byte{}
	}
	m.keys[id] = secret
	if m.current == "" {
		m.current = id
	}
	return nil
}

// clock is set by hand.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time { return c.at }

func newTokens(t testing.TB, store KeyStore, c *clock) *Tokens {
	t.Helper()
	tokens, err := NewTokens(ctx, store, c.now)
	require.NoError(t, err)
	return tokens
}

const secretETL = "the-secret-of-etl"

func apiKey(id, secret, principal string, groups ...string) Key {
	sum, err := ParseHash(HashSecret(secret))
	if err != nil {
		panic(err)
	}
	return Key{ID: id, SHA256: sum, Principal: principal, Groups: groups}
}

// newAuthenticator knows the keys "etl" and "ops", whose principal is an admin.
func newAuthenticator(t testing.TB, store KeyStore, c *clock) *Authenticator {
	t.Helper()
	a, err := NewAuthenticator([]Key{
		apiKey("etl", secretETL, "etl-job", "writers", "readers"), apiKey("ops", "the-secret-of-ops", "ops"),
	}, []string{"ops"}, newTokens(t, store, c), c.now)
	require.NoError(t, err)
	return a
}

func authorizer(t testing.TB, policies ...string) *Authorizer {
	t.Helper()
	a, err := NewAuthorizer([]PolicyFile{{Name: "test.cedar", Text: []byte(strings.Join(policies, "\n"))}})
	require.NoError(t, err)
	return a
}

func user(name string, groups ...string) Identity {
	return Identity{Caller: mounts.Caller{Principal: name, Groups: groups}}
}

// ns is the namespace of levels joined by slashes.
func ns(path string) mounts.Namespace {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// namespace, table and view are objects in the root mount.
func namespace(path string) Object { return Object{Type: Namespace, Path: ns(path), InMount: true} }

func table(path, name string) Object {
	return Object{Type: Table, Path: ns(path), Name: name, InMount: true}
}

func view(path, name string) Object {
	return Object{Type: View, Path: ns(path), Name: name, InMount: true}
}

func in(mount string, o Object) Object {
	o.Mount = mount
	return o
}

// message is what a client would be told.
func message(t testing.TB, err error) string {
	t.Helper()
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	return e.Message()
}
