package bolt

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetCached asks the kernel to drop its clean copy of the file.
func forgetCached(f *os.File) error {
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return os.NewSyscallError("fadvise", err)
	}
	return nil
}

// unlock gives back the lock on the file. Closing the file doesn't while it is mapped.
func unlock(f *os.File) error {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_UN); err != nil {
		return os.NewSyscallError("flock", err)
	}
	return nil
}
