package router

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"piedmont/mounts"
)

// requestIDHeader names the request in our log and, where the client sends one, in its own.
const requestIDHeader = "X-Request-Id"

const maxRequestID = 128

// operation serves one operation to authenticated callers.
func (rt *Router) operation(op operation) http.HandlerFunc {
	observe := rt.metrics.of(op.id)
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{operation: op.id, commits: op.commits}
		rt.observed(w, r, c, observe, func(w http.ResponseWriter, r *http.Request) error {
			id, err := rt.authenticator.Credential(r.Context(), credential(r))
			if err != nil {
				return err
			}
			c.identity = id
			c.identity.Caller.NoCache = noCache(r.Header["Cache-Control"])
			if c.tree = rt.trees.Acquire(); c.tree == nil {
				return &mounts.Error{Kind: mounts.Unavailable, Op: op.id, Detail: "The server is stopping"}
			}
			defer c.tree.Release()
			if err := rt.enter(r, c); err != nil {
				return err
			}
			return c.warehouse.Restore(op.serve(rt, w, r, c))
		})
	}
}

// plain serves what needs no caller.
func (rt *Router) plain(id string, serve handler) http.HandlerFunc {
	observe := rt.metrics.of(id)
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{operation: id}
		rt.observed(w, r, c, observe, func(w http.ResponseWriter, r *http.Request) error { return serve(rt, w, r, c) })
	}
}

// observed names, counts and answers one request. A panic becomes a plain 500, on a commit
// one that says that the outcome is unknown.
func (rt *Router) observed(w http.ResponseWriter, r *http.Request, c *call, observe *operationMetrics, serve func(http.ResponseWriter, *http.Request) error) {
	start := time.Now()
	c.requestID = requestID(r)
	w.Header().Set(requestIDHeader, c.requestID)
	seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	defer func() { observe.done(seen.status, time.Since(start)) }()
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
				panic(p)
			}
			rt.fail(seen, r, c, &panicError{p, debug.Stack()})
		}
	}()
	if err := serve(seen, r); err != nil {
		rt.fail(seen, r, c, err)
	}
}

// panicError is a panic on its way to the log.
type panicError struct {
	value any
	stack []byte
}

// Error is for the log only.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// statusGone is counted and logged where the client left before its answer, as nginx does.
const statusGone = 499

// leftBy says whether the client of a request that failed had left, so that the failure is
// most likely its doing. A panic is ours all the same.
func leftBy(r *http.Request, err error) bool {
	var panicked *panicError
	return errors.Is(r.Context().Err(), context.Canceled) && !errors.As(err, &panicked)
}

// fail answers an error. Where the answer has begun already the connection is cut: half an
// answer must not look whole.
func (rt *Router) fail(w *statusWriter, r *http.Request, c *call, err error) {
	gone := leftBy(r, err)
	if w.begun {
		w.status = http.StatusInternalServerError
		if gone {
			w.status = statusGone
		}
		rt.logFailure(r, c, "answer cut off", w.status, err)
		panic(http.ErrAbortHandler)
	}
	e := asError(err)
	s := statusOf(e.Kind, c.commits)
	counted := s.code
	if gone {
		counted = statusGone
	}
	rt.logFailure(r, c, "request failed", counted, err)
	answerError(w, r, c, e, s)
	w.status = counted
}

// logFailure logs what went wrong: at level error where it is ours.
func (rt *Router) logFailure(r *http.Request, c *call, what string, status int, err error) {
	level := slog.LevelDebug
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	rt.log.LogAttrs(r.Context(), level, what, slog.String("request", c.requestID), slog.String("operation", c.operation),
		slog.String("principal", c.identity.Caller.Principal), slog.Int("status", status), slog.Any("error", err))
}

// statusWriter remembers what was answered.
type statusWriter struct {
	http.ResponseWriter
	status int // what is counted
	begun  bool
}

// WriteHeader passes the status on.
func (w *statusWriter) WriteHeader(code int) {
	w.status, w.begun = code, true
	w.ResponseWriter.WriteHeader(code)
}

// Write passes data on.
func (w *statusWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// credential is what a request carries: a bearer token, or X-Api-Key.
func credential(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(value)
	}
	return r.Header.Get("X-Api-Key")
}

// requestID is the client's own, where it is short and printable, or a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	if id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return id
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}
