package rest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"piedmont/cache"
	"piedmont/cache/rawjson"
	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// The types of 404 that are an absence. The second of a table is what Java catalogs say
// of one that isn't an Iceberg table.
const (
	typeNoNamespace    = "NoSuchNamespaceException"
	typeNoTable        = "NoSuchTableException"
	typeNoIcebergTable = "NoSuchIcebergTableException"
	typeNoView         = "NoSuchViewException"
	typeNoFile         = "NotFoundException"
)

// statusError is an answer of the upstream that isn't the one asked for. What it says in
// words is for our log alone.
type statusError struct {
	status int
	typ    string // error.type of the body; empty where it isn't Iceberg's error body
	words  string // type and message, without our secrets

	retryAfter time.Duration // how long it asked to be left alone
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the upstream answered %d", e.status) + e.words
}

// absent says whether the upstream itself said that what was asked for isn't there, in
// one of these types. A wrapped error is about a configuration or a token, whatever its type.
func absent(err error, types ...string) bool {
	s, ok := err.(*statusError) //nolint:errorlint // see above
	return ok && s.status == http.StatusNotFound && slices.Contains(types, s.typ)
}

// missing says whether the upstream itself said that there is no such object.
func (o object) missing(err error) bool {
	if errors.Is(err, errOtherName) {
		return true
	}
	if o.form == view {
		return absent(err, typeNoView, typeNoNamespace) || errors.Is(err, errNoViews)
	}
	return absent(err, typeNoTable, typeNoNamespace, typeNoIcebergTable)
}

func (o object) noun() string {
	if o.form == view {
		return "view"
	}
	return "table"
}

// failObject is the error of an operation on a table or view: nil stays nil.
func (c *Catalog) failObject(op string, o object, err error) error {
	name := o.id.String()
	switch {
	case o.missing(err) && o.form == view:
		return &mounts.Error{Kind: mounts.NoSuchView, Op: op, Name: name, Err: err}
	case absent(err, typeNoIcebergTable):
		return &mounts.Error{Kind: mounts.NoSuchTable, Op: op, Name: name, Detail: "Table does not exist: {name} is not an Iceberg table", Err: err}
	case o.missing(err):
		return &mounts.Error{Kind: mounts.NoSuchTable, Op: op, Name: name, Err: err}
	case absent(err, typeNoFile):
		return &mounts.Error{
			Kind: mounts.NotFound, Op: op, Name: name,
			Detail: "The metadata file of {name} is gone: the catalog behind " + guard.Describe(c.name) + " can't find it", Err: err,
		}
	}
	return c.fail(op, name, err)
}

// untypedMissing is a 404 of something that is no catalog: a route in between, or a
// prefix that isn't valid any more.
func untypedMissing(err error) bool {
	s, ok := err.(*statusError) //nolint:errorlint // as absent
	return ok && s.status == http.StatusNotFound && s.typ == ""
}

// fail is the error of an operation on an object: nil stays nil, an error of the guard keeps
// its kind and words. The detail names the mount, never the upstream's host or words.
func (c *Catalog) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*mounts.Error); ok { //nolint:errorlint // only the guard's own have words already
		named := *e
		named.Op, named.Name, named.Detail = op, name, guard.About(e.Detail, name)
		return &named
	}
	kind, text := classify(err)
	e := &mounts.Error{Kind: kind, Op: op, Name: name, Detail: guard.About("The catalog behind "+guard.Describe(c.name)+" "+text, name), Err: err}
	if s := (*statusError)(nil); errors.As(err, &s) {
		e.RetryAfter = s.retryAfter
	}
	return e
}

func classify(err error) (mounts.Kind, string) {
	var f *guard.Fault
	var s *statusError
	var timeout net.Error
	var panicked *cache.PanicError
	switch {
	case errors.As(err, &panicked):
		return mounts.Internal, "could not be asked: a fault in this server"
	case errors.As(err, &f):
		return f.Kind, f.Text
	case errors.As(err, &s):
		return s.classify()
	case errors.Is(err, context.Canceled):
		return mounts.Unavailable, "was not waited for: the request was given up"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return mounts.Timeout, "did not answer in time"
	}
	return mounts.Unavailable, "can't be reached right now"
}

func (e *statusError) classify() (mounts.Kind, string) {
	switch {
	case e.status == http.StatusUnauthorized || e.status == statusAuthTimeout:
		return mounts.Unavailable, "does not accept the mount's credential"
	case e.status == http.StatusForbidden:
		return mounts.Unavailable, "does not let the mount's credential do this"
	case e.status == http.StatusTooManyRequests:
		return mounts.Unavailable, "takes no more requests right now"
	case e.status == http.StatusRequestTimeout || e.status == http.StatusGatewayTimeout:
		return mounts.Timeout, "did not answer in time"
	case e.status >= 500:
		return mounts.Unavailable, "failed"
	case e.status >= 300 && e.status < 400:
		return mounts.BadGateway, "answered with a redirect, which is not followed"
	case e.status == http.StatusBadRequest && e.typ != "":
		// Its own rules for names are stricter than ours, or the page token is none of its.
		return mounts.BadRequest, "does not accept the name or the page token"
	}
	return mounts.BadGateway, "gave an answer that no catalog gives"
}

// statusAuthTimeout is 419, which the spec has for expired tokens.
const statusAuthTimeout = 419

// parseError reads an error body, {"error":{"message","type","code"}}. A body that is
// anything else, or whose code is another than the status, has no type: a proxy's 404 isn't
// an absence. Of a body that was cut nothing is read.
func parseError(status int, body []byte, hidden secrets) *statusError {
	e := &statusError{status: status}
	inner, ok, err := rawjson.Member(body, "error")
	if err != nil || !ok {
		return e
	}
	o, err := rawjson.ParseObject(inner)
	if err != nil {
		return e
	}
	get := func(key string) string {
		raw, _ := o.Get(key)
		s, _ := rawjson.String(raw)
		return strings.TrimSpace(s)
	}
	code, ok := o.Get("code")
	n, isInt := rawjson.Int(code)
	if !ok || isInt && n == int64(status) {
		e.typ = get("type")
	}
	// Quoted: it may have written anything.
	if e.typ != "" {
		e.words = fmt.Sprintf(" %q", hidden.redact(e.typ))
	}
	if message := get("message"); message != "" {
		e.words += fmt.Sprintf(": %q", hidden.redact(message))
	}
	return e
}
