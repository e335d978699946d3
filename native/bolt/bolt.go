// Package bolt keeps a registry in one bbolt file on a local disk, for a catalog that
// one process serves. DESIGN.md says how and why.
package bolt

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"piedmont/native"
)

// Errors of Open and of reads. Each comes wrapped in what was attempted and on which file.
var (
	// ErrLocked: another process holds the file.
	ErrLocked = errors.New("another process holds the file")
	// ErrDamaged: the file isn't a registry, or bytes of it are lost or changed.
	ErrDamaged = errors.New("the file is damaged or no registry")
	// ErrNewerFormat: the file was written by a newer release.
	ErrNewerFormat = errors.New("the file was written by a newer release")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the registry is closed")
)

// Options are the choices of Open. The zero Options are good.
type Options struct {
	// LockTimeout is how long Open waits for another process to let go of the file; 0
	// means a second.
	LockTimeout time.Duration
}

// Registry is a native.Registry in one file. Open makes one.
type Registry struct {
	path string
	db   *bbolt.DB
	file *os.File // db's own, for what bbolt doesn't do

	current  atomic.Pointer[snapshot] // what reads see, never nil
	queue    *queue
	finished chan struct{} // closed when the writer has ended

	// Owned by the writer until it has finished.
	broken error // why nothing is written any more
	wedged bool  // bbolt panicked: its locks may never be free again
	commit func(*bbolt.Tx) error

	dead     atomic.Pointer[error] // broken, for everybody to read
	closing  sync.Once
	closeErr error
}

var _ native.Registry = (*Registry)(nil)

// Open opens the registry in the file at path and creates it, readable by its owner
// alone, where there is none; the folder must exist. It holds the file's lock until
// Close. Errors: ErrLocked, ErrDamaged, ErrNewerFormat, or one of the file system.
func Open(path string, o Options) (*Registry, error) {
	r, err := open(path, o, reservedBytes)
	if err != nil {
		return nil, fmt.Errorf("open registry %s: %w", path, err)
	}
	go r.write()
	return r, nil
}

// Writable is nil unless an error made the registry stop writing for good: then every Commit
// fails until the file is opened anew, and a server that still reads is worth a restart.
func (r *Registry) Writable() error {
	if err := r.dead.Load(); err != nil {
		return *err
	}
	return nil
}

// stop keeps the writer from writing anything more.
func (r *Registry) stop(err error) {
	r.broken = err
	r.dead.Store(&err)
}

// Close refuses new commits, waits for those handed in and for reads under way, and
// frees the file. Closing again gives the first answer.
func (r *Registry) Close() error {
	r.closing.Do(func() {
		r.queue.close()
		<-r.finished
		r.publish(&snapshot{err: ErrClosed})
		if err := r.release(); err != nil {
			r.closeErr = fmt.Errorf("close registry %s: %w", r.path, err)
		}
	})
	return r.closeErr
}

// release frees the file. After a panic bbolt's locks may be held for good, and its
// Close would wait for them for ever: then only the file is unlocked and closed, and
// the mapping stays until the process ends.
func (r *Registry) release() error {
	if r.wedged {
		return errors.Join(unlock(r.file), r.file.Close())
	}
	return r.db.Close()
}
