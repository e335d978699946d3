package vend

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"piedmont/cache"
	"piedmont/mounts"
)

// MaxMetadataBytes bounds a metadata file, and what it unpacks to.
const MaxMetadataBytes = 256 << 20

// Documents caches metadata documents by storage profile and canonical location. Mounts
// share one.
type Documents = cache.Cache[DocumentKey, *cache.Document]

// DocumentKey names one immutable metadata file.
type DocumentKey struct{ Profile, Location string }

// NewDocuments makes a cache of at most maxBytes.
func NewDocuments(maxBytes int64) *Documents {
	return cache.New(maxBytes, func(_ DocumentKey, d *cache.Document) int64 { return d.Size() })
}

// IsImmutable says whether a metadata file may be served from a cache: its name holds a
// UUID. Others are read anew each time.
func IsImmutable(l Location) bool { return cache.Immutable(l.String()) }

// ReadDocument reads a metadata document through the cache, or, where that is nil, from the
// storage itself; callers who ask a cache for one file at the same time share the reading. Errors are those of Files.Read, and an Internal
// *mounts.Error for a file that isn't exactly one JSON object, or that gives one unpacked.
func ReadDocument(ctx context.Context, documents *Documents, p *Profile, l Location) (*cache.Document, error) {
	read := func(ctx context.Context) (*cache.Document, error) { return readDocument(ctx, p, l) }
	if documents == nil || !IsImmutable(l) {
		return read(ctx)
	}
	return documents.Do(ctx, DocumentKey{Profile: p.Name, Location: l.String()}, read)
}

func readDocument(ctx context.Context, p *Profile, l Location) (*cache.Document, error) {
	raw, err := p.Files.Read(ctx, l, MaxMetadataBytes)
	if err != nil {
		return nil, err
	}
	if raw, err = unpack(raw); err == nil {
		var d *cache.Document
		if d, err = cache.NewDocument(raw); err == nil {
			return d, nil
		}
	}
	return nil, &mounts.Error{
		Kind: mounts.Internal, Op: "read metadata file",
		Detail: "Not a metadata document: " + l.Verbatim(), Err: err,
	}
}

// unpack opens a gzipped file, known by its first bytes: names differ (.gz.metadata.json,
// .metadata.json.gz, and old writers' plain .metadata.json).
func unpack(raw []byte) ([]byte, error) {
	if len(raw) < 2 || raw[0] != 0x1f || raw[1] != 0x8b {
		return raw, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("unpack metadata: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, MaxMetadataBytes+1))
	if err != nil {
		return nil, fmt.Errorf("unpack metadata: %w", err)
	}
	if len(plain) > MaxMetadataBytes {
		return nil, errors.New("unpack metadata: larger than 256 MiB")
	}
	return plain, nil
}

// Refs is a document with only the snapshots that its branches and tags name.
func Refs(d *cache.Document) (mounts.Document, error) {
	reduced, err := d.Refs()
	if err != nil {
		return nil, &mounts.Error{Kind: mounts.Internal, Op: "reduce to refs", Detail: "The metadata document's snapshots can't be read", Err: err}
	}
	return reduced, nil
}
