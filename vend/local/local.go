// Package local keeps files on a disk of this machine, or one mounted like it.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"piedmont/mounts"
	"piedmont/vend"
)

// Files is vend.Files and vend.Stater on a local disk. A symbolic link may lead from one
// place under the prefix to another, and the prefix itself may be one; a link that leaves
// the prefix is refused, also while somebody swaps it in.
type Files struct {
	profile string
	prefix  vend.Location
	root    string

	mu      sync.Mutex
	durable map[string]struct{} // directories whose way from the prefix is on disk
}

// maxDurable bounds what is remembered; forgetting costs a few calls, no more.
const maxDurable = 1 << 16

// New serves what lies under prefix, a file location, as the named profile. Its directory is
// never made: where it is missing its disk may not be mounted, and all methods are Unavailable
// until it is there.
func New(profile string, prefix vend.Location) (*Files, error) {
	if prefix.Scheme() != "file" {
		return nil, fmt.Errorf("local storage profile %q: the prefix %s is no file location", profile, prefix)
	}
	return &Files{
		profile: profile, prefix: prefix, root: "/" + prefix.Key(),
		durable: map[string]struct{}{},
	}, nil
}

// Read implements vend.Files.
func (f *Files) Read(ctx context.Context, l vend.Location, limit int64) ([]byte, error) {
	rel, err := f.begin(ctx, "read file", l)
	if err != nil {
		return nil, err
	}
	file, size, err := f.open(l, rel)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read from
	if size > limit {
		return nil, vend.TooLarge(l, limit)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, f.fault("read file", l, err)
	}
	return data, nil
}

// open opens a regular file. Without O_NONBLOCK a named pipe would hold us for ever.
func (f *Files) open(l vend.Location, rel string) (*os.File, int64, error) {
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, 0, f.noRoot("read file", err)
	}
	defer func() { _ = root.Close() }() // the open file doesn't need it
	file, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, f.readFault(l, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s: %w", rel, info.Mode().Type(), fs.ErrNotExist)
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, f.readFault(l, err)
	}
	return file, info.Size(), nil
}

// Stat implements vend.Stater. It asks by the plain path, in one call: that a link leads
// outside shows nothing but that something exists there.
func (f *Files) Stat(ctx context.Context, l vend.Location) error {
	rel, err := f.begin(ctx, "stat file", l)
	if err != nil {
		return err
	}
	info, err := os.Stat(f.root + "/" + rel)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err == nil {
		return nil
	}
	if _, rootErr := os.Stat(f.root); rootErr != nil {
		return f.noRoot("stat file", rootErr)
	}
	return f.readFault(l, err)
}

// Delete implements vend.Files. It leaves directories alone, empty ones too.
func (f *Files) Delete(ctx context.Context, l vend.Location) error {
	rel, err := f.begin(ctx, "delete file", l)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return f.noRoot("delete file", err)
	}
	defer func() { _ = root.Close() }() // a directory we only looked into
	info, err := root.Lstat(rel)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		err = root.Remove(rel)
	}
	if err != nil && !isGone(err) {
		return f.fault("delete file", l, err)
	}
	return nil
}

// begin is the path below the prefix, after the checks that all methods share.
func (f *Files) begin(ctx context.Context, op string, l vend.Location) (string, error) {
	if err := vend.CheckFile(f.prefix, l); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", vend.Unavailable(op, f.profile, "wasn't asked in time", err)
	}
	return strings.TrimPrefix("/"+l.Key(), f.root+"/"), nil
}

// isGone also holds where something on the way is a file.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func (f *Files) readFault(l vend.Location, err error) error {
	if isGone(err) {
		return vend.NotFound(l, err)
	}
	return f.fault("read file", l, err)
}

// noRoot is the error of a prefix that can't be opened: perhaps a disk that isn't
// mounted, which says nothing about the files on it.
func (f *Files) noRoot(op string, err error) error {
	if isGone(err) {
		return vend.Unavailable(op, f.profile, "has no directory at its prefix: perhaps its disk isn't mounted", err)
	}
	return f.fault(op, f.prefix, err)
}

// fault classifies what the operating system answered.
func (f *Files) fault(op string, l vend.Location, err error) error {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	var known *mounts.Error
	switch {
	case errors.As(err, &known):
		return err
	case is(syscall.ENAMETOOLONG):
		return &mounts.Error{
			Kind: mounts.BadRequest, Op: op, Err: err,
			Detail: "Invalid location: a segment is too long for the disk: " + l.Verbatim(),
		}
	case is(syscall.ENOTDIR): // only Create gets here: for the others the file is gone
		return &mounts.Error{
			Kind: mounts.BadRequest, Op: op, Err: err,
			Detail: "Invalid location: a file stands where it needs a directory: " + l.Verbatim(),
		}
	case is(syscall.ENOSPC, syscall.EDQUOT):
		return vend.Unavailable(op, f.profile, "is full", err)
	case is(fs.ErrPermission, syscall.EROFS):
		return vend.Refused(op, f.profile, err)
	}
	return vend.Unavailable(op, f.profile, "failed", err)
}
