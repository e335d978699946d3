package glue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/vend/ambient"
)

// credentialTimeout bounds each question to STS. All callers share it, so that it ends with no
// caller's context.
const credentialTimeout = 5 * time.Second

// credentials are where requests get their keys from: static ones or the process's own, or a
// role's that is assumed by those. Nothing is asked yet.
func (o *Options) credentials(ctx context.Context, client aws.HTTPClient) (aws.CredentialsProvider, error) {
	base, err := o.own(ctx)
	if err != nil || o.RoleARN == "" {
		return base, err
	}
	options := sts.Options{Region: o.Region, Credentials: base, HTTPClient: client, Retryer: aws.NopRetryer{}}
	if o.STSEndpoint != "" {
		options.BaseEndpoint = aws.String(o.STSEndpoint)
	}
	role := stscreds.NewAssumeRoleProvider(sts.New(options), o.RoleARN, func(r *stscreds.AssumeRoleOptions) {
		r.RoleSessionName, r.ExternalID = o.SessionName, optional(o.ExternalID)
	})
	return &provider{aws.NewCredentialsCache(role), explainRole}, nil
}

// own are the static credentials, or what the SDK's default chain finds in environment and
// files, which it reads here and now. What it finds beyond, it asks for when first needed.
func (o *Options) own(ctx context.Context) (aws.CredentialsProvider, error) {
	if o.AccessKeyID != "" {
		return credentials.NewStaticCredentialsProvider(o.AccessKeyID, o.SecretAccessKey, ""), nil
	}
	c, err := ambient.Credentials(ctx, o.Region)
	if err != nil {
		return nil, err
	}
	from := origin(c)
	o.Logger.Info("AWS credentials are the process's own", slog.String("mount", guard.Describe(o.Name)), slog.String("from", from))
	return &provider{c, func(err error) error {
		return &guard.Fault{Kind: mounts.Unavailable, Text: "could not be asked: no AWS credentials could be had from " + from, Err: err}
	}}, nil
}

// elsewhere is what the chain looks at before the instance.
const elsewhere = "neither environment variables nor a web identity, shared files or a container have any"

// origin is where the chain takes credentials from, and, where that is its last resort, what
// it tried before.
func origin(c aws.CredentialsProvider) string {
	var sources []aws.CredentialSource
	if known, ok := c.(aws.CredentialProviderSource); ok {
		sources = known.ProviderSources()
	}
	first := aws.CredentialSourceUndefined
	if len(sources) > 0 {
		first = sources[0]
	}
	switch first {
	case aws.CredentialSourceEnvVars:
		return "environment variables"
	case aws.CredentialSourceEnvVarsSTSWebIDToken, aws.CredentialSourceSTSAssumeRoleWebID:
		return "a web identity that environment variables name"
	case aws.CredentialSourceHTTP:
		return "the container's endpoint"
	case aws.CredentialSourceIMDS:
		return "the instance's metadata service (" + elsewhere + ")"
	default: // there are many ways for a profile to name others
		return "a profile of the shared AWS files"
	}
}

// provider explains why there are no credentials.
type provider struct {
	aws.CredentialsProvider
	explain func(error) error
}

// Retrieve gets credentials. A context that ended, and what is explained already, stays what
// it is.
func (p *provider) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := p.CredentialsProvider.Retrieve(ctx)
	var f *guard.Fault
	if err == nil || ctx.Err() != nil || errors.As(err, &f) {
		return c, err
	}
	return c, p.explain(err)
}

// explainRole is why a role could not be assumed.
func explainRole(err error) error {
	switch {
	case throttled(err):
		return &guard.Fault{Kind: mounts.Unavailable, Text: "could not be asked: STS takes no more requests right now", RetryAfter: retryAfter(err), Err: err}
	case among(deniedCodes, codeOf(err)):
		return &guard.Fault{Kind: mounts.Unavailable, Text: "could not be asked: the mount's credential may not assume the role", Err: err}
	case codeOf(err) != "" && statusOf(err) < 500:
		return &guard.Fault{Kind: mounts.Unavailable, Text: "could not be asked: STS does not accept the mount's credential", Err: err}
	}
	return &guard.Fault{Kind: mounts.Unavailable, Text: "could not be asked: STS did not give the role's credentials", Err: err}
}
