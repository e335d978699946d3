package router

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"piedmont/mounts"
)

// status is what a kind of error is on the wire.
type status struct {
	code int
	typ  string // Iceberg's error type
}

// statuses is the one table of errors. Clients decide by code and type whether to delete
// the files they wrote: 400, 401, 403, 404 and 409 say that nothing was done.
var statuses = map[mounts.Kind]status{
	mounts.Internal:           {500, "InternalServerError"},
	mounts.BadRequest:         {400, "BadRequestException"},
	mounts.InvalidArgument:    {400, "IllegalArgumentException"},
	mounts.NotAuthorized:      {401, "NotAuthorizedException"},
	mounts.Forbidden:          {403, "ForbiddenException"},
	mounts.NoSuchWarehouse:    {404, "NoSuchWarehouseException"},
	mounts.NoSuchNamespace:    {404, "NoSuchNamespaceException"},
	mounts.NoSuchTable:        {404, "NoSuchTableException"},
	mounts.NoSuchView:         {404, "NoSuchViewException"},
	mounts.NotFound:           {404, "NotFoundException"},
	mounts.Unsupported:        {406, "UnsupportedOperationException"},
	mounts.AlreadyExists:      {409, "AlreadyExistsException"},
	mounts.NamespaceNotEmpty:  {409, "NamespaceNotEmptyException"},
	mounts.CommitFailed:       {409, "CommitFailedException"},
	mounts.Unprocessable:      {422, "UnprocessableEntityException"},
	mounts.TooLarge:           {413, "BadRequestException"},
	mounts.CommitStateUnknown: {500, "CommitStateUnknownException"},
	mounts.BadGateway:         {502, "BadGatewayException"},
	mounts.Unavailable:        {503, "SlowDownException"},
	mounts.Timeout:            {504, "GatewayTimeoutException"},
}

// commitStatuses are those that differ where a commit was asked for: there every fault
// of ours leaves the outcome open, and clients must hear so.
var commitStatuses = map[mounts.Kind]status{
	mounts.Internal:   {500, "CommitStateUnknownException"},
	mounts.BadGateway: {502, "CommitStateUnknownException"},
	mounts.Timeout:    {504, "CommitStateUnknownException"},
}

// What a 503 asks clients to wait: what the source asked of us, within these bounds. Without
// the header Java would not retry what isn't idempotent.
const (
	minRetryAfter = time.Second
	maxRetryAfter = time.Minute
)

// retryAfter is the header's value, in whole seconds: those that have begun count.
func retryAfter(d time.Duration) string {
	d = min(max(d, minRetryAfter), maxRetryAfter)
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}

// errorModel is the wire form of an error.
type errorModel struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    int    `json:"code"`
}

// asError is the *mounts.Error in err, or one that shows nothing of it.
func asError(err error) *mounts.Error {
	var e *mounts.Error
	if !errors.As(err, &e) {
		e = &mounts.Error{Kind: mounts.Internal, Err: err}
	}
	return e
}

func statusOf(k mounts.Kind, commits bool) status {
	if s, ok := commitStatuses[k]; ok && commits {
		return s
	}
	if s, ok := statuses[k]; ok {
		return s
	}
	return statusOf(mounts.Internal, commits)
}

// answerError writes the one answer to an error. Its text is built from the error's own
// safe words; causes go to the log only.
func answerError(w http.ResponseWriter, r *http.Request, c *call, e *mounts.Error, s status) {
	message := e.Message()
	if e.Kind == mounts.Internal && e.Detail == "" {
		message = "Internal error; the server's log has the cause under request id " + c.requestID
	}
	if s.code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="piedmont"`)
	}
	if s.code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter(e.RetryAfter))
	}
	body, _ := json.Marshal(map[string]errorModel{"error": {Message: message, Type: s.typ, Code: s.code}}) // strings and an int always marshal
	writeJSON(w, r, s.code, body)
}
