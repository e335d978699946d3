package router

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"piedmont/mounts"
)

const idempotencyKeyHeader = "Idempotency-Key"

// receiptOf reads the request's Idempotency-Key; nil without one. Only UUIDs are taken, as
// the specification has it: anything shorter could be another client's too.
func receiptOf(r *http.Request, c *call, t mounts.Target, b []byte) (*mounts.Receipt, error) {
	text := r.Header.Get(idempotencyKeyHeader)
	if text == "" {
		return nil, nil
	}
	key, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return nil, &mounts.Error{Kind: mounts.BadRequest, Op: c.operation, Detail: "Invalid Idempotency-Key: want a UUID of 36 characters"}
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s\x00", c.operation, t.Path.Encode(), t.Name, r.URL.RawQuery) // a hash takes everything
	_, _ = h.Write(b)
	return &mounts.Receipt{Key: key, Fingerprint: [32]byte(h.Sum(nil))}, nil
}

// once carries out a mutation of t, once for each Idempotency-Key. Where it was carried out
// before, the outcome of that time is returned, or its refusal as the error; then do had
// no effect. A refusal is kept before it is returned.
func (rt *Router) once(r *http.Request, c *call, t mounts.Target, b []byte, do func() error) (*mounts.Outcome, error) {
	receipt, err := receiptOf(r, c, t, b)
	if err != nil {
		return nil, err
	}
	keeper := receiptKeeper(t)
	if receipt == nil || keeper == nil {
		return nil, do()
	}
	c.identity.Caller.Receipt = receipt
	err = do()
	var refusal *mounts.Error
	switch {
	case err == nil:
		return nil, nil
	case mounts.Is(err, mounts.Replayed):
		return replay(r, c, keeper)
	case errors.As(err, &refusal) && final(refusal.Kind) && !refusal.Retryable:
		if kept := keeper.KeepRefusal(r.Context(), c.identity.Caller, refusal); kept != nil {
			return rt.failed(r, c, keeper, kept)
		}
		return nil, err
	}
	return rt.failed(r, c, keeper, err)
}

// failed judges an error that says nothing of the first request under this key. That one
// may have been carried out: then an answer that says "surely nothing was done" would be
// a lie on which clients delete their files.
func (rt *Router) failed(r *http.Request, c *call, keeper mounts.ReceiptKeeper, err error) (*mounts.Outcome, error) {
	if mounts.Is(err, mounts.CommitStateUnknown) {
		return nil, err
	}
	if mounts.Is(err, mounts.Replayed) {
		return replay(r, c, keeper)
	}
	_, done, readErr := keeper.Outcome(r.Context(), c.identity.Caller)
	switch {
	case readErr != nil:
		return nil, unknownOutcome(c, errors.Join(err, readErr))
	case done:
		return replay(r, c, keeper)
	}
	return nil, err
}

func unknownOutcome(c *call, err error) error {
	return &mounts.Error{
		Kind: mounts.CommitStateUnknown, Op: c.operation,
		Detail: "It is unknown what the first request with this Idempotency-Key came to", Err: err,
	}
}

func receiptKeeper(t mounts.Target) mounts.ReceiptKeeper {
	if t.Point == nil {
		return nil
	}
	keeper, _ := t.Point.Mount.(mounts.ReceiptKeeper)
	return keeper
}

// replay reads what the caller's receipt came to. The same key for another request is a
// mistake that must not look like a conflict: clients delete their files after a 409.
func replay(r *http.Request, c *call, keeper mounts.ReceiptKeeper) (*mounts.Outcome, error) {
	o, ok, err := keeper.Outcome(r.Context(), c.identity.Caller)
	switch {
	case err != nil || !ok: // not readable, or just expired
		return nil, unknownOutcome(c, err)
	case o.Fingerprint != c.identity.Caller.Receipt.Fingerprint:
		return nil, &mounts.Error{Kind: mounts.Unprocessable, Op: c.operation, Detail: "The Idempotency-Key was used for another request"}
	case o.Refusal != nil:
		return nil, o.Refusal
	}
	return &o, nil
}

// final says whether a refusal is the same each time, so that it is kept. Whatever may pass
// when tried again isn't, nor what a mount can't do, which another configuration can.
func final(k mounts.Kind) bool {
	switch k {
	case mounts.BadRequest, mounts.InvalidArgument, mounts.NoSuchNamespace, mounts.NoSuchTable, mounts.NoSuchView,
		mounts.AlreadyExists, mounts.NamespaceNotEmpty, mounts.CommitFailed, mounts.Unprocessable:
		return true
	default:
		return false
	}
}

// onceTable is once for a mutation that is answered with a table.
func (rt *Router) onceTable(r *http.Request, c *call, t mounts.Target, b []byte, do func() (*mounts.Table, error)) (*mounts.Table, error) {
	var table *mounts.Table
	o, err := rt.once(r, c, t, b, func() (err error) {
		table, err = do()
		return err
	})
	if err != nil || o == nil {
		return table, err
	}
	table, err = receiptKeeper(t).TableAt(r.Context(), o.MetadataLocation)
	if err != nil {
		return nil, unknownOutcome(c, err) // it was done: no error of ours may say otherwise
	}
	return table, nil
}

// keyLifetime is the idempotency-key-lifetime to advertise, an ISO 8601 duration; empty where
// no mount of the view keeps receipts.
func keyLifetime(t *mounts.Tree, view mounts.Warehouse) string {
	for _, p := range t.Points() {
		if k, ok := p.Mount.(mounts.ReceiptKeeper); ok && p.At.HasPrefix(view.At) {
			return fmt.Sprintf("PT%dM", k.ReceiptLifetime()/time.Minute)
		}
	}
	return ""
}
