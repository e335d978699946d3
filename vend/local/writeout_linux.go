package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// writeOut sees to it that the content of a file reaches the disk no later than a name it
// is given afterwards. ext4 and XFS keep that order once the data blocks are written, for
// their journals flush the disk before they commit a name; so the file and its name can
// share one journal commit, and synced is false: the file must still be synced. That
// halves the time. Elsewhere the file is synced here. (On an ext4 without a journal a
// crash before Create returns may leave a named file of less than its content.)
func writeOut(file *os.File) (synced bool, err error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return false, err
	}
	ordered, callErr := false, error(nil)
	err = conn.Control(func(fd uintptr) {
		var fs unix.Statfs_t
		if callErr = unix.Fstatfs(int(fd), &fs); callErr != nil {
			return
		}
		if ordered = fs.Type == unix.EXT4_SUPER_MAGIC || fs.Type == unix.XFS_SUPER_MAGIC; ordered {
			callErr = unix.SyncFileRange(int(fd), 0, 0,
				unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
		}
	})
	if err == nil {
		err = callErr
	}
	if err != nil || ordered {
		return false, err
	}
	return true, file.Sync()
}
