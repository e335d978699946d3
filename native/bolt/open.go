package bolt

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	// reservedBytes is the address space taken for the file, and so the least it can
	// grow to. It costs no memory: a page counts once it is read.
	reservedBytes = 16 << 30
	// creationBytes is the size bbolt gives a new file in its first write.
	creationBytes = 4 * 4096
	// FormatVersion is the newest layout that this code reads, and the one it writes. It changes
	// also where records come to mean something that older code would misread.
	FormatVersion = 1
	// formatMagic tells a registry from any other bbolt file.
	formatMagic = "piedmont registry"
)

// The names of the two buckets, and of what the first holds.
const (
	aboutBucket   = "piedmont"
	recordsBucket = "records"
	aboutMagic    = "magic"
	aboutFormat   = "format"
)

// open does what Open does, except that it starts no writer.
func open(path string, o Options, reserve int) (_ *Registry, err error) {
	r := &Registry{
		path: path, queue: newQueue(), finished: make(chan struct{}),
		commit: (*bbolt.Tx).Commit,
	}
	defer func() {
		if err != nil {
			r.abandon(err)
		}
	}()
	if err := r.openFile(o, reserve); err != nil {
		return nil, explain(path, err)
	}
	if err := r.checkFormat(); err != nil {
		return nil, err
	}
	// The entry of a new file isn't durable by a sync of the file.
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	s, err := r.snapshot()
	if err != nil {
		return nil, err
	}
	r.current.Store(s)
	return r, nil
}

// abandon frees the file after Open failed with err. Where that may have been a panic
// bbolt's locks can't be relied on, so that only the file is closed.
func (r *Registry) abandon(err error) {
	r.wedged = errors.Is(err, ErrDamaged)
	if r.db != nil || r.wedged && r.file != nil {
		_ = r.release() // it may be closed already, and err is what matters
	}
}

// openFile opens the bbolt file, locked. bbolt panics on some damages: that is an error here.
func (r *Registry) openFile(o Options, reserve int) (err error) {
	defer recovered(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))

	if info, err := os.Stat(r.path); err == nil && info.Size() > int64(reserve)/2 {
		reserve = 2 * int(info.Size()) // so that a restart makes room
	}
	db, err := bbolt.Open(r.path, 0o600, &bbolt.Options{
		Timeout:      cmp.Or(o.LockTimeout, time.Second),
		FreelistType: bbolt.FreelistMapType,
		NoStatistics: true,
		// Reads hold a snapshot at all times, so the mapping can't be moved: the file
		// must never outgrow it. MaxSize makes bbolt refuse instead of wait for ever.
		InitialMmapSize: reserve,
		MaxSize:         reserve,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag, mode)
			if err != nil {
				return nil, err
			}
			r.file = f
			return f, settle(f)
		},
	})
	if err != nil {
		return err
	}
	r.db = db
	return nil
}

// settle makes what is about to be read durable: a process that was killed may have
// left its last commit in the page cache only. And after a failed sync the kernel keeps
// pages that it couldn't write and calls them clean; forgetting them lets us read what
// the disk holds.
func settle(f *os.File) error {
	if err := f.Sync(); err != nil {
		return err
	}
	return forgetCached(f)
}

// explain gives bbolt's errors of opening our names.
func explain(path string, err error) error {
	if errors.Is(err, berrors.ErrTimeout) {
		return ErrLocked
	}
	if errors.As(err, new(syscall.Errno)) {
		return err
	}
	if info, statErr := os.Stat(path); statErr == nil && info.Size() > 0 && info.Size() <= creationBytes {
		return fmt.Errorf("%w: it has %d bytes, as if its creation was cut short (then it never held anything and can be removed) or it was truncated: %w",
			ErrDamaged, info.Size(), err)
	}
	for _, invalid := range []error{berrors.ErrInvalid, berrors.ErrVersionMismatch, berrors.ErrChecksum} {
		if errors.Is(err, invalid) {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return err
}

// checkFormat refuses a file that is cut off, foreign or too new, and lays out an empty one.
func (r *Registry) checkFormat() (err error) {
	defer recovered(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))

	empty := false
	err = r.db.View(func(tx *bbolt.Tx) error {
		info, err := r.file.Stat()
		if err != nil {
			return err
		}
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: it has %d bytes of %d", ErrDamaged, info.Size(), tx.Size())
		}
		if k, _ := tx.Cursor().First(); k == nil {
			empty = true
			return nil
		}
		return checkAbout(tx)
	})
	if err != nil || !empty {
		return err
	}
	return r.db.Update(layOut)
}

// checkAbout reads what the file says about itself.
func checkAbout(tx *bbolt.Tx) error {
	about := tx.Bucket([]byte(aboutBucket))
	if about == nil || string(about.Get([]byte(aboutMagic))) != formatMagic {
		return fmt.Errorf("%w: it is a bbolt file of something else", ErrDamaged)
	}
	version := about.Get([]byte(aboutFormat))
	if len(version) != 4 {
		return fmt.Errorf("%w: its format version has %d bytes", ErrDamaged, len(version))
	}
	if v := binary.BigEndian.Uint32(version); v > FormatVersion {
		return fmt.Errorf("%w: it has format %d, this one knows up to %d", ErrNewerFormat, v, FormatVersion)
	}
	if tx.Bucket([]byte(recordsBucket)) == nil {
		return fmt.Errorf("%w: it has no records bucket", ErrDamaged)
	}
	return nil
}

// layOut makes an empty bbolt file a registry.
func layOut(tx *bbolt.Tx) error {
	about, err := tx.CreateBucket([]byte(aboutBucket))
	if err != nil {
		return err
	}
	if err := about.Put([]byte(aboutMagic), []byte(formatMagic)); err != nil {
		return err
	}
	if err := about.Put([]byte(aboutFormat), binary.BigEndian.AppendUint32(nil, FormatVersion)); err != nil {
		return err
	}
	_, err = tx.CreateBucket([]byte(recordsBucket))
	return err
}

// syncFolder makes the folder's entries durable.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// recovered turns a panic of bbolt, or a fault in the mapped file, into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrDamaged, p)
	}
}
