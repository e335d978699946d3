package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dataLock keeps a second process off a data directory.
type dataLock struct{ file *os.File }

// errInUse is what lockData wraps where another process holds the directory.
var errInUse = errors.New("in use")

// lockData makes the data directory if need be and takes its lock. The error names the
// process that holds it.
func lockData(data string) (*dataLock, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	if err := syncDir(filepath.Dir(data)); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	path := filepath.Join(data, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 32)) // best effort: the lock itself is what counts
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the data directory %s is %w by process %s: stop it first, or name another directory with --data", data, errInUse, orUnknown(holder))
		}
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(fmt.Sprintln(os.Getpid())), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	return &dataLock{file: f}, nil
}

func orUnknown(holder []byte) string {
	if pid := strings.TrimSpace(string(holder)); pid != "" {
		return pid
	}
	return "(unknown)"
}

// release lets go of the directory. The file stays: removing it would let two processes
// lock two files of one name.
func (l *dataLock) release() error { return l.file.Close() }
