package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"piedmont/mounts/guard"
)

const (
	defaultTimeout     = 30 * time.Second
	defaultConcurrency = 32
	defaultScope       = "catalog" // what Iceberg's own clients ask for
)

// The most bytes of one answer, unpacked. Options.MaxResponseBytes lowers them.
const (
	maxSmall = 1 << 20   // configuration and tokens
	maxError = 64 << 10  // error bodies: what is behind that isn't read
	maxList  = 64 << 20  // one page of names
	maxLoad  = 256 << 20 // a table, as native mounts have it
)

// Options are what a Catalog needs. URI, Documents and Now are required; at most one of
// Credential, Token and SigV4 may be set.
type Options struct {
	// Name is the mount point's path as messages show it; empty for the root.
	Name string
	// URI is the upstream's base, without /v1. It may hold no user and no query.
	URI string
	// Warehouse is the upstream's ?warehouse=; empty for none.
	Warehouse string
	// Lower is for an upstream that ignores case: it is asked for names in lower case alone (the
	// mount point sees to that), and what it calls something is read in lower case too.
	Lower bool

	// Credential is "id:secret" for OAuth2 client credentials.
	Credential string
	// OAuth2ServerURI is where tokens come from; empty for the upstream's own.
	OAuth2ServerURI string
	// Scope of the tokens; empty means "catalog".
	Scope string
	// Token is a bearer token that doesn't expire.
	Token string
	// SigV4 signs each request as AWS does.
	SigV4 *SigV4

	// Timeout bounds what an operation asks, all its questions and retries together; 0 means
	// 30 seconds. Who shares a question with others may wait a tenth longer.
	Timeout time.Duration
	// Guard bounds how the upstream is asked. Its Name and Timeout are set here; a zero
	// Concurrency means 32.
	Guard guard.Options
	// MaxResponseBytes bounds one answer of the upstream; 0 means 256 MiB, which is the
	// most. Lists are bounded by 64 MiB and configuration by 1 MiB in any case.
	MaxResponseBytes int64
	// FreshFor lets loads be answered from memory for so long after the question to the
	// upstream was sent. 0 asks it each time.
	FreshFor time.Duration
	// Documents keeps the tables loaded last. Mounts may share one.
	Documents *Documents
	// Storage finds the storage profile that a metadata location lies under; nil if the
	// mount has none.
	Storage func(location string) (profile string, ok bool)
	// Now is the clock.
	Now func() time.Time
	// Logger hears of what the upstream asks and we ignore; nil for none.
	Logger *slog.Logger
}

// SigV4 is how requests are signed with AWS Signature Version 4.
type SigV4 struct {
	// Region and Service of the upstream, like eu-west-1 and glue.
	Region, Service string
	// AccessKeyID and SecretAccessKey are static credentials. Without them the process's
	// own are used: environment, shared files, instance role.
	AccessKeyID, SecretAccessKey string
}

// check names what is wrong, and fills in what was left out. Its errors hold no secret.
func (o *Options) check() (*url.URL, error) {
	base, err := parseBase(o.URI)
	if err != nil {
		return nil, err
	}
	if o.Documents == nil || o.Now == nil {
		return nil, errors.New("documents and clock are required")
	}
	if o.Timeout < 0 || o.FreshFor < 0 || o.MaxResponseBytes < 0 {
		return nil, errors.New("timeout, fresh_for and the bound of answers can't be negative")
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Guard.Concurrency <= 0 {
		o.Guard.Concurrency = defaultConcurrency
	}
	o.Guard.Name, o.Guard.Timeout = guard.Describe(o.Name), o.Timeout
	if o.MaxResponseBytes == 0 || o.MaxResponseBytes > maxLoad {
		o.MaxResponseBytes = maxLoad
	}
	if o.Scope == "" {
		o.Scope = defaultScope
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return base, o.checkAuth()
}

func (o *Options) checkAuth() error {
	ways := 0
	for _, set := range []bool{o.Credential != "", o.Token != "", o.SigV4 != nil} {
		if set {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("credential, token and sigv4 exclude each other")
	}
	if o.Credential != "" {
		if id, secret, ok := strings.Cut(o.Credential, ":"); !ok || id == "" || secret == "" {
			return errors.New("credential: want id:secret")
		}
	}
	if !headerText(o.Token) {
		return errors.New("token: it holds characters that no header can")
	}
	if o.OAuth2ServerURI != "" {
		if _, err := parseBase(o.OAuth2ServerURI); err != nil {
			return fmt.Errorf("oauth2_server_uri: %w", err)
		}
	}
	if s := o.SigV4; s != nil {
		if s.Region == "" || s.Service == "" {
			return errors.New("sigv4: region and service are required")
		}
		if (s.AccessKeyID == "") != (s.SecretAccessKey == "") {
			return errors.New("sigv4: one of access key and secret is missing")
		}
	}
	return nil
}

// parseBase reads a URL of the configuration. The errors don't repeat it: it may hold a
// secret where none belongs.
func parseBase(uri string) (*url.URL, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return nil, errors.New("uri: want http://host/path or https://host/path")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("uri: it can't hold a user, a query or a fragment")
	}
	return u, nil
}

// headerText says whether s can be sent in a header.
func headerText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
