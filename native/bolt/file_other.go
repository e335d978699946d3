//go:build !linux

package bolt

import "os"

// forgetCached does nothing where there is no such request.
func forgetCached(*os.File) error { return nil }

// unlock does nothing: closing the file gives back its lock.
func unlock(*os.File) error { return nil }
