package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"piedmont/vend"
)

// attempts is how often Create begins again when somebody deletes the directory under
// its hands.
const attempts = 3

// Create implements vend.Files. The content goes to a hidden file of another name in the
// same directory; once it is on its way to the disk for certain, a hard link gives it its
// own name, which is atomic and fails where the name is taken. What a crash can leave is
// the hidden file.
func (f *Files) Create(ctx context.Context, l vend.Location, data []byte) error {
	rel, err := f.begin(ctx, "create file", l)
	if err != nil {
		return vend.Outcome(vend.ErrNotWritten, err)
	}
	dir, name := path.Split(rel)
	for try := 1; ; try++ {
		outcome, err := f.create(path.Clean(dir), name, data)
		switch {
		case outcome == nil:
			return nil
		case errors.Is(outcome, vend.ErrExists):
			return vend.Exists(l, err)
		case errors.Is(outcome, vend.ErrNotWritten) && errors.Is(err, fs.ErrNotExist) && try < attempts:
			continue
		}
		return vend.Outcome(outcome, f.fault("create file", l, err))
	}
}

// create returns what became of the file and, unless it was made, why.
func (f *Files) create(dir, name string, data []byte) (outcome, err error) {
	d, err := f.openDir(dir)
	if err != nil {
		return vend.ErrNotWritten, err
	}
	defer func() { _ = d.Close() }() // a directory handle; what matters was synced
	temp := ".piedmont-" + rand.Text() + ".tmp"
	file, synced, err := writeTemp(d, temp, data)
	if err != nil {
		_ = d.Remove(temp) // the first error says more
		return vend.ErrNotWritten, err
	}
	defer func() { _ = file.Close() }() // nothing is written any more
	outcome, err = linked(d, temp, name, d.Link(temp, name))
	_ = d.Remove(temp) // hidden garbage at worst
	if outcome != nil {
		return outcome, err
	}
	if !synced {
		err = file.Sync()
	}
	if err == nil {
		err = syncDir(d, ".")
	}
	if err != nil {
		return vend.ErrUnknown, err // it is there, but may not survive a crash
	}
	return nil, nil
}

// writeTemp leaves the file open where it still has to be synced once it has its name.
func writeTemp(d *os.Root, temp string, data []byte) (file *os.File, synced bool, err error) {
	file, err = d.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, false, err
	}
	if _, err = file.Write(data); err == nil {
		synced, err = writeOut(file)
	}
	if err != nil {
		return nil, false, errors.Join(err, file.Close())
	}
	return file, synced, nil
}

// linked judges what a link call answered. Over NFS a repeated request may answer
// "exists" or an error although the first one was carried out; then both names are one
// file.
func linked(d *os.Root, temp, name string, err error) (outcome, cause error) {
	if err == nil {
		return nil, nil
	}
	ours, err1 := d.Lstat(temp)
	there, err2 := d.Lstat(name)
	switch {
	case err1 == nil && err2 == nil && os.SameFile(ours, there):
		return nil, nil
	case errors.Is(err, fs.ErrExist):
		return vend.ErrExists, err
	case errors.Is(err, syscall.EIO):
		return vend.ErrUnknown, err
	}
	return vend.ErrNotWritten, err
}

// openDir opens a directory below the prefix, "." for the prefix itself, makes it where
// it is missing, and sees to it that it can't be lost by a crash: each directory on the
// way is synced once, then remembered. The prefix is opened by its name each time: a handle kept
// open would go on leading to a directory that was deleted, or to what lay there before a disk was
// mounted. It is never made, or what is written while its disk isn't mounted would go to another.
func (f *Files) openDir(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, f.noRoot("create file", err)
	}
	if dir == "." {
		return root, nil
	}
	defer func() { _ = root.Close() }() // the handle below it stays open
	d, err := root.OpenRoot(dir)
	if err == nil && f.isDurable(dir) {
		return d, nil
	}
	if err != nil {
		if d, err = makeDir(root, dir); err != nil {
			return nil, err
		}
	}
	for at := dir; at != "."; {
		at = path.Dir(at)
		if err := syncDir(root, at); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	f.setDurable(dir)
	return d, nil
}

func makeDir(root *os.Root, dir string) (*os.Root, error) {
	err := root.MkdirAll(dir, 0o777)
	if errors.Is(err, fs.ErrExist) { // a directory that exists is no error: this is a file
		err = fmt.Errorf("%w: %w", syscall.ENOTDIR, err)
	}
	if err != nil {
		return nil, err
	}
	return root.OpenRoot(dir)
}

func (f *Files) isDurable(dir string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.durable[dir]
	return ok
}

func (f *Files) setDurable(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.durable) >= maxDurable {
		clear(f.durable)
	}
	f.durable[dir] = struct{}{}
}

func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
