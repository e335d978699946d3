package native

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"
)

// Errors of reading a backup.
var (
	// ErrNoBackup: it is something else.
	ErrNoBackup = errors.New("this is no backup of Piedmont")
	// ErrBackupTruncated: it ends too early.
	ErrBackupTruncated = errors.New("the backup is cut off")
	// ErrBackupDamaged: bytes of it were changed, or follow its end.
	ErrBackupDamaged = errors.New("the backup is damaged")
	// ErrBackupNewer: a newer release made it, in a format that this one doesn't know.
	ErrBackupNewer = errors.New("the backup was made by a newer release")
)

// BackupReader reads a backup record by record. It holds one record at a time.
type BackupReader struct {
	file     *bufio.Reader
	unpacked *backupParser
}

// NewBackupReader reads the header of a backup. Errors: ErrNoBackup, ErrBackupTruncated,
// ErrBackupDamaged, ErrBackupNewer, or one of r.
func NewBackupReader(r io.Reader) (*BackupReader, error) {
	file := bufio.NewReaderSize(r, 64<<10)
	start, err := file.Peek(2)
	if err == nil && !bytes.Equal(start, []byte{0x1f, 0x8b}) {
		return nil, ErrNoBackup
	}
	if err != nil {
		return nil, backupError(err)
	}
	packed, err := gzip.NewReader(file)
	if err != nil {
		return nil, backupError(err)
	}
	packed.Multistream(false)
	b := &BackupReader{file: file, unpacked: newBackupParser(packed)}
	if err := b.unpacked.readHeader(); err != nil {
		return nil, err
	}
	return b, nil
}

// Header is what the backup says of itself.
func (b *BackupReader) Header() BackupHeader { return b.unpacked.header }

// Records is how many records were read.
func (b *BackupReader) Records() uint64 { return b.unpacked.records }

// Next reads the next record. io.EOF means that there are no more, and that the backup is
// whole and as it was made; only then may what was read be relied on. Other errors are those
// of NewBackupReader, and come again.
func (b *BackupReader) Next() (Record, error) {
	r, err := b.unpacked.next()
	if !errors.Is(err, io.EOF) {
		return r, err
	}
	switch _, err := b.file.Peek(1); {
	case err == nil:
		return Record{}, fmt.Errorf("%w: something follows its end", ErrBackupDamaged)
	case !errors.Is(err, io.EOF):
		return Record{}, backupError(err)
	}
	return Record{}, io.EOF
}

// backupError says what an error of reading means.
func backupError(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrBackupTruncated
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return fmt.Errorf("%w: %w", ErrBackupDamaged, err)
	}
	return fmt.Errorf("read the backup: %w", err)
}

// backupParser reads what is inside the gzip member. No length is believed before it was
// found to be within its bound.
type backupParser struct {
	in      *bufio.Reader
	sum     hash.Hash
	header  BackupHeader
	records uint64
	last    Key
	part    []byte // the last that take read
	err     error  // what came up, for good
}

func newBackupParser(r io.Reader) *backupParser {
	return &backupParser{in: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
}

// take reads n bytes, which are there until it is called again.
func (p *backupParser) take(n int) ([]byte, error) {
	if cap(p.part) < n {
		p.part = make([]byte, n)
	}
	return p.part[:n], p.fill(p.part[:n])
}

func (p *backupParser) fill(b []byte) error {
	if _, err := io.ReadFull(p.in, b); err != nil {
		return backupError(err)
	}
	p.sum.Write(b) // never fails
	return nil
}

func (p *backupParser) readHeader() error {
	magic, err := p.in.Peek(len(backupMagic))
	if !strings.HasPrefix(backupMagic, string(magic)) {
		return ErrNoBackup
	}
	if err != nil {
		return backupError(err)
	}
	head, err := p.take(len(backupMagic) + 2)
	if err != nil {
		return err
	}
	switch format := binary.BigEndian.Uint16(head[len(backupMagic):]); {
	case format > backupFormat:
		if _, err := io.Copy(io.Discard, p.in); err != nil {
			return backupError(err) // gzip's own sum: the format may be what was damaged
		}
		return fmt.Errorf("%w: it has format %d, this one knows up to %d", ErrBackupNewer, format, backupFormat)
	case format == 0:
		return fmt.Errorf("%w: it has format 0", ErrBackupDamaged)
	}
	head, err = p.take(9)
	if err != nil {
		return err
	}
	p.header.MadeAt = time.Unix(int64(binary.BigEndian.Uint64(head)), 0)
	by, err := p.take(int(head[8]))
	p.header.MadeBy = string(by)
	return err
}

// next is the next record; io.EOF is the end, with all that has to hold there.
func (p *backupParser) next() (r Record, err error) {
	if p.err == nil {
		r, p.err = p.parse()
	}
	return r, p.err
}

func (p *backupParser) parse() (Record, error) {
	tag, err := p.take(1)
	switch {
	case err != nil:
		return Record{}, err
	case tag[0] == backupEnds:
		return Record{}, p.end()
	case tag[0] != recordFollows:
		return Record{}, p.damaged("neither a record nor its end")
	}
	length, err := p.take(2)
	if err != nil {
		return Record{}, err
	}
	n := int(binary.BigEndian.Uint16(length))
	if n == 0 || n > MaxKeyBytes {
		return Record{}, p.damaged(fmt.Sprintf("a key of %d bytes", n))
	}
	head, err := p.take(n + len(Version{}) + 4)
	if err != nil {
		return Record{}, err
	}
	r := Record{Key: Key(head[:n]), Version: Version(head[n : n+len(Version{})])}
	if r.Key <= p.last {
		return Record{}, p.damaged("a key out of order")
	}
	size := binary.BigEndian.Uint32(head[n+len(Version{}):])
	if size > MaxValueBytes {
		return Record{}, p.damaged(fmt.Sprintf("a value of %d bytes", size))
	}
	r.Value = make([]byte, size)
	if err := p.fill(r.Value); err != nil {
		return Record{}, err
	}
	p.records, p.last = p.records+1, r.Key
	return r, nil
}

// end checks all that is known of the whole.
func (p *backupParser) end() error {
	b, err := p.take(8)
	if err != nil {
		return err
	}
	count, sum := binary.BigEndian.Uint64(b), p.sum.Sum(nil)
	told, err := p.take(len(sum))
	switch {
	case err != nil:
		return err
	case count != p.records:
		return p.damaged(fmt.Sprintf("an end that tells of %d", count))
	case !bytes.Equal(sum, told):
		return p.damaged("another checksum than its own")
	}
	switch _, err := p.in.Peek(1); { // gzip has a checksum too, behind the last byte
	case err == nil:
		return p.damaged("more than its end")
	case !errors.Is(err, io.EOF):
		return backupError(err)
	}
	return io.EOF
}

func (p *backupParser) damaged(found string) error {
	return fmt.Errorf("%w: behind %d records it holds %s", ErrBackupDamaged, p.records, found)
}
