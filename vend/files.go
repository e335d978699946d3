// Package vend gives access to storage. A storage profile is a location prefix with the
// means to reach it; a Set is the profiles that one mount may use. Through a profile's
// Files we read and write metadata ourselves, never data.
package vend

import (
	"context"
	"errors"
	"fmt"

	"piedmont/mounts"
)

// Files reads and writes files of one storage profile. All methods may be called at
// once. Errors are, or wrap, a *mounts.Error whose Detail holds no host and no secret:
//
//   - BadRequest: the location isn't under the profile's prefix or can't name a file;
//   - Unavailable: the storage failed, refused us or didn't answer, or the context ended.
//     A refusal is no absence, and nothing was surely read or written;
//   - those that each method adds.
type Files interface {
	// Read gives a whole file of at most limit bytes. It adds NotFound, only where the
	// storage itself says that there is no such file, and Internal wrapping ErrTooLarge
	// for a file over the limit.
	Read(ctx context.Context, l Location, limit int64) ([]byte, error)

	// Create makes a new file with exactly this content. Once it returns nil the file
	// survives a crash of the machine; at no time is part of it visible under its name.
	// Each error wraps exactly one of ErrExists (of kind AlreadyExists), ErrNotWritten and
	// ErrUnknown. It makes the directories it needs below the prefix. After an error data must not be
	// changed: a request may still be reading it.
	Create(ctx context.Context, l Location, data []byte) error

	// Delete removes a file. That there is none is no error.
	Delete(ctx context.Context, l Location) error
}

// Stater is what Files has besides where files can vanish by hand and asking is cheap:
// only a local disk. A cached document is served there only while its file exists.
type Stater interface {
	// Stat returns nil where the file exists, else Read's errors.
	Stat(ctx context.Context, l Location) error
}

// What became of the file that Create was asked for.
var (
	// ErrExists: something of that name was there already and is untouched.
	ErrExists = errors.New("exists already")
	// ErrNotWritten: surely no file of that name was made.
	ErrNotWritten = errors.New("surely not written")
	// ErrUnknown: perhaps the file was made, or will be: a request may still be on its way.
	ErrUnknown = errors.New("perhaps written")
)

// ErrTooLarge is what Read wraps for a file over its limit.
var ErrTooLarge = errors.New("file is too large")

// NotFound is the error for a file that is surely gone. The wording is Iceberg's own, by
// which clients and its compatibility kit know the case.
func NotFound(l Location, cause error) error {
	return &mounts.Error{
		Kind: mounts.NotFound, Op: "read file",
		Detail: "Failed to open input stream for file: " + l.Verbatim(), Err: cause,
	}
}

// Unavailable is the error for a storage profile that failed. reason follows "storage
// profile 'x' " in what a client sees, so it must be a fixed text of ours.
func Unavailable(op, profile, reason string, cause error) error {
	return &mounts.Error{
		Kind: mounts.Unavailable, Op: op,
		Detail: fmt.Sprintf("storage profile '%s' %s", profile, reason), Err: cause,
	}
}

// ErrRefused is what an error wraps where the storage refused access.
var ErrRefused = errors.New("access refused")

// Refused is the Unavailable of a storage that refused access.
func Refused(op, profile string, cause error) error {
	return Unavailable(op, profile, "was refused access", fmt.Errorf("%w: %w", ErrRefused, cause))
}

// TooLarge is the error for a file over the limit of a Read.
func TooLarge(l Location, limit int64) error {
	return &mounts.Error{
		Kind: mounts.Internal, Op: "read file",
		Detail: fmt.Sprintf("File is larger than %d bytes: %s", limit, l.Verbatim()), Err: ErrTooLarge,
	}
}

// Exists is the error of a Create whose name is taken.
func Exists(l Location, cause error) error {
	return &mounts.Error{
		Kind: mounts.AlreadyExists, Op: "create file",
		Detail: "File already exists: " + l.Verbatim(), Err: Outcome(ErrExists, cause),
	}
}

// Outcome is a cause that says also what became of a Create: one of ErrExists,
// ErrNotWritten and ErrUnknown.
func Outcome(outcome, cause error) error {
	if cause == nil {
		return outcome
	}
	return fmt.Errorf("%w: %w", outcome, cause)
}

// CheckFile verifies that l can name a file under prefix: what every method of Files
// does first. The error is a BadRequest.
func CheckFile(prefix, l Location) error {
	switch {
	case !l.Under(prefix):
		return refuse(l.Verbatim(), "it lies outside of its storage profile")
	case l.IsDir() || l.Equal(prefix):
		return refuse(l.Verbatim(), "it names a directory, not a file")
	}
	return nil
}
