// Package ambient finds the AWS credentials of the process's own surroundings: environment, shared
// files, web identity, container or instance. Questions to those that have to be asked end in time.
package ambient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Timeout is how long a caller waits for credentials at most.
const Timeout = 5 * time.Second

// ErrNone is in the error of a Retrieve that got none, or not in time.
var ErrNone = errors.New("no AWS credentials could be had from the process's surroundings")

// Credentials are what the SDK's default chain finds in environment and files, which it reads here
// and now. What it finds beyond it asks for when first needed, and again before they expire. Only
// credentials come from there, never an endpoint or a region.
func Credentials(ctx context.Context, region string) (aws.CredentialsProvider, error) {
	return within(ctx, region, Timeout)
}

func within(ctx context.Context, region string, bound time.Duration) (aws.CredentialsProvider, error) {
	// All callers share one question, which ends with no caller's context, and whoever comes later
	// joins it: so each must end by itself.
	client := awshttp.NewBuildableClient().WithTimeout(bound)
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion(region), config.WithHTTPClient(client),
		config.WithAPIOptions([]func(*middleware.Stack) error{refuseSwitch}),
		// A container's endpoint alone isn't asked with the client of the configuration.
		config.WithEndpointCredentialOptions(func(o *endpointcreds.Options) { o.HTTPClient = client }))
	if err != nil {
		return nil, fmt.Errorf("find AWS credentials: %w", err)
	}
	return &provider{c.Credentials, bound}, nil
}

var errSwitched = errors.New("the server switches to another protocol")

// refuseSwitch is for an answer that ends HTTP. Its body is the connection itself, which no
// deadline ends, so it isn't read.
func refuseSwitch(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("RefuseSwitch", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		if answer, ok := out.RawResponse.(*smithyhttp.Response); err == nil && ok && answer.StatusCode < http.StatusOK {
			_ = answer.Body.Close() // unread
			err = errSwitched
		}
		return out, metadata, err
	}), middleware.After)
}

// provider is the chain, for callers who wait no longer than the bound.
type provider struct {
	aws.CredentialsProvider
	bound time.Duration
}

// Retrieve gets credentials. Where the caller's own time is over the error is the context's.
func (p *provider) Retrieve(ctx context.Context) (aws.Credentials, error) {
	within, cancel := context.WithTimeout(ctx, p.bound)
	defer cancel()
	c, err := p.CredentialsProvider.Retrieve(within)
	if err == nil || ctx.Err() != nil {
		return c, err
	}
	return c, fmt.Errorf("%w: %w", ErrNone, err)
}

// ProviderSources says where credentials are taken from.
func (p *provider) ProviderSources() []aws.CredentialSource {
	if known, ok := p.CredentialsProvider.(aws.CredentialProviderSource); ok {
		return known.ProviderSources()
	}
	return nil
}
