package hive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"
	hms "github.com/beltran/gohive/hive_metastore"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

var (
	errNoResult  = errors.New("an answer without a result")
	errOtherName = errors.New("the metastore has something of another name there")
)

// said tells whether the metastore itself spoke: one of its own exceptions, or Thrift's
// that it has no such call or failed inside. The connection is as good as before then.
func said(err error) bool {
	var e thrift.TException
	if !errors.As(err, &e) {
		return false
	}
	if a, ok := e.(thrift.TApplicationException); ok {
		return a.TypeId() == thrift.UNKNOWN_METHOD || a.TypeId() == thrift.INTERNAL_ERROR
	}
	return e.TExceptionType() == thrift.TExceptionTypeCompiled
}

// unknownMethod says whether the metastore has no such call.
func unknownMethod(err error) bool {
	var a thrift.TApplicationException
	return errors.As(err, &a) && a.TypeId() == thrift.UNKNOWN_METHOD
}

// absent says whether the metastore itself said that what was asked for isn't there.
func absent(err error) bool {
	var f *guard.Fault
	var object *hms.NoSuchObjectException
	var database *hms.UnknownDBException
	return !errors.As(err, &f) && (errors.As(err, &object) || errors.As(err, &database) || errors.Is(err, errOtherName))
}

// doubted is an answer to get_database, whose error in the metastore's code can only be
// NoSuchObjectException: where the metastore couldn't ask its own database it says that too,
// with the cause behind the name. That is no absence.
func doubted(name string, err error) error {
	var e *hms.NoSuchObjectException
	if errors.As(err, &e) && strings.Contains(e.Message, name+": ") {
		return &guard.Fault{Kind: mounts.Unavailable, Text: "failed", Err: err}
	}
	return err
}

// fail is the error of an operation on what name names: nil stays nil. What the metastore
// said isn't there is of the kind absence. The detail names the mount, never a host or
// the metastore's words.
func (s *Source) fail(op, name string, absence mounts.Kind, err error) error {
	if err == nil {
		return nil
	}
	if e := (*mounts.Error)(nil); errors.As(err, &e) {
		return err
	}
	if absent(err) {
		return &mounts.Error{Kind: absence, Op: op, Name: name, Err: err}
	}
	kind, text := classify(err)
	return &mounts.Error{Kind: kind, Op: op, Name: name, Detail: "The catalog behind " + describe(s.name) + " " + text, Err: err}
}

func classify(err error) (mounts.Kind, string) {
	var f *guard.Fault
	switch {
	case errors.As(err, &f):
		return f.Kind, f.Text
	case errors.Is(err, context.Canceled):
		return mounts.Unavailable, "was not waited for: the request was given up"
	case errors.Is(err, context.DeadlineExceeded):
		return mounts.Timeout, "did not answer in time"
	case unknownMethod(err):
		return mounts.BadGateway, "lacks a call that Hive Metastores have since version 2.3"
	case said(err):
		return mounts.Unavailable, "failed"
	}
	return mounts.Unavailable, "can't be reached right now"
}

// ended is why a call ended that the metastore didn't answer well: because of the context,
// of the connection, or of what came over it.
func (c *session) ended(ctx context.Context, err error) error {
	below := c.transport.fault
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("ask the metastore: %w (%w)", ctx.Err(), err)
	case errors.Is(below, errTooLarge):
		return guard.Broken("gave an answer that is too large", err)
	case below != nil:
		return fmt.Errorf("ask the metastore: %w", below)
	}
	return guard.Broken("gave an answer that no metastore gives", err)
}

// timedOut says whether a read ended by the connection's own deadline.
func timedOut(err error) bool {
	var e net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &e) && e.Timeout()
}

// unexpected makes an EOF in the middle of something one that says so.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
