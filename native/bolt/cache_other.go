//go:build !linux

package bolt

import "os"

// forgetCached does nothing where there is no such request.
func forgetCached(*os.File) error { return nil }
