package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"piedmont/native"
)

func answered(severity, code string) error {
	return fmt.Errorf("a statement: %w", &pgconn.PgError{SeverityUnlocalized: severity, Code: code, Message: "said the server"})
}

// unsent is an error of before anything was sent.
type unsent struct{}

func (unsent) Error() string { return "unsent" }

func (unsent) SafeToRetry() bool { return true }

// TestSurelyUndone: whatever isn't surely undone is asked about.
func TestSurelyUndone(t *testing.T) {
	const last = 4 // COMMIT
	for name, c := range map[string]struct {
		err  error
		at   int
		want bool
	}{
		"a condition":               {answered("ERROR", "22012"), 2, true},
		"canceled":                  {answered("ERROR", "57014"), 1, true},
		"canceled at COMMIT":        {answered("ERROR", "57014"), last, false},
		"deadlock":                  {answered("ERROR", "40P01"), 3, true},
		"serialization":             {answered("ERROR", "40001"), 3, true},
		"serialization at COMMIT":   {answered("ERROR", "40001"), last, true},
		"ambiguous at COMMIT":       {answered("ERROR", "40003"), last, false},
		"ambiguous":                 {answered("ERROR", "40003"), 1, false},
		"unknown error at COMMIT":   {answered("ERROR", "XX000"), last, false},
		"shut down":                 {answered("FATAL", "57P01"), 3, false},
		"shut down at COMMIT":       {answered("FATAL", "57P01"), last, false},
		"crash":                     {answered("FATAL", "57P02"), 0, false},
		"connection broke":          {fmt.Errorf("read: %w", syscall.ECONNRESET), 0, false},
		"connection broke at last":  {io.ErrUnexpectedEOF, last, false},
		"timeout":                   {context.DeadlineExceeded, 0, false},
		"nothing sent":              {fmt.Errorf("x: %w", unsent{}), 0, true},
		"nothing sent, says COMMIT": {unsent{}, last, true},
	} {
		if got := surelyUndone(c.err, c.at, last); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestFaultOf(t *testing.T) {
	for name, c := range map[string]struct {
		step step
		err  error
		want fault
	}{
		"condition":         {step{sql: swapSQL, fault: condition}, answered("ERROR", "22012"), condition},
		"duplicate":         {step{sql: insertSQL, fault: condition}, answered("ERROR", "23505"), condition},
		"nothing to delete": {step{sql: deleteOneSQL, fault: missing}, answered("ERROR", "22012"), missing},
		"other duplicate":   {step{sql: receiptSQL}, answered("ERROR", "23505"), unexpected},
		"collision":         {step{sql: swapSQL, fault: condition}, answered("ERROR", "40001"), unexpected},
		"full":              {step{sql: insertSQL, fault: condition}, answered("ERROR", "53100"), unexpected},
	} {
		if got := faultOf([]step{c.step}, 0, c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"reset":        {syscall.ECONNRESET, true},
		"end":          {io.EOF, true},
		"shut down":    {answered("FATAL", "57P01"), true},
		"an error":     {answered("ERROR", "42P01"), false},
		"caller left":  {fmt.Errorf("x: %w", context.Canceled), false},
		"out of time":  {fmt.Errorf("x: %w", context.DeadlineExceeded), false},
		"nothing sent": {unsent{}, true},
	} {
		if got := lost(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestOneOutcome: each error of a Commit is one of the three.
func TestOneOutcome(t *testing.T) {
	cause := database(fmt.Errorf("dial hush: %w", syscall.ECONNREFUSED))
	for want, err := range map[error]error{native.ErrNotApplied: notApplied(cause), native.ErrUnknown: unknown(cause)} {
		for _, kind := range []error{native.ErrConflict, native.ErrNotApplied, native.ErrUnknown} {
			if errors.Is(err, kind) != errors.Is(want, kind) {
				t.Errorf("%v is %v: %v", err, kind, errors.Is(err, kind))
			}
		}
		if !errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "hush") {
			t.Errorf("error is %v", err)
		}
	}
	if database(nil) != nil {
		t.Error("no error became one")
	}
}

func TestCheck(t *testing.T) {
	long := native.Key(strings.Repeat("k", native.MaxKeyBytes+1))
	for name, c := range map[string]struct {
		conditions []native.Condition
		changes    []native.Change
	}{
		"long condition":    {conditions: []native.Condition{{Kind: native.Absent, Key: long}}},
		"unknown condition": {conditions: []native.Condition{{Kind: native.PrefixEmpty + 1}}},
		"long change":       {changes: []native.Change{{Key: long}}},
		"empty key":         {changes: []native.Change{{}}},
		"large value":       {changes: []native.Change{{Key: "a", Value: make([]byte, native.MaxValueBytes+1)}}},
		"twice":             {changes: []native.Change{{Key: "a"}, {Key: "a", Delete: true}}},
		"many":              {changes: make([]native.Change, native.MaxChanges+1)},
	} {
		if err := check(c.conditions, c.changes); err == nil || len(err.Error()) > 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := check(nil, nil); err != nil {
		t.Error(err)
	}
}

// TestBackoff stays within its bound, however many tries there were.
func TestBackoff(t *testing.T) {
	for try := range 200 {
		if b := backoff(try); b < 0 || b > 128*1e6 {
			t.Fatalf("after %d tries: %v", try, b)
		}
	}
}
