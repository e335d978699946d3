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
