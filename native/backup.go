package native

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"
)

// Snapshotter is a Registry that can be read as a whole while it is written.
// registrytest.RunSnapshot holds every implementation to this.
type Snapshotter interface {
	// Snapshot calls each with every record, in the order of their keys, all of one state. It
	// is a state that holds every commit acknowledged before the call. Commits and reads go on
	// meanwhile; but what they replace takes room until the end, so each shouldn't dawdle.
	// The record belongs to each. nil means that each has had all records; any error,
	// which may be the context's or, as it is, one of each, that it may have had a part.
	Snapshot(ctx context.Context, each func(Record) error) error
}

// A backup is one gzip member, and nothing behind it, of
//
//	magic           backupMagic
//	format          2 bytes
//	made at         8 bytes, seconds since 1970
//	made by         1 byte of length, the release of Piedmont
//	records         each: 1 byte recordFollows, 2 bytes of length, key, 16 bytes of version,
//	                4 bytes of length, value
//	end             1 byte backupEnds, 8 bytes: how many records
//	sum             32 bytes, SHA-256 of all before
//
// Numbers are big-endian. Keys are in ascending order, none twice. There is one way to write
// down a state.
const (
	backupMagic   = "piedmont backup\n"
	backupFormat  = 1
	recordFollows = 'r'
	backupEnds    = 'e'
)

// BackupHeader says where a backup comes from.
type BackupHeader struct {
	MadeAt time.Time // in whole seconds
	MadeBy string    // the release of Piedmont, at most 255 bytes
}

// ErrRestoring is the error of a registry whose restore was begun and hasn't ended: what it
// holds is nothing to serve or back up.
var ErrRestoring = errors.New("a restore of this registry was begun and hasn't ended: run it again")

// WriteBackup writes one state of a registry to w, and returns how many records it has.
// The keys that tokens are signed with stay out: who reads a backup can't sign in by it.
// What was written when it fails is no backup: it lacks its end. Errors are those of Snapshot
// and of w, and ErrRestoring.
func WriteBackup(ctx context.Context, w io.Writer, r Snapshotter, h BackupHeader) (records uint64, err error) {
	packed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return 0, err
	}
	b := &backupWriter{w: packed, sum: sha256.New()}
	if err := b.header(h); err != nil {
		return 0, fmt.Errorf("write the backup's header: %w", err)
	}
	err = r.Snapshot(ctx, func(rec Record) error {
		switch {
		case rec.Key == restoreKey:
			return ErrRestoring
		case !backedUp(rec.Key):
			return nil
		}
		return b.record(rec)
	})
	if err != nil {
		return b.records, fmt.Errorf("back up the registry: %w", err)
	}
	if err := errors.Join(b.end(), packed.Close()); err != nil {
		return b.records, fmt.Errorf("write the backup's end: %w", err)
	}
	return b.records, nil
}

// backedUp says whether a backup has a record: not the keys that tokens are signed with, and
// not what only a restore under way has.
func backedUp(k Key) bool { return k != restoreKey && !strings.HasPrefix(string(k), kindSigningKey) }

// backupWriter writes what is inside the gzip member.
type backupWriter struct {
	w       io.Writer
	sum     hash.Hash
	records uint64
	buffer  []byte // of the last part
}

func (b *backupWriter) write(part []byte) error {
	b.sum.Write(part) // never fails
	_, err := b.w.Write(part)
	return err
}

func (b *backupWriter) header(h BackupHeader) error {
	part := binary.BigEndian.AppendUint16([]byte(backupMagic), backupFormat)
	part = binary.BigEndian.AppendUint64(part, uint64(h.MadeAt.Unix()))
	by := h.MadeBy[:min(len(h.MadeBy), 255)]
	return b.write(append(append(part, byte(len(by))), by...))
}

// record refuses what a reader would: a backup that can't be restored must not come about.
func (b *backupWriter) record(r Record) error {
	if len(r.Key) == 0 || len(r.Key) > MaxKeyBytes || len(r.Value) > MaxValueBytes {
		return fmt.Errorf("the record %.100q has a key of %d bytes and a value of %d", string(r.Key), len(r.Key), len(r.Value))
	}
	b.records++
	part := binary.BigEndian.AppendUint16(append(b.buffer[:0], recordFollows), uint16(len(r.Key)))
	part = append(append(part, r.Key...), r.Version[:]...)
	part = binary.BigEndian.AppendUint32(part, uint32(len(r.Value)))
	b.buffer = append(part, r.Value...)
	return b.write(b.buffer)
}

func (b *backupWriter) end() error {
	if err := b.write(binary.BigEndian.AppendUint64([]byte{backupEnds}, b.records)); err != nil {
		return err
	}
	_, err := b.w.Write(b.sum.Sum(nil))
	return err
}
