package mounts

import (
	"context"
	"time"
)

// Receipt names one mutation of a caller, by the client's Idempotency-Key, so that the same
// request sent again is carried out once and answered as the first time.
type Receipt struct {
	// Key is the client's UUID.
	Key [16]byte
	// Fingerprint is a digest of what was asked: operation, canonical names and body. The
	// same key with another fingerprint is a mistake of the client's.
	Fingerprint [32]byte
}

// Outcome is what a mutation came to, as far as repeating the answer needs it.
type Outcome struct {
	Fingerprint [32]byte
	// Refusal is the error that was answered; nil for success. Its Err is not kept.
	Refusal *Error
	// MetadataLocation is that of the table that the change made, where it made one.
	MetadataLocation string
	// Properties are those of an UpdateProperties.
	Properties *PropertiesUpdate
}

// ReceiptKeeper is a mount that keeps receipts. Its mutations look at Caller.Receipt: where
// there is one, the change and the receipt are stored together or not at all, and a
// receipt that is there already makes the mutation fail with Replayed, having done nothing.
type ReceiptKeeper interface {
	// ReceiptLifetime is how long a receipt is kept at least.
	ReceiptLifetime() time.Duration
	// Outcome reads what the caller's receipt came to; ok is false where it is unknown.
	Outcome(ctx context.Context, c Caller) (o Outcome, ok bool, err error)
	// KeepRefusal stores that the caller's mutation was refused. Where the receipt is there
	// already it fails with Replayed.
	KeepRefusal(ctx context.Context, c Caller, refusal *Error) error
	// TableAt is the table that an outcome speaks of, whatever became of it since.
	TableAt(ctx context.Context, metadataLocation string) (*Table, error)
}
