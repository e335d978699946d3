package local_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/vend"
	"piedmont/vend/local"
)

// disk is a profile, the directory of its prefix and a directory outside.
func disk(t *testing.T) (p *vend.Profile, inside, outside string) {
	p = newProfile(t)
	inside, outside = "/"+p.Prefix.Key(), t.TempDir()
	require.NoError(t, os.WriteFile(outside+"/secret", []byte("secret"), 0o644))
	return p, inside, outside
}

func at(t *testing.T, p *vend.Profile, rel string) vend.Location {
	return location(t, p.Prefix.String()+"/"+rel)
}

func TestNewRefusesOtherSchemes(t *testing.T) {
	_, err := local.New("disk", location(t, "s3://b/x"))
	require.ErrorContains(t, err, "no file location")
}

func TestLinksThatLeaveAreRefused(t *testing.T) {
	p, inside, outside := disk(t)
	require.NoError(t, os.Symlink(outside, inside+"/dir"))
	require.NoError(t, os.Symlink(outside+"/secret", inside+"/file"))
	require.NoError(t, os.Symlink("../../../../../../../../../.."+outside, inside+"/relative"))
	for _, rel := range []string{"dir/secret", "file", "relative/secret"} {
		data, err := p.Files.Read(t.Context(), at(t, p, rel), 100)
		require.Nil(t, data)
		require.True(t, mounts.Is(err, mounts.Unavailable), "%s: %v", rel, err)
	}
	for _, rel := range []string{"dir/new", "relative/new", "dir/sub/new"} {
		err := p.Files.Create(t.Context(), at(t, p, rel), []byte("x"))
		require.ErrorIs(t, err, vend.ErrNotWritten)
	}
	for _, rel := range []string{"dir/secret", "relative/secret"} {
		require.Error(t, p.Files.Delete(t.Context(), at(t, p, rel)))
	}
	require.NoError(t, p.Files.Delete(t.Context(), at(t, p, "file")), "the link itself lies inside")
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestLinksInsideAreFollowed(t *testing.T) {
	p, inside, outside := disk(t)
	require.NoError(t, os.Mkdir(inside+"/real", 0o755))
	require.NoError(t, os.Symlink("real", inside+"/alias"))
	require.NoError(t, p.Files.Create(t.Context(), at(t, p, "alias/x"), []byte("x")))
	data, err := p.Files.Read(t.Context(), at(t, p, "real/x"), 100)
	require.NoError(t, err)
	require.Equal(t, "x", string(data))

	require.NoError(t, os.Symlink(inside, outside+"/prefix"))
	files, err := local.New("linked", location(t, "file://"+outside+"/prefix"))
	require.NoError(t, err)
	_, err = files.Read(t.Context(), location(t, "file://"+outside+"/prefix/real/x"), 100)
	require.NoError(t, err, "the prefix itself may be a link")
}

// A dangling link takes the name like any file: creating must not write through it.
func TestCreateDoesNotFollowALinkOfItsName(t *testing.T) {
	p, inside, outside := disk(t)
	require.NoError(t, os.Symlink(outside+"/new", inside+"/x"))
	require.ErrorIs(t, p.Files.Create(t.Context(), at(t, p, "x"), []byte("x")), vend.ErrExists)
	require.NoFileExists(t, outside+"/new")
}

func TestDirectoriesDeletedByHand(t *testing.T) {
	p, inside, _ := disk(t)
	for i, gone := range []string{"/db", "/db/t/metadata", "/db"} {
		require.NoError(t, os.RemoveAll(inside+gone))
		l := at(t, p, "db/t/metadata/"+string(rune('a'+i)))
		require.NoError(t, p.Files.Create(t.Context(), l, []byte("x")), gone)
		_, err := p.Files.Read(t.Context(), l, 100)
		require.NoError(t, err)
	}
}

// Somebody deletes the directory just after Create has made it. That happens once to each
// Create here, and must not fail it.
func TestDirectoryDeletedMeanwhile(t *testing.T) {
	p, inside, _ := disk(t)
	hits := 0
	for range 20 {
		require.NoError(t, os.RemoveAll(inside+"/d"))
		stop, hit := make(chan struct{}), make(chan bool)
		go func() {
			for {
				select {
				case <-stop:
					hit <- false
					return
				default:
				}
				if os.Remove(inside+"/d") == nil { // succeeds only while it is empty
					hit <- true
					return
				}
			}
		}()
		l := at(t, p, "d/x")
		err := p.Files.Create(t.Context(), l, []byte("x"))
		close(stop)
		if <-hit {
			hits++
		}
		require.NoError(t, err)
		require.NoError(t, p.Files.(vend.Stater).Stat(t.Context(), l))
	}
	require.NotZero(t, hits, "nothing was deleted in time: the test shows nothing")
}

// A disk that isn't mounted must not read as if all tables had lost their files.
// Nor may anything be written to the disk around its mount point. Once it is back all goes on.
func TestMissingPrefixIsNoAbsence(t *testing.T) {
	p, inside, _ := disk(t)
	l := at(t, p, "d/x")
	require.NoError(t, p.Files.Create(t.Context(), l, []byte("x")))
	require.NoError(t, os.Rename(inside, inside+"-unmounted"))
	_, err := p.Files.Read(t.Context(), l, 100)
	created := p.Files.Create(t.Context(), at(t, p, "d/y"), []byte("y"))
	require.ErrorIs(t, created, vend.ErrNotWritten)
	require.NoDirExists(t, inside)
	for _, err := range []error{err, created, p.Files.Delete(t.Context(), l), p.Files.(vend.Stater).Stat(t.Context(), l)} {
		require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
		var e *mounts.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "storage profile 'disk' has no directory at its prefix: perhaps its disk isn't mounted", e.Message())
	}
	require.NoError(t, os.Rename(inside+"-unmounted", inside))
	require.NoError(t, p.Files.Create(t.Context(), at(t, p, "d/y"), []byte("y")))
	_, err = p.Files.Read(t.Context(), l, 100)
	require.NoError(t, err)
}

func TestNothingIsLeftBehind(t *testing.T) {
	p, inside, _ := disk(t)
	l := at(t, p, "d/x")
	require.NoError(t, p.Files.Create(t.Context(), l, []byte("x")))
	require.ErrorIs(t, p.Files.Create(t.Context(), l, []byte("y")), vend.ErrExists)
	left, err := os.ReadDir(inside + "/d")
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestOddFiles(t *testing.T) {
	p, inside, _ := disk(t)
	require.NoError(t, syscall.Mkfifo(inside+"/pipe", 0o644))
	done := make(chan error, 1)
	go func() {
		_, err := p.Files.Read(t.Context(), at(t, p, "pipe"), 100)
		done <- err
	}()
	select {
	case err := <-done:
		require.True(t, mounts.Is(err, mounts.NotFound), "%v", err)
	case <-time.After(10 * time.Second):
		t.Fatal("reading a named pipe hangs")
	}
	require.True(t, mounts.Is(p.Files.(vend.Stater).Stat(t.Context(), at(t, p, "pipe")), mounts.NotFound))

	require.NoError(t, os.WriteFile(inside+"/file", nil, 0o644))
	err := p.Files.Create(t.Context(), at(t, p, "file/below"), []byte("x"))
	require.ErrorIs(t, err, vend.ErrNotWritten)
	require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
}

func TestNameTooLong(t *testing.T) {
	p, _, _ := disk(t)
	l := at(t, p, strings.Repeat("x", 256))
	err := p.Files.Create(t.Context(), l, []byte("x"))
	require.ErrorIs(t, err, vend.ErrNotWritten)
	_, readErr := p.Files.Read(t.Context(), l, 100)
	for _, err := range []error{err, readErr} {
		require.True(t, mounts.Is(err, mounts.BadRequest), "%v", err)
		require.ErrorContains(t, err, "too long for the disk")
	}
}

func TestRefusedAccess(t *testing.T) {
	p, inside, _ := disk(t)
	forbid(t, inside)
	err := p.Files.Create(t.Context(), at(t, p, "x"), nil)
	require.ErrorContains(t, err, "storage profile 'disk' was refused access")
	require.ErrorIs(t, err, vend.ErrRefused)
	require.ErrorIs(t, err, vend.ErrNotWritten)
}

// forbid makes a directory refuse writes. Root is refused nothing but by a disk that is
// mounted read-only.
func forbid(t *testing.T, dir string) {
	if os.Getuid() != 0 {
		require.NoError(t, os.Chmod(dir, 0o555))
		t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
		return
	}
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "ro", "tmpfs", dir).Run(); err != nil {
		t.Skip("platform: root without the right to mount")
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", dir).Run()) })
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir).Run(); err != nil {
		t.Skip("platform: needs the right to mount a small disk")
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", dir).Run()) })
	prefix := location(t, "file://"+dir)
	files, err := local.New("small", prefix)
	require.NoError(t, err)
	l := location(t, prefix.String()+"/x")
	err = files.Create(t.Context(), l, bytes.Repeat([]byte("x"), 1<<20))
	require.ErrorIs(t, err, vend.ErrNotWritten)
	require.True(t, mounts.Is(err, mounts.Unavailable))
	require.ErrorContains(t, err, "storage profile 'small' is full")
	left, err := filepath.Glob(dir + "/*")
	require.NoError(t, err)
	hidden, err := filepath.Glob(dir + "/.*")
	require.NoError(t, err)
	require.Empty(t, append(left, hidden...), "a failed create left something")
	require.NoError(t, files.Create(t.Context(), l, []byte("fits")))
}
