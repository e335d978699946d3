package s3

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"piedmont/vend"
	"piedmont/vend/ambient"
)

// codeOf is the error code in the store's own XML answer; empty for other errors. Only
// this tells an absence: a bare 404 may come from anything between us and the store.
func codeOf(err error) string {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return ""
}

// statusOf is the HTTP status of the last answer, 0 if there was none.
func statusOf(err error) int {
	var e *smithyhttp.ResponseError
	if errors.As(err, &e) {
		return e.HTTPStatusCode()
	}
	return 0
}

// fault classifies an error that is no absence. All are Unavailable, refused access too:
// nothing was read or written, and a client told "internal error" would take its commit
// for perhaps done. What the store said is in the cause, for the log.
func (f *Files) fault(op string, err error) error {
	if status := statusOf(err); (status == http.StatusUnauthorized || status == http.StatusForbidden) && !errors.Is(err, ambient.ErrNone) {
		return vend.Refused(op, f.profile, err)
	}
	return vend.Unavailable(op, f.profile, reason(err), err)
}

func reason(err error) string {
	var timeout net.Error
	status := statusOf(err)
	switch {
	case errors.Is(err, ambient.ErrNone):
		return "could not be asked: no AWS credentials could be had"
	case codeOf(err) == "NoSuchBucket":
		return "names a bucket that doesn't exist"
	case status >= 300 && status < 400:
		return "was answered by a redirect: its region or endpoint is wrong"
	case status == http.StatusNotImplemented:
		return "can't create a file only if it is absent"
	case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
		return "is overloaded"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "didn't answer in time"
	case errors.Is(err, context.Canceled):
		return "wasn't asked in time"
	}
	return "failed"
}
