package mounts

import (
	"errors"
	"strings"
	"time"
)

// Kind is what went wrong, as far as a caller must tell kinds apart. The router maps
// each to one HTTP status and one Iceberg error type; nothing else does.
type Kind uint8

// The kinds. Each comment says what the caller may conclude.
const (
	Internal           Kind = iota // the zero Kind: a fault of ours, nothing is known
	BadRequest                     // the request breaks a rule; nothing was done
	InvalidArgument                // as BadRequest, where clients know Java's IllegalArgumentException
	NotAuthorized                  // nobody, or a credential that isn't valid
	Forbidden                      // the caller is known and may not; nothing was done
	NoSuchWarehouse                // the ?warehouse= names nothing
	NoSuchNamespace                // the namespace surely doesn't exist
	NoSuchTable                    // the table surely doesn't exist
	NoSuchView                     // the view surely doesn't exist
	NotFound                       // a file that the catalog points to is surely gone
	Unsupported                    // this mount can't do that (406)
	AlreadyExists                  // the name is taken
	NamespaceNotEmpty              // the namespace holds something
	CommitFailed                   // a requirement doesn't hold or the swap was lost; surely nothing was done
	Unprocessable                  // well-formed, but contradicts itself (422)
	TooLarge                       // the request body is over the limit
	CommitStateUnknown             // perhaps done: the caller must not clean up
	BadGateway                     // an upstream answered what it should not
	Unavailable                    // surely not done; may be tried again
	Timeout                        // an upstream didn't answer in time
	Replayed                       // the receipt is there already: its outcome is the answer
)

var kindNames = [...]string{
	Internal: "internal error", BadRequest: "bad request", InvalidArgument: "invalid argument",
	NotAuthorized: "not authorized", Forbidden: "forbidden", NoSuchWarehouse: "no such warehouse",
	NoSuchNamespace: "no such namespace", NoSuchTable: "no such table", NoSuchView: "no such view",
	NotFound: "not found", Unsupported: "unsupported operation", AlreadyExists: "already exists",
	NamespaceNotEmpty: "namespace not empty", CommitFailed: "commit failed", Unprocessable: "unprocessable",
	TooLarge:           "request too large",
	CommitStateUnknown: "commit state unknown", BadGateway: "bad gateway", Unavailable: "unavailable", Timeout: "timeout", Replayed: "replayed",
}

// String is a short English name of the kind, for logs.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown kind"
}

// KindNamed is the kind with that String, Internal for an unknown one.
func KindNamed(name string) Kind {
	for k, n := range kindNames {
		if n == name {
			return Kind(k)
		}
	}
	return Internal
}

// Error is the one error type that crosses package borders. What may be shown to a
// client is Message alone, built from Detail, Op, Name and Other; Err is for our log
// and may hold hosts, paths or an upstream's own words.
type Error struct {
	Kind   Kind
	Op     string // what was attempted, an operationId of the spec or a few words: "loadTable"
	Name   string // the dotted name of the object, in the caller's tree
	Other  string // a second name: the target of a rename, the mount that refused
	Detail string // one safe sentence for the client, with {name} and {other} where those go; no secret, host or foreign text
	Err    error  // the cause: logged, never shown

	// Retryable: the refusal rests on a lost race and not on the request, which may pass when
	// it is sent again. So it isn't kept as the outcome of the request's receipt.
	Retryable bool
	// RetryAfter is how long the source asked to be left alone; 0 where it said nothing.
	RetryAfter time.Duration
}

// Error is the full text for logs, the cause included. Clients get Message.
func (e *Error) Error() string {
	var b strings.Builder
	for _, s := range []string{e.Op, e.Name, e.Other} {
		if s != "" {
			b.WriteString(s)
			b.WriteByte(' ')
		}
	}
	text := strings.TrimSuffix(b.String(), " ")
	if text != "" {
		text += ": "
	}
	text += e.Kind.String()
	if e.Detail != "" {
		text += ": " + e.Message()
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Message is the sentence a client sees. Where Detail is empty it is the wording that
// Iceberg's own clients and its compatibility kit expect of the kind.
func (e *Error) Message() string {
	if e.Detail != "" {
		return strings.NewReplacer("{name}", e.Name, "{other}", e.Other).Replace(e.Detail)
	}
	switch e.Kind {
	case NoSuchNamespace:
		return "Namespace does not exist: " + e.Name
	case NoSuchTable:
		return "Table does not exist: " + e.Name
	case NoSuchView:
		return "View does not exist: " + e.Name
	case NoSuchWarehouse:
		return "Warehouse does not exist: " + e.Name
	case NamespaceNotEmpty:
		return "Namespace " + e.Name + " is not empty"
	case Internal, BadRequest, InvalidArgument, NotAuthorized, Forbidden, NotFound, Unsupported, AlreadyExists, CommitFailed,
		Unprocessable, TooLarge, CommitStateUnknown, BadGateway, Unavailable, Timeout, Replayed:
	}
	s := e.Kind.String()
	if e.Name != "" {
		s += ": " + e.Name
	}
	if e.Other != "" {
		s += " (" + e.Other + ")"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Is says whether err is, or wraps, an *Error of that kind.
func Is(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}

// KindOf is the kind of the outermost *Error in err, and Internal for any other error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
