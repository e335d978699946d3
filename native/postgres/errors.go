package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// Codes that the server gives errors.
const (
	codeDivisionByZero       = "22012" // how our statements say that something doesn't hold
	codeUniqueViolation      = "23505"
	codeFailedTransaction    = "25P02"
	codeSerializationFailure = "40001"
	codeDeadlock             = "40P01"
	codeOutcomeUnknown       = "40003" // of distributed engines
	codeUndefinedColumn      = "42703"
	codeUndefinedTable       = "42P01"
	codeDuplicateTable       = "42P07"
	codeDuplicateObject      = "42710"
)

// code is the server's code for an error, "" for one that isn't the server's.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// refused tells whether the server answered a statement with an error that undid its
// transaction and left the connection usable. An error that ends the connection may
// arrive when the transaction is over already, so it isn't one.
func refused(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.SeverityUnlocalized == "ERROR"
}

// collided tells whether the server undid a transaction because of another one, so that
// the same transaction may well pass when it is tried again.
func collided(err error) bool {
	c := code(err)
	return c == codeSerializationFailure || c == codeDeadlock
}

// duplicate tells whether something couldn't be made because it is there already.
func duplicate(err error) bool {
	switch code(err) {
	case codeUniqueViolation, codeDuplicateTable, codeDuplicateObject:
		return true
	}
	return false
}

// lost tells whether a connection broke or couldn't be used, so that another may do.
func lost(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return !refused(err)
}

// databaseError shows what went wrong without the URL, of which the driver's texts hold
// parts: host, user, database.
type databaseError struct {
	text string
	err  error
}

func (e *databaseError) Error() string { return e.text }

func (e *databaseError) Unwrap() error { return e.err }

// database is err with a text that is fit for a log.
func database(err error) error {
	if err == nil {
		return nil
	}
	return &databaseError{text: describe(err), err: err}
}

func describe(err error) string {
	var (
		server *pgconn.PgError
		errno  syscall.Errno
		dns    *net.DNSError
		netErr net.Error
		cert   *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &server):
		return "the database answered: " + server.Message + " (SQLSTATE " + server.Code + ")"
	case errors.Is(err, context.Canceled):
		return context.Canceled.Error()
	case errors.As(err, &cert):
		return "the database's certificate doesn't verify"
	case errors.As(err, &dns):
		return "the database's host name can't be resolved"
	case errors.As(err, &errno):
		return "the database can't be reached: " + errno.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return "the database didn't answer in time"
	}
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		return "a connection to the database can't be made: it may be that only one side wants TLS"
	}
	return "the connection to the database broke"
}
