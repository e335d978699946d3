//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"syscall"

	loopback "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// diskFault is how a disk fails.
type diskFault struct {
	step   string // create, write, sync, link, mkdir or truncate; empty for any
	after  int    // how many of these come through before
	times  int    // how many of these fail then
	errno  syscall.Errno
	anyway bool // whether they are carried out nevertheless; a write by half
}

func (f diskFault) String() string {
	step, anyway := f.step, ""
	if step == "" {
		step = "step"
	}
	if f.anyway {
		anyway = ", but happen"
	}
	return fmt.Sprintf("disk: behind %d, %d times %s: %s%s", f.after, f.times, step, f.errno, anyway)
}

// randomDiskFault is a full disk, or one that breaks, at a step by chance.
func randomDiskFault(random *rand.Rand) diskFault {
	f := diskFault{
		step:  []string{"", "create", "write", "sync", "sync", "link", "mkdir", "truncate"}[random.IntN(8)],
		after: random.IntN(20), times: 1 + random.IntN(6), errno: syscall.ENOSPC, anyway: random.IntN(2) == 0,
	}
	if random.IntN(2) == 0 {
		f.errno = syscall.EIO
	}
	return f
}

// diskFaults is the fault in force.
type diskFaults struct {
	mu sync.Mutex
	f  diskFault
}

// set puts a fault in force; diskFault{} ends it.
func (d *diskFaults) set(f diskFault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.f = f
}

// at is what becomes of a step: errno is 0 where it doesn't fail.
func (d *diskFaults) at(step string) (errno syscall.Errno, anyway bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch f := &d.f; {
	case f.times == 0 || f.step != "" && f.step != step:
		return 0, false
	case f.after > 0:
		f.after--
		return 0, false
	default:
		f.times--
		return f.errno, f.anyway
	}
}

// Write fails as the disk does.
func (n *lossyNode) Write(ctx context.Context, f loopback.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	errno, anyway := n.disk.faults.at("write")
	switch {
	case errno == 0:
		return f.(loopback.FileWriter).Write(ctx, data, off)
	case anyway:
		_, _ = f.(loopback.FileWriter).Write(ctx, data[:len(data)/2], off) // it fails as it is
	}
	return 0, errno
}

// Mkdir fails as the disk does.
func (n *lossyNode) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*loopback.Inode, syscall.Errno) {
	if errno, _ := n.disk.faults.at("mkdir"); errno != 0 {
		return nil, errno
	}
	inode, errno := n.LoopbackNode.Mkdir(ctx, name, mode, out)
	if errno == 0 {
		n.disk.forget(filepath.Join(n.path(), name))
	}
	return inode, errno
}

// Link fails as the disk does.
func (n *lossyNode) Link(ctx context.Context, target loopback.InodeEmbedder, name string, out *fuse.EntryOut) (*loopback.Inode, syscall.Errno) {
	errno, anyway := n.disk.faults.at("link")
	if errno != 0 && !anyway {
		return nil, errno
	}
	inode, made := n.LoopbackNode.Link(ctx, target, name, out)
	if made != 0 {
		errno = made
	}
	return inode, errno
}

// Setattr fails as the disk does where a file's size changes.
func (n *lossyNode) Setattr(ctx context.Context, f loopback.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if _, sized := in.GetSize(); sized {
		if errno, _ := n.disk.faults.at("truncate"); errno != 0 {
			return errno
		}
	}
	return n.LoopbackNode.Setattr(ctx, f, in, out)
}
