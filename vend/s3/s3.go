// Package s3 keeps files in a bucket of an S3 compatible object store.
package s3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"piedmont/vend"
	"piedmont/vend/ambient"
)

// Options say which storage a profile reaches and how.
type Options struct {
	Profile   string        // its name, for errors
	Prefix    vend.Location // an s3 location
	Endpoint  string        // http(s)://host[:port]; empty for AWS
	Region    string        // required, though most servers but AWS ignore it
	PathStyle bool          // the bucket in the path instead of the host

	// Static credentials. With AccessKeyID empty those of the surroundings are used:
	// environment, shared files, web identity, container or instance role. Only
	// credentials come from there, never an endpoint or a region.
	AccessKeyID, SecretAccessKey, SessionToken string

	// Timeout bounds one operation with all its retries; zero for 30 seconds.
	Timeout time.Duration
}

const (
	defaultTimeout = 30 * time.Second
	maxAttempts    = 3
	maxBackoff     = time.Second
)

// Files is vend.Files in a bucket. The store must honour If-None-Match: * when it puts an
// object; vend.Check finds one that ignores it.
type Files struct {
	profile string
	prefix  vend.Location
	timeout time.Duration
	client  *s3.Client
	pool    *http.Transport
}

// New checks the options and prepares the client. It asks no storage, but the
// surroundings for credentials where Options says so.
func New(ctx context.Context, o Options) (*Files, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("s3 storage profile %q: %w", o.Profile, err)
	}
	provider, err := o.credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("s3 storage profile %q: %w", o.Profile, err)
	}
	f := &Files{profile: o.Profile, prefix: o.Prefix, timeout: o.Timeout, pool: transport()}
	if f.timeout == 0 {
		f.timeout = defaultTimeout
	}
	f.client = s3.New(f.clientOptions(o, provider))
	return f, nil
}

func (o Options) validate() error {
	switch {
	case o.Prefix.Scheme() != "s3":
		return fmt.Errorf("the prefix %s is no s3 location", o.Prefix)
	case o.Region == "":
		return errors.New("the region is missing")
	case o.AccessKeyID == "" && (o.SecretAccessKey != "" || o.SessionToken != ""):
		return errors.New("a secret without an access key")
	case o.AccessKeyID != "" && o.SecretAccessKey == "":
		return errors.New("an access key without its secret")
	case o.Timeout < 0:
		return errors.New("the timeout is negative")
	}
	if o.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the endpoint is no plain http or https URL") // not repeated: it may hold a password
	}
	return nil
}

func (o Options) credentials(ctx context.Context) (aws.CredentialsProvider, error) {
	if o.AccessKeyID != "" {
		return credentials.NewStaticCredentialsProvider(o.AccessKeyID, o.SecretAccessKey, o.SessionToken), nil
	}
	return ambient.Credentials(ctx, o.Region)
}

func (f *Files) clientOptions(o Options, provider aws.CredentialsProvider) s3.Options {
	options := s3.Options{
		Region:       o.Region,
		Credentials:  provider,
		UsePathStyle: o.PathStyle,
		HTTPClient:   &client{http.Client{Transport: f.pool, CheckRedirect: refuseRedirects}},
		Retryer:      retryer(),
		// Many servers don't know the checksums in trailers that the SDK adds by default.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		// The extra round trip of Expect: 100-continue is more than our uploads cost.
		ContinueHeaderThresholdBytes: -1,
	}
	if o.Endpoint != "" {
		options.BaseEndpoint = aws.String(o.Endpoint)
	}
	return options
}

// retryer also tries again where two conditional puts of one key met, as AWS asks to.
func retryer() aws.Retryer {
	standard := retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = maxAttempts, maxBackoff
	})
	return retry.AddWithErrorCodes(standard, "ConditionalRequestConflict", "OperationAborted")
}

// transport keeps many connections, as many commits at once need one each.
func transport() *http.Transport {
	dialer := &net.Dialer{Timeout: 3 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: 15 * time.Second,
		MaxIdleConns:          512,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       60 * time.Second,
	}
}

// refuseRedirects hands the redirect itself to the SDK: followed, it would take a signed
// request and what it carries to a host that nobody configured.
func refuseRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close closes idle connections. Operations under way go on.
func (f *Files) Close() { f.pool.CloseIdleConnections() }
