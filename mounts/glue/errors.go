package glue

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// What several answers mean.
const (
	notGlue      = "gave an answer that Glue does not give"
	tooMany      = "gave a page that is larger than was asked for"
	noCredential = "does not accept the mount's credential"
	failed       = "failed"
	// Lake Formation has the same words for what isn't there, so that nobody can find out what is.
	notAllowed   = "does not let the mount's credential read {name}, or has nothing of that name"
	notPermitted = "is governed by Lake Formation, which does not let the mount's credential read {name}, or has nothing of that name"
	notListed    = "does not let the mount's credential list its databases"
)

// Glue's own codes that mean one thing. Where AWS spells a code with and without
// "Exception" it stands here without.
var (
	deniedCodes     = []string{"AccessDenied", "UnauthorizedOperation", "NotAuthorized", "UnauthorizedAccess"}
	credentialCodes = []string{
		"ExpiredToken", "UnrecognizedClient", "InvalidClientTokenId", "InvalidSignature", "SignatureDoesNotMatch", "MissingAuthenticationToken",
		"IncompleteSignature", "InvalidAccessKeyId", "RequestExpired", "RequestTimeTooSkewed", "AuthFailure", "OptInRequired",
	}
	inputCodes    = []string{"InvalidInput", "Validation"}
	internalCodes = []string{"InternalService", "InternalFailure", "InternalServer", "InternalServerError", "ServiceUnavailable", "ResourceNotReady"}
	moreThrottles = []string{"RequestLimitExceeded", "ProvisionedThroughputExceeded", "ConcurrentRunsExceeded", "TooManyRequests", "Throttling"}
)

// codeOf is the code of Glue's own error answer; empty for other errors.
func codeOf(err error) string {
	var e smithy.APIError
	if !errors.As(err, &e) {
		return ""
	}
	return e.ErrorCode()
}

func among(codes []string, code string) bool {
	return slices.Contains(codes, strings.TrimSuffix(code, "Exception"))
}

// statusOf is the HTTP status of the answer, 0 if there was none.
func statusOf(err error) int {
	var e *smithyhttp.ResponseError
	if errors.As(err, &e) && e.Response != nil {
		return e.HTTPStatusCode()
	}
	return 0
}

// says tells whether the error's message holds the words.
func says(err error, words string) bool {
	var e smithy.APIError
	return errors.As(err, &e) && strings.Contains(strings.ToLower(e.ErrorMessage()), words)
}

// absent says whether Glue itself said that what was asked for isn't there. A fault around it
// is about something else, like a role, whatever its code.
func absent(err error) bool {
	var f *guard.Fault
	if errors.As(err, &f) {
		return false
	}
	status := statusOf(err)
	return errors.Is(err, errOtherName) || codeOf(err) == "EntityNotFoundException" && status >= 400 && status < 500
}

// denied says whether Glue or Lake Formation refused the mount's credential this object.
func denied(err error) bool {
	var f *guard.Fault
	return !errors.As(err, &f) && among(deniedCodes, codeOf(err))
}

// throttled says whether Glue had too many questions, which it says by HTTP status 400 too.
func throttled(err error) bool {
	var f *guard.Fault
	if err == nil || errors.As(err, &f) {
		return false
	}
	code := codeOf(err)
	_, known := retry.DefaultThrottleErrorCodes[code]
	return known || among(moreThrottles, code) || statusOf(err) == http.StatusTooManyRequests || code != "" && says(err, "rate exceeded")
}

// fail is the error of an operation on what name names: nil stays nil. What Glue said isn't
// there has its kind already (see missing). The detail names the mount, never a host or
// Glue's words.
func (s *Source) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*mounts.Error)(nil); errors.As(err, &e) {
		return err
	}
	f := classify(name, err)
	return &mounts.Error{
		Kind: f.Kind, Op: op, Name: name, Detail: "The catalog behind " + guard.Describe(s.name) + " " + f.Text, Err: err, RetryAfter: f.RetryAfter,
	}
}

func classify(name string, err error) guard.Fault {
	var f *guard.Fault
	var timeout net.Error
	switch {
	case errors.As(err, &f):
		return *f
	case errors.Is(err, context.Canceled):
		return guard.Fault{Kind: mounts.Unavailable, Text: "was not waited for: the request was given up"}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return guard.Fault{Kind: mounts.Timeout, Text: "did not answer in time"}
	case throttled(err):
		return guard.Fault{Kind: mounts.Unavailable, Text: "takes no more requests right now", RetryAfter: retryAfter(err)}
	case statusOf(err) == 0:
		return guard.Fault{Kind: mounts.Unavailable, Text: "can't be reached right now"}
	}
	return classifyAnswer(name, err)
}

// classifyAnswer reads an error that was answered, first by its code and then by its status.
func classifyAnswer(name string, err error) guard.Fault {
	code, status := codeOf(err), statusOf(err)
	switch {
	case among(deniedCodes, code):
		return guard.Fault{Kind: mounts.Forbidden, Text: refusal(name, err)}
	case among(credentialCodes, code):
		return guard.Fault{Kind: mounts.Unavailable, Text: noCredential}
	case among(inputCodes, code):
		return guard.Fault{Kind: mounts.BadRequest, Text: "does not accept the name or the page token"}
	case code == "OperationTimeoutException":
		return guard.Fault{Kind: mounts.Timeout, Text: "did not answer in time: an operation inside it took too long"}
	case code == "FederationSourceException" || code == "FederationSourceRetryableException":
		return guard.Fault{Kind: mounts.Unavailable, Text: federated(name)}
	case code == "GlueEncryptionException":
		return guard.Fault{Kind: mounts.Unavailable, Text: "can't decrypt its entries: the key is gone, or the mount's credential may not use it"}
	case among(internalCodes, code), status >= 500:
		return guard.Fault{Kind: mounts.Unavailable, Text: failed}
	case status == http.StatusUnauthorized || status == http.StatusForbidden && code != "":
		return guard.Fault{Kind: mounts.Unavailable, Text: noCredential}
	case status >= 300 && status < 400:
		return guard.Fault{Kind: mounts.BadGateway, Text: "answered with a redirect, which is not followed"}
	}
	return guard.Fault{Kind: mounts.BadGateway, Text: notGlue}
}

// federated says what comes from elsewhere.
func federated(name string) string {
	if name == "" {
		return "federates from another source, which failed"
	}
	return "federates {name} from another source, which failed"
}

// refusal says who refused what.
func refusal(name string, err error) string {
	switch {
	case name == "":
		return notListed
	case says(err, "lake formation"):
		return notPermitted
	}
	return notAllowed
}

const defaultRetryAfter = time.Second

// retryAfter is how long Glue asked to be left alone. It rarely says.
func retryAfter(err error) time.Duration {
	var e *smithyhttp.ResponseError
	if errors.As(err, &e) && e.Response != nil {
		if n, err := strconv.ParseUint(e.Response.Header.Get("Retry-After"), 10, 16); err == nil && n > 0 {
			return time.Duration(n) * time.Second
		}
	}
	return defaultRetryAfter
}
