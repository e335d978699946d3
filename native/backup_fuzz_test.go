package native

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"testing"
)

// The seeds lie in testdata/fuzz.

// FuzzBackup reads a file that may be a backup.
func FuzzBackup(f *testing.F) {
	f.Fuzz(func(t *testing.T, file []byte) {
		b, err := NewBackupReader(bytes.NewReader(file))
		for err == nil {
			_, err = b.Next()
		}
		knownBackupError(t, err)
	})
}

// FuzzBackupContent reads what may be inside a backup, with the sum that belongs to it. What
// is taken is written the same way again.
func FuzzBackupContent(f *testing.F) {
	f.Fuzz(func(t *testing.T, content []byte) {
		sum := sha256.Sum256(content)
		whole := append(bytes.Clone(content), sum[:]...)
		p := newBackupParser(bytes.NewReader(whole))
		err := p.readHeader()
		var recs []Record
		for err == nil {
			var r Record
			if r, err = p.next(); err == nil {
				recs = append(recs, r)
			}
		}
		knownBackupError(t, err)
		if !errors.Is(err, io.EOF) {
			return
		}
		var again bytes.Buffer
		w := &backupWriter{w: &again, sum: sha256.New()}
		err = w.header(p.header)
		for _, r := range recs {
			err = errors.Join(err, w.record(r))
		}
		if err = errors.Join(err, w.end()); err != nil || !bytes.Equal(again.Bytes(), whole) {
			t.Fatalf("%d records are written as %q, %v, and were read from %q", len(recs), again.Bytes(), err, whole)
		}
	})
}

func knownBackupError(t *testing.T, err error) {
	t.Helper()
	for _, known := range []error{io.EOF, ErrNoBackup, ErrBackupTruncated, ErrBackupDamaged, ErrBackupNewer} {
		if errors.Is(err, known) {
			return
		}
	}
	t.Fatalf("an error of no kind: %v", err)
}
