package rest

import (
	"context"
	"errors"
	"net/http"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// guarded makes an operation about an object through the mount's guard, all its questions
// to the upstream together: so its retries and its deadline are those of the whole, and
// what fails is counted of that object, also where the configuration couldn't be had. The
// error is the call's own, or a *mounts.Error of the guard.
func guarded[T any](ctx context.Context, c *Catalog, op, name string, call func(context.Context) (T, error)) (T, error) {
	var cause error
	var judged *mounts.Error
	value, err := guard.Do(ctx, c.guard, op, name, func(ctx context.Context) (value T, _ error) {
		if value, cause = call(ctx); cause == nil {
			return value, nil
		}
		judged = judge(cause)
		return value, judged
	})
	if e, ok := err.(*mounts.Error); ok && e == judged { //nolint:errorlint // that very error, else it is the guard's own
		return value, cause
	}
	return value, err
}

// judge is what the guard shall think of an error. It knows the kinds that clients see, but
// some failures are no reason to ask once more, or to leave the upstream alone.
func judge(err error) *mounts.Error {
	kind, _ := classify(err)
	e := &mounts.Error{Kind: kind, Err: err}
	var s *statusError
	var f *guard.Fault
	switch {
	case errors.As(err, &f) && f.Ours || errors.Is(err, errNoViews):
		e.Kind = mounts.Internal // it says nothing of how the upstream is
	case absent(err, typeNoTable, typeNoIcebergTable, typeNoView, typeNoNamespace, typeNoFile) || errors.Is(err, errOtherName):
		e.Kind = mounts.NotFound
	case !errors.As(err, &s):
	case err == error(s) && s.status == http.StatusForbidden: //nolint:errorlint // a wrapped one is about a configuration or a token
		e.Kind = mounts.Forbidden // of this object, perhaps: the upstream is well
	case kind == mounts.Unavailable && s.status < 500 && s.status != http.StatusTooManyRequests:
		e.Kind = mounts.BadGateway // our credential, or the warehouse: asked at once it would say so again
	default:
		e.RetryAfter = s.retryAfter
	}
	return e
}
