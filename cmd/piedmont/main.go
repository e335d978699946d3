// Command piedmont serves one Iceberg REST endpoint over every catalog an organisation
// runs. README.md says how to use it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole command; its result is the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := command() //nolint:contextcheck // cobra hands it to each command
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintln(stderr, "piedmont:", printableLines(err.Error()))
		return 1
	}
	return 0
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "piedmont",
		Short:         "One Iceberg REST endpoint over every catalog you run",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          help,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(serveCommand(), checkCommand(), keysCommand(), tablesCommand(), backupCommand(), restoreCommand(), versionCommand())
	return root
}

// help is what a command does that only holds others. Without it cobra takes an unknown
// subcommand for a wish for help, and succeeds.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }
