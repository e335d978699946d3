package local_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"piedmont/vend"
	"piedmont/vend/local"
)

// TestCrash stops a file system of its own in the middle of concurrent creates, as a loss
// of power would: what isn't in its journal is gone. Then every file whose Create returned
// nil must be there, and every file that is there must be whole.
func TestCrash(t *testing.T) {
	for round := range 4 {
		dir := t.TempDir()
		image := filepath.Join(t.TempDir(), "image")
		require.NoError(t, exec.Command("truncate", "-s", "64M", image).Run())
		if out, err := exec.Command("mkfs.ext4", "-q", image).CombinedOutput(); err != nil {
			t.Skipf("platform: needs mkfs.ext4: %s", out)
		}
		if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
			t.Skipf("platform: needs the right to mount: %s", out)
		}
		t.Cleanup(func() { _ = exec.Command("umount", dir).Run() }) // does something only after a failure
		created := createUntilStopped(t, dir, time.Duration(20+15*round)*time.Millisecond)
		require.NoError(t, exec.Command("umount", dir).Run())
		require.NoError(t, exec.Command("mount", "-o", "loop", image, dir).Run())
		named := checkWhole(t, dir)
		for _, rel := range created {
			require.Contains(t, named, rel, "a file whose Create returned nil is gone")
		}
		t.Logf("%d created, %d named", len(created), len(named))
		require.NoError(t, exec.Command("umount", dir).Run())
	}
}

// contentOf is several blocks, and different for each file.
func contentOf(rel string) []byte { return bytes.Repeat([]byte(rel+"\n"), 3000) }

func createUntilStopped(t *testing.T, dir string, after time.Duration) (created []string) {
	prefix := location(t, "file://"+dir)
	files, err := local.New("disk", prefix)
	require.NoError(t, err)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := 0; ; i++ {
				rel := fmt.Sprintf("t%d/metadata/%d-%d", i%3, w, i)
				l, err := vend.ParseLocation(prefix.String() + "/" + rel)
				if err == nil {
					err = files.Create(t.Context(), l, contentOf(rel))
				}
				if err != nil {
					return // the file system is stopped
				}
				mu.Lock()
				created = append(created, rel)
				mu.Unlock()
			}
		})
	}
	time.Sleep(after)
	stop(t, dir)
	wg.Wait()
	return created
}

// stop is EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH.
func stop(t *testing.T, dir string) {
	d, err := os.Open(dir)
	require.NoError(t, err)
	defer d.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(d.Fd()), 0x8004587d, 2))
}

// checkWhole returns the files that have a name of their own, below the prefix.
func checkWhole(t *testing.T, dir string) map[string]bool {
	named := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		require.True(t, bytes.Equal(contentOf(rel), data), "%s has %d of %d bytes", rel, len(data), len(contentOf(rel)))
		named[rel] = true
		return err
	})
	require.NoError(t, err)
	return named
}
