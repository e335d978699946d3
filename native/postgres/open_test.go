//go:build e2e

package postgres

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"piedmont/native"
)

func withUser(t *testing.T, server, user, password string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

func schemaOf(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("search_path")
}

// TestErrorsKeepSecrets opens in vain. No error shows the URL, a part of it, or a password.
func TestErrorsKeepSecrets(t *testing.T) {
	server := os.Getenv(serverURL)
	for name, url := range map[string]string{
		"malformed":       "postgres://hush:hush-hush@host:port/db",
		"no URL":          "hush hush hush",
		"unknown option":  "postgres://hush:hush-hush@127.0.0.1:1/db?sslmode=hush",
		"pool option":     "postgres://hush:hush-hush@127.0.0.1:1/db?pool_max_conns=hush",
		"missing CA":      "postgres://hush:hush-hush@127.0.0.1:1/db?sslmode=verify-full&sslrootcert=/hush",
		"wrong password":  withUser(t, server, "piedmont", "hush"),
		"nobody there":    "postgres://hush:hush-hush@127.0.0.1:1/hush",
		"unknown host":    "postgres://hush:hush-hush@hush.invalid/hush",
		"without its TLS": withOption(t, withUser(t, server, "hush", "hush"), "sslmode", "require"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), url, Options{})
			if err == nil || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "127.0.0.1") {
				t.Fatalf("error is %v", err)
			}
			t.Log(err)
		})
	}
}

// TestUnreachable is given up in time.
func TestUnreachable(t *testing.T) {
	n, through := newNetwork(t, newSchema(t))
	defer n.ails("timeout", "downstream", map[string]int{"timeout": 0})()
	begun := time.Now()
	_, err := Open(t.Context(), through, Options{ConnectTimeout: 300 * time.Millisecond})
	if err == nil || time.Since(begun) > 3*time.Second {
		t.Fatalf("%v after %v", err, time.Since(begun))
	}
}

func TestOptions(t *testing.T) {
	url := newSchema(t)
	for name, c := range map[string]struct {
		url      string
		o        Options
		max, min int32
		connect  time.Duration
	}{
		"none":        {url, Options{}, 16, 0, 5 * time.Second},
		"all":         {url, Options{MaxConns: 3, MinConns: 2, ConnectTimeout: time.Second}, 3, 2, time.Second},
		"in the URL":  {withOption(t, withOption(t, url, "pool_max_conns", "7"), "connect_timeout", "9"), Options{}, 7, 0, 9 * time.Second},
		"in both":     {withOption(t, url, "pool_max_conns", "7"), Options{MaxConns: 3}, 3, 0, 5 * time.Second},
		"a few needs": {withOption(t, url, "pool_min_conns", "2"), Options{}, 16, 2, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Open(t.Context(), c.url, c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got := r.pool.Config()
			if got.MaxConns != c.max || got.MinConns != c.min || got.ConnConfig.ConnectTimeout != c.connect {
				t.Fatalf("at most %d connections, at least %d, made in %v", got.MaxConns, got.MinConns, got.ConnConfig.ConnectTimeout)
			}
		})
	}
}

// TestOpenContext: the context of Open bounds the opening and nothing else.
func TestOpenContext(t *testing.T) {
	url := newSchema(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Open(ctx, url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	if err := r.Commit(t.Context(), nil, []native.Change{put("a", "")}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.swept:
		t.Fatal("old receipts are no longer removed")
	default:
	}
	if _, err := Open(ctx, url, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v, want the context's", err)
	}
}
