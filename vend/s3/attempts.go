package s3

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
)

// attempts counts, over the retries of one operation, the requests that perhaps were
// carried out although no success came back.
type attempts struct{ perhaps atomic.Int32 }

type attemptsKey struct{}

// counted is a context whose requests are counted in the result.
func counted(ctx context.Context) (context.Context, *attempts) {
	a := new(attempts)
	return context.WithValue(ctx, attemptsKey{}, a), a
}

// client is the HTTP client under the SDK, whose retries it looks at.
type client struct{ http.Client }

var errSwitched = errors.New("the server switches to another protocol")

// Do implements the SDK's HTTPClient.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	// The SDK closes the body as soon as an answer begins. Its WriteTo then fails, for which
	// the transport would drop the connection before the answer is read; its Read just ends.
	if r.Body != nil {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	answer, err := c.Client.Do(r)
	if err == nil && answer.StatusCode < http.StatusOK {
		_ = answer.Body.Close() // unread: it is the connection itself, which no deadline ends
		answer, err = nil, errSwitched
	}
	if a, ok := r.Context().Value(attemptsKey{}).(*attempts); ok && perhapsDone(answer, err) {
		a.perhaps.Add(1)
	}
	return answer, err
}

// perhapsDone is false where the request surely changed nothing: it was answered with a
// refusal, or never left because there was no connection. A 5xx says nothing: it may come
// from a proxy that lost the answer.
func perhapsDone(answer *http.Response, err error) bool {
	if err == nil {
		return answer.StatusCode >= 500
	}
	var op *net.OpError
	return !errors.As(err, &op) || op.Op != "dial"
}
