package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"piedmont/configs"
	"piedmont/mounts"
	"piedmont/vend"
)

// probeTimeout bounds the check of one mount or profile.
const probeTimeout = 20 * time.Second

func checkCommand() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Validate a configuration and probe its mounts and storage",
		Long: "Validate a configuration, then probe each storage profile (write, read and delete one small\n" +
			"file) and each mount, one line each. The exit code is 1 where anything failed. The data\n" +
			"directory must not be in use.",
		Example: "  piedmont check --config piedmont.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, dir, err := flags.load()
			if err != nil {
				return err
			}
			return check(cmd.Context(), cmd.OutOrStdout(), c, dir)
		},
	}
	flags.add(cmd)
	return cmd
}

// errChecks is the outcome of a check that found something.
var errChecks = errors.New("some checks failed")

func check(ctx context.Context, w io.Writer, c configs.Config, dir string) (err error) {
	g, err := openGateway(ctx, c, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	report := reporter{w: w}
	report.line("configuration", c.Name, nil)
	profiles, err := openStorage(ctx, c.Storage)
	if err != nil {
		return err
	}
	for _, s := range c.Storage {
		report.probe(ctx, "storage", s.Name, func(ctx context.Context) error { return vend.Check(ctx, profiles[s.Name]) })
	}
	tree := g.trees.Acquire()
	defer tree.Release()
	for _, p := range tree.Points() {
		name := p.Name()
		if name == "" {
			name = "(root)"
		}
		report.probe(ctx, "mount", name+" "+p.Kind, func(ctx context.Context) error { return probeMount(ctx, p) })
	}
	if report.failed {
		return errChecks
	}
	return nil
}

// probeMount asks for the mount's health and for one namespace, as a client would.
func probeMount(ctx context.Context, p *mounts.Point) error {
	if h, ok := p.Mount.(mounts.HealthChecker); ok {
		if err := h.Health(ctx); err != nil {
			return err
		}
	}
	_, _, err := p.Mount.ListNamespaces(ctx, mounts.Caller{Principal: adminPrincipal}, p.Source, mounts.Page{Size: 1})
	return err
}

// reporter writes one line for each thing checked.
type reporter struct {
	w      io.Writer
	failed bool
}

func (r *reporter) probe(ctx context.Context, what, name string, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r.line(what, name, f(ctx))
}

func (r *reporter) line(what, name string, err error) {
	if err == nil {
		_, _ = fmt.Fprintf(r.w, "ok      %-14s %s\n", what, name)
		return
	}
	r.failed = true
	_, _ = fmt.Fprintf(r.w, "failed  %-14s %s: %v\n", what, name, err)
}
