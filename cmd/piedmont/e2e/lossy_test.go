//go:build e2e

package e2e

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	loopback "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// lossyDisk is a file system that forgets in a crash what nobody synced: the content of a
// file lasts as of its last fsync, perhaps with some pages written since; a name lasts
// as of the last fsync of its directory. It is stricter than real file systems, which
// keep more.
type lossyDisk struct {
	t     *testing.T
	mount string // what programs see
	live  string // what it shows, on a real disk
	saved string // the durable content of files, by id
	stop  func()

	mu   sync.Mutex
	ids  map[uint64]uint64            // of files and directories, by inode number of live
	next uint64                       // inode numbers are used again, ids never
	dirs map[uint64]map[string]uint64 // the durable names in a directory
	kind map[uint64]fs.FileMode

	faults diskFaults
	random *rand.Rand // which unsynced pages a crash keeps
}

const rootID = 0

func newLossyDisk(t *testing.T) *lossyDisk {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("platform: needs Linux with /dev/fuse and the right to mount")
	}
	d := &lossyDisk{
		t: t, mount: t.TempDir(), live: t.TempDir(), saved: t.TempDir(), stop: func() {},
		ids: map[uint64]uint64{}, next: rootID + 1, dirs: map[uint64]map[string]uint64{}, kind: map[uint64]fs.FileMode{},
		random: rand.New(rand.NewPCG(rand.Uint64(), 0)),
	}
	t.Cleanup(func() { d.stop() })
	d.attach()
	return d
}

func (d *lossyDisk) attach() {
	d.t.Helper()
	root := &loopback.LoopbackRoot{Path: d.live}
	node := &lossyNode{LoopbackNode: loopback.LoopbackNode{RootData: root}, disk: d}
	root.RootNode = node
	server, err := loopback.Mount(d.mount, node, &loopback.Options{MountOptions: mountOptions})
	if err != nil {
		d.t.Fatalf("mount the lossy file system: %v", err)
	}
	d.stop = sync.OnceFunc(func() { _ = server.Unmount() })
}

// makeDir makes a directory at the root that no crash takes back.
func (d *lossyDisk) makeDir(name string) {
	d.t.Helper()
	d.check(os.Mkdir(filepath.Join(d.mount, name), 0o755))
	root, err := os.Open(d.mount)
	d.check(err)
	d.check(root.Sync())
	d.check(root.Close())
}

// crash forgets what wasn't synced. No program may use the disk.
func (d *lossyDisk) crash() {
	d.t.Helper()
	d.stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	fresh := d.t.TempDir()
	before := d.live
	ids := map[uint64]uint64{}
	d.restore(rootID, before, fresh, ids)
	d.live, d.ids = fresh, ids
	d.attach()
}

// restore builds a directory from its durable names.
func (d *lossyDisk) restore(id uint64, before, into string, ids map[uint64]uint64) {
	for name, child := range d.dirs[id] {
		from, to := filepath.Join(before, name), filepath.Join(into, name)
		if d.kind[child].IsDir() {
			d.check(os.Mkdir(to, 0o755))
			d.restore(child, from, to, ids)
		} else {
			d.restoreFile(child, from, to)
		}
		d.check(os.Chmod(to, d.kind[child].Perm()))
		ids[d.inode(to)] = child
	}
}

// restoreFile writes the durable content, and over it, as a disk may have got to, some of
// the pages written since. A file that was never synced keeps only a part.
func (d *lossyDisk) restoreFile(id uint64, before, to string) {
	const page = 4096
	content, err := os.ReadFile(d.file(id))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Fatal(err)
	}
	latest, err := os.ReadFile(before)
	if err != nil {
		latest = nil // its name is gone from the live disk
	}
	for at := 0; at < len(latest); at += page {
		if end := min(at+page, len(latest)); d.random.IntN(2) == 0 {
			if len(content) < end {
				content = append(content, make([]byte, end-len(content))...)
			}
			copy(content[at:end], latest[at:end])
		}
	}
	d.check(os.WriteFile(to, content, 0o600))
}

func (d *lossyDisk) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *lossyDisk) inode(path string) uint64 {
	info, err := os.Lstat(path)
	d.check(err)
	return info.Sys().(*syscall.Stat_t).Ino
}

func (d *lossyDisk) file(id uint64) string { return filepath.Join(d.saved, strconv.FormatUint(id, 10)) }

// id tells a live file or directory from all others there ever were.
func (d *lossyDisk) id(info fs.FileInfo) uint64 {
	ino := info.Sys().(*syscall.Stat_t).Ino
	id, ok := d.ids[ino]
	if !ok {
		id = d.next
		d.next++
		d.ids[ino] = id
	}
	d.kind[id] = info.Mode()
	return id
}

// forget takes an inode number for a new file, whatever had it before.
func (d *lossyDisk) forget(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if info, err := os.Lstat(path); err == nil {
		delete(d.ids, info.Sys().(*syscall.Stat_t).Ino)
	}
}

func (d *lossyDisk) sync(path string, root bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(d.file(d.id(info)), content, 0o600)
	}
	id := uint64(rootID)
	if !root {
		id = d.id(info)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	names := map[string]uint64{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			names[e.Name()] = d.id(info)
		}
	}
	d.dirs[id] = names
	return nil
}

var mountOptions = fuse.MountOptions{DirectMount: true, FsName: "lossy", Name: "lossy"}

// lossyNode passes everything to the live directory and notes what is synced.
type lossyNode struct {
	loopback.LoopbackNode
	disk *lossyDisk
}

// WrapChild makes every node below this one lossy too.
func (n *lossyNode) WrapChild(context.Context, loopback.InodeEmbedder) loopback.InodeEmbedder {
	return &lossyNode{LoopbackNode: loopback.LoopbackNode{RootData: n.RootData}, disk: n.disk}
}

func (n *lossyNode) path() string { return filepath.Join(n.disk.live, n.Path(n.Root())) }

// Fsync makes a file's content or a directory's names durable.
func (n *lossyNode) Fsync(context.Context, loopback.FileHandle, uint32) syscall.Errno {
	errno, anyway := n.disk.faults.at("sync")
	if errno != 0 && !anyway {
		return errno
	}
	if err := n.disk.sync(n.path(), n.IsRoot()); err != nil {
		return loopback.ToErrno(err)
	}
	return errno
}

// Create notes that a new file begins.
func (n *lossyNode) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*loopback.Inode, loopback.FileHandle, uint32, syscall.Errno) {
	if errno, _ := n.disk.faults.at("create"); errno != 0 {
		return nil, nil, 0, errno
	}
	inode, handle, f, errno := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if errno == 0 && flags&syscall.O_EXCL != 0 {
		n.disk.forget(filepath.Join(n.path(), name))
	}
	return inode, handle, f, errno
}

// Mknod notes that a new file begins: sockets are made like this.
func (n *lossyNode) Mknod(ctx context.Context, name string, mode, dev uint32, out *fuse.EntryOut) (*loopback.Inode, syscall.Errno) {
	inode, errno := n.LoopbackNode.Mknod(ctx, name, mode, dev, out)
	if errno == 0 {
		n.disk.forget(filepath.Join(n.path(), name))
	}
	return inode, errno
}

// OpendirHandle gives a handle that leaves fsync to the node.
func (n *lossyNode) OpendirHandle(context.Context, uint32) (loopback.FileHandle, uint32, syscall.Errno) {
	stream, errno := loopback.NewLoopbackDirStream(n.path())
	if errno != 0 {
		return nil, 0, errno
	}
	return plainDir{stream.(readdirer)}, 0, 0
}

type readdirer interface {
	loopback.FileReaddirenter
	loopback.FileReleasedirer
	loopback.FileSeekdirer
}

type plainDir struct{ readdirer }
