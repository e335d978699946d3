package glue

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// bare takes away whatever the surroundings have of AWS.
func bare(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_DEFAULT_PROFILE",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		t.Setenv(name, "")
		require.NoError(t, os.Unsetenv(name))
	}
	t.Setenv("HOME", home)
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(home, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(home, "credentials"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	return home
}

func chain(o *Options) { o.AccessKeyID, o.SecretAccessKey = "", "" }

// The start says where credentials come from, and a question without any which were tried.
func TestMissingCredentials(t *testing.T) {
	bare(t)
	f := withTable(t)
	var log bytes.Buffer
	s := f.source(t, chain, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	const tried = "the instance's metadata service (neither environment variables nor a web identity, shared files or a container have any)"
	require.Contains(t, log.String(), tried)
	for _, err := range asks(t, s) {
		requireKind(t, err, mounts.Unavailable, "no AWS credentials could be had from "+tried)
	}
	require.Empty(t, f.took())
}

func TestOwnCredentials(t *testing.T) {
	home := bare(t)
	f := withTable(t)
	container := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"AccessKeyId":"`+keyID+`","SecretAccessKey":"`+secret+`","Token":"","Expiration":"2099-01-01T00:00:00Z"}`)
	}))
	defer container.Close()
	for _, c := range []struct {
		from string
		set  func(t *testing.T)
	}{
		{"environment variables", func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", keyID)
			t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
		}},
		{"a profile of the shared AWS files", func(t *testing.T) {
			text := "[team]\naws_access_key_id = " + keyID + "\naws_secret_access_key = " + secret + "\n"
			require.NoError(t, os.WriteFile(filepath.Join(home, "credentials"), []byte(text), 0o600))
			t.Setenv("AWS_PROFILE", "team")
		}},
		{"the container's endpoint", func(t *testing.T) { t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.URL) }},
	} {
		t.Run(c.from, func(t *testing.T) {
			c.set(t)
			var log bytes.Buffer
			s := f.source(t, chain, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			require.NoError(t, s.Health(t.Context()))
			require.Contains(t, log.String(), `from="`+c.from+`"`)
			require.NotContains(t, log.String(), secret)
		})
	}
	t.Run("a web identity whose token is gone", func(t *testing.T) {
		t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", filepath.Join(home, "no-token"))
		t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod")
		s := f.source(t, chain)
		requireKind(t, s.Health(t.Context()), mounts.Unavailable, "had from a web identity that environment variables name")
	})
	t.Run("a profile that isn't there", func(t *testing.T) {
		t.Setenv("AWS_PROFILE", "nobody")
		_, err := NewSource(t.Context(), Options{Name: "aws", Region: "eu-west-1"})
		require.ErrorContains(t, err, "find AWS credentials")
	})
}

// A container's endpoint that accepts and never answers: questions fail in time, naming the cause,
// and are answered when it answers again.
func TestOwnCredentialsHang(t *testing.T) {
	bare(t)
	f := withTable(t)
	var well atomic.Bool
	container := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !well.Load() {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"AccessKeyId":"`+keyID+`","SecretAccessKey":"`+secret+`","Token":"","Expiration":"2099-01-01T00:00:00Z"}`)
	}))
	defer func() {
		container.CloseClientConnections()
		container.Close()
	}()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", container.URL)
	s := f.source(t, chain)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	requireKind(t, s.Health(ctx), mounts.Unavailable, "no AWS credentials could be had from the container's endpoint")
	well.Store(true)
	require.Eventually(t, func() bool { return s.Health(ctx) == nil }, time.Minute, 100*time.Millisecond)
}

// role is a source that assumes one.
func role(f *fake) func(*Options) {
	return func(o *Options) {
		o.RoleARN, o.ExternalID, o.STSEndpoint = "arn:aws:iam::444455556666:role/path/reader", "ticket:7", f.url
	}
}

func TestRole(t *testing.T) {
	f := withTable(t)
	s := f.source(t, role(f))
	for range 3 {
		for _, err := range asks(t, s) {
			require.NoError(t, err)
		}
	}
	require.Len(t, f.roles, 1, "assumed once")
	require.Equal(t, "arn:aws:iam::444455556666:role/path/reader", f.roles[0].Get("RoleArn"))
	require.Equal(t, "piedmont", f.roles[0].Get("RoleSessionName"))
	require.Equal(t, "ticket:7", f.roles[0].Get("ExternalId"))

	s = f.source(t, role(f), func(o *Options) { o.SessionName = "lake@example" })
	require.NoError(t, s.Health(t.Context()))
	require.Equal(t, "lake@example", f.roles[1].Get("RoleSessionName"))
}

// Why a role can't be assumed is said, and it is no absence.
func TestRoleRefused(t *testing.T) {
	f := withTable(t)
	s := f.source(t, role(f), func(o *Options) { o.ExternalID = "wrong" })
	for _, err := range asks(t, s) {
		requireKind(t, err, mounts.Unavailable, "the mount's credential may not assume the role")
	}
	require.Empty(t, f.took())

	for text, answer := range map[string]struct {
		status int
		body   string
	}{
		"STS does not accept the mount's credential": {403, `<ErrorResponse><Error><Code>InvalidClientTokenId</Code><Message>m</Message></Error></ErrorResponse>`},
		"STS takes no more requests right now":       {400, `<ErrorResponse><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>`},
		"STS did not give the role's credentials":    {503, `<html>`},
	} {
		sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(answer.status)
			_, _ = io.WriteString(w, answer.body)
		}))
		s := f.source(t, role(f), func(o *Options) { o.STSEndpoint = sts.URL })
		requireKind(t, s.Health(t.Context()), mounts.Unavailable, text)
		sts.Close()
		requireKind(t, s.Health(t.Context()), mounts.Unavailable, "STS did not give the role's credentials")
	}
}

// An STS that says EntityNotFound speaks of no table.
func TestRoleFaults(t *testing.T) {
	f := withTable(t)
	sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `<ErrorResponse><Error><Code>EntityNotFoundException</Code><Message>m</Message></Error></ErrorResponse>`)
	}))
	defer sts.Close()
	for _, err := range asks(t, f.source(t, role(f), func(o *Options) { o.STSEndpoint = sts.URL })) {
		requireKind(t, err, mounts.Unavailable, "STS does not accept")
	}
}

// An STS that hangs is left, and hangs nobody who comes later.
func TestRoleHangs(t *testing.T) {
	t.Parallel()
	f := withTable(t)
	var asked atomic.Int64
	sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			return
		}
		f.ServeHTTP(w, r)
	}))
	defer sts.Close()
	s := f.source(t, role(f), func(o *Options) { o.STSEndpoint = sts.URL })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := s.Object(ctx, "db", "t")
	requireKind(t, err, mounts.Timeout, "did not answer in time")
	_, err = s.Object(t.Context(), "db", "t")
	requireKind(t, err, mounts.Unavailable, "STS did not give the role's credentials")
	_, err = s.Object(t.Context(), "db", "t")
	require.NoError(t, err)
}

// A key that Glue doesn't know.
func TestUnknownKey(t *testing.T) {
	f := withTable(t)
	for _, err := range asks(t, f.source(t, func(o *Options) { o.AccessKeyID = "AKIDUNKNOWN" })) {
		requireKind(t, err, mounts.Unavailable, "does not accept the mount's credential")
	}
}
