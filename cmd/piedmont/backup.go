package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"piedmont/native"
)

const backupPath = "/backup"

func backupCommand() *cobra.Command {
	var flags serveFlags
	var output string
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Write a backup of the registry to a file",
		Long: "Write one state of the registry, while it is served, to a file that piedmont restore reads:\n" +
			"namespaces, which metadata file each table and view is at, dropped tables, receipts. Not in it\n" +
			"are the metadata and data files themselves, the keys that tokens are signed with, and the\n" +
			"admin key. It asks the running server, or opens the registry itself. The file comes into\n" +
			"being whole or not at all.",
		Example: "  piedmont backup --config piedmont.yaml --output piedmont.backup\n" +
			"  piedmont backup --config piedmont.yaml --output - | age -r KEY >piedmont.backup.age",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withControl(cmd, flags, func(client *controlClient) error {
				shown := newProgress(cmd.ErrOrStderr(), "backing up")
				if output == "-" {
					return shown.end(fetchBackup(cmd.Context(), client, cmd.OutOrStdout(), shown), "backed up")
				}
				return shown.end(backupTo(cmd.Context(), client, output, shown), "backed up to "+output+":")
			})
		},
	}
	flags.addRegistry(cmd)
	cmd.Flags().StringVar(&output, "output", "", "the file to make, which must not exist, or - for standard output")
	_ = cmd.MarkFlagRequired("output") // fails only for a flag that doesn't exist
	return cmd
}

// backup answers with a backup. Nothing is sent before there is some of it, so that a refusal
// is one.
func (c *control) backup(w http.ResponseWriter, r *http.Request) error {
	s, ok := c.registry.(native.Snapshotter)
	if !ok {
		return errors.New("this kind of registry can't be backed up while it is served")
	}
	out := bufio.NewWriterSize(w, 64<<10)
	records, err := native.WriteBackup(r.Context(), out, s, native.BackupHeader{MadeAt: time.Now(), MadeBy: version})
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return err
	}
	c.log.Info("the registry was backed up", "records", records)
	return nil
}

// fetchBackup writes a backup to w, and reads it on the way as a restore would: nil means that
// it is whole.
func fetchBackup(ctx context.Context, client *controlClient, w io.Writer, shown *progress) error {
	answer, err := client.do(ctx, http.MethodGet, backupPath, nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // what matters was read
	written := &counter{w: w}
	err = readBackup(io.TeeReader(answer.Body, written), func(records uint64) { shown.show(records, 0, written.bytes) })
	if written.err != nil {
		return fmt.Errorf("write the backup: %w", written.err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		_, _ = io.Copy(io.Discard, answer.Body) // up to the trailer, which may say why
		if cause := failure(answer); cause != nil {
			return cause
		}
		return err
	}
	return nil
}

// readBackup reads a backup to its end, and tells how many records there were so far.
func readBackup(r io.Reader, read func(records uint64)) error {
	b, err := native.NewBackupReader(r)
	for err == nil {
		read(b.Records())
		_, err = b.Next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// counter counts what is written, and remembers why it couldn't be.
type counter struct {
	w     io.Writer
	bytes int64
	err   error
}

func (c *counter) Write(b []byte) (n int, err error) {
	n, err = c.w.Write(b)
	c.bytes += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

// backupTo makes the file of a backup. Until it is whole and on the disk it has another name.
func backupTo(ctx context.Context, client *controlClient, path string, shown *progress) error {
	if err := mustNotExist(path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial") // for its owner alone
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if err := fillBackup(ctx, client, f, path, shown); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func fillBackup(ctx context.Context, client *controlClient, f *os.File, path string, shown *progress) error {
	if err := fetchBackup(ctx, client, f, shown); err != nil {
		return errors.Join(err, f.Close())
	}
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = mustNotExist(path)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

func mustNotExist(path string) error {
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		return fmt.Errorf("--output: %s exists, and a backup replaces nothing", path)
	}
	return fmt.Errorf("--output: %w", err)
}
