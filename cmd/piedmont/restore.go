package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"piedmont/configs"
	"piedmont/native"
)

func restoreCommand() *cobra.Command {
	var flags serveFlags
	var input string
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Fill an empty registry from a backup",
		Long: "Fill the registry of a configuration, a file or a database, from a backup of either kind. No\n" +
			"server may ever have been started on it. A backup in a file is checked as a whole before\n" +
			"anything is written. Until a restore has ended servers refuse the registry; one that was\n" +
			"interrupted is run again, and begins anew.",
		Example: "  piedmont restore --config piedmont.yaml --input piedmont.backup\n" +
			"  age -d -i KEYS piedmont.backup.age | piedmont restore --config piedmont.yaml --input -",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := flags.load()
			if err != nil {
				return err
			}
			r := &restorer{config: c, shown: newProgress(cmd.ErrOrStderr(), "restoring")}
			if input == "-" {
				err = r.from(cmd.Context(), interruptible(cmd.Context(), cmd.InOrStdin()))
			} else {
				err = r.fromFile(cmd.Context(), input)
			}
			return r.shown.end(err, "restored")
		},
	}
	flags.addRegistry(cmd)
	cmd.Flags().StringVar(&input, "input", "", "the backup, or - for standard input")
	_ = cmd.MarkFlagRequired("input") // fails only for a flag that doesn't exist
	return cmd
}

// restorer is one run of the command.
type restorer struct {
	config configs.Config
	shown  *progress
	total  uint64 // records in the backup, 0 if nobody knows
}

// fromFile reads the file twice: before anything is written it is known to be whole.
func (r *restorer) fromFile(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--input: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	err = readBackup(stopping{ctx, f}, func(records uint64) { r.total = records })
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("--input: %s: %w", path, err)
	}
	return r.from(ctx, f)
}

// from restores what it reads.
func (r *restorer) from(ctx context.Context, in io.Reader) error {
	counted := &countingReader{r: in}
	b, err := native.NewBackupReader(counted)
	if err != nil {
		return err
	}
	g, err := openToRestore(ctx, r.config)
	if err != nil {
		return err
	}
	err = native.Restore(ctx, g.registry, b, time.Now(), func(records uint64) { r.shown.show(records, r.total, counted.bytes) })
	return errors.Join(explainRestore(context.WithoutCancel(ctx), g, err), g.close())
}

// openToRestore opens the registry alone, making it where there is none.
func openToRestore(ctx context.Context, c configs.Config) (*gateway, error) {
	data, err := filepath.Abs(c.Data)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	c.Data = data
	g := &gateway{config: c}
	if c.Registry.Bolt != nil {
		if g.lock, err = lockData(data); err != nil {
			return nil, err
		}
	}
	if g.registry, err = openRegistry(ctx, c); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// explainRestore says what a failed restore leaves, and what to do.
func explainRestore(ctx context.Context, g *gateway, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, native.ErrNotEmpty) {
		if g.config.Registry.Bolt != nil {
			return fmt.Errorf("%w: a backup is restored where no server was ever started: move %s away, or name another directory with --data", err, registryPath(g.config))
		}
		return fmt.Errorf("%w: a backup is restored where no server was ever started: make an empty database", err)
	}
	switch left := native.CheckRestored(ctx, g.registry); {
	case errors.Is(left, native.ErrRestoring):
		return fmt.Errorf("%w (the registry holds a part of the backup, and no server takes it: run piedmont restore again)", err)
	case left != nil:
		return fmt.Errorf("%w (what the registry holds isn't known: run piedmont restore again)", err)
	}
	return err
}

// countingReader counts what is read.
type countingReader struct {
	r     io.Reader
	bytes int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.bytes += int64(n)
	return n, err
}

// stopping fails when its context ends.
type stopping struct {
	ctx context.Context
	r   io.Reader
}

func (s stopping) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(b)
}

// interruptible reads what may block for ever, as a terminal does, until the context ends. The
// read that blocks ends with the process.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r)
		_ = in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { _ = in.CloseWithError(ctx.Err()) })
	return out
}
