package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	var deep deepFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Validate a configuration and probe its mounts and storage, or survey them with --deep",
		Long: "Validate a configuration, then probe each storage profile and each mount, one line each. The exit\n" +
			"code is 1 where anything failed. In a profile that a native mount names it writes, reads and\n" +
			"deletes one small file; of any other it only reads a file that isn't there, which on S3 takes\n" +
			"the right to list (s3:ListBucket). Where a server has the registry's file, it asks that server\n" +
			"what is in it. It makes no key, no registry file and no tables in a database.\n\n" + deepHelp,
		Example: "  piedmont check --config piedmont.yaml\n" +
			"  piedmont check --config piedmont.yaml --deep --mount legacy --journal legacy.journal\n" +
			"  piedmont check --config piedmont.yaml --deep --json | jq 'select(.table.state == \"broken\")'",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := deep.valid(cmd); err != nil {
				return err
			}
			c, dir, err := flags.load()
			if err != nil {
				return err
			}
			report := &reporter{w: cmd.OutOrStdout(), json: deep.json}
			if !deep.on {
				return check(cmd.Context(), report, c, dir, nil)
			}
			s, err := newDeepCheck(c, deep, report, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return check(cmd.Context(), report, c, dir, s)
		},
	}
	flags.add(cmd)
	deep.add(cmd)
	return cmd
}

// errChecks is the outcome of a check that found something.
var errChecks = errors.New("some checks failed")

// check makes all checks, whatever fails, and a survey of the mounts unless deep is nil.
func check(ctx context.Context, report *reporter, c configs.Config, dir string, deep *deepCheck) error {
	report.line("configuration", c.Name, nil)
	report.access(c, dir)
	parts := newParts(ctx, c, slog.New(slog.DiscardHandler))
	checkStorage(ctx, report, parts)
	registry, err := probeRegistry(ctx, c)
	if err != nil {
		report.line("registry", "state", err)
		registry = &probedRegistry{state: "not known", release: func() {}}
		parts.withoutRegistry()
	} else {
		_ = report.probe(ctx, "registry", registry.state, func(ctx context.Context) error { return registry.check(ctx, c) }) // it is in the report
		parts.addNative(registry)
	}
	defer func() {
		parts.close()
		registry.release()
	}()
	answers := checkMounts(ctx, report, parts)
	if deep != nil {
		if err := deep.run(ctx, parts.points, answers, registry); err != nil {
			return err
		}
	}
	if report.failed {
		return errChecks
	}
	return nil
}

// checkStorage probes each profile.
func checkStorage(ctx context.Context, report *reporter, parts *parts) {
	for i, s := range parts.config.Storage {
		name, try := s.Name, vend.Check
		if !isWritten(parts.config, s.Name) {
			name, try = name+" (read only)", vend.CheckRead
		}
		_ = report.probe(ctx, "storage", name, func(ctx context.Context) error { // it is in the report
			if err := parts.storage[i]; err != nil {
				return err
			}
			return probeStorage(ctx, s, parts.profiles[s.Name], try)
		})
	}
}

// isWritten says whether Piedmont itself writes to the profile: federated mounts only read.
func isWritten(c configs.Config, profile string) bool {
	return slices.ContainsFunc(c.Mounts, func(m configs.Mount) bool { return m.Native != nil && slices.Contains(m.Storage, profile) })
}

// probeStorage tries a profile.
func probeStorage(ctx context.Context, s configs.Storage, p *vend.Profile, try func(context.Context, *vend.Profile) error) error {
	if err := checkDirectory(s, p); err != nil {
		return err
	}
	return try(ctx, p)
}

// checkMounts probes each mount, and returns how they answered.
func checkMounts(ctx context.Context, report *reporter, parts *parts) []error {
	answers := make([]error, len(parts.points))
	for i, m := range parts.config.Mounts {
		answers[i] = report.probe(ctx, "mount", mountName(m), func(ctx context.Context) error {
			if err := parts.mounts[i]; err != nil {
				return err
			}
			return probeMount(ctx, &parts.points[i])
		})
	}
	return answers
}

// orRoot is the path of a mount as people see it.
func orRoot(path string) string {
	if path == "" {
		return "(root)"
	}
	return path
}

func mountName(m configs.Mount) string {
	name := orRoot(m.At)
	switch {
	case m.Hive != nil:
		return name + " hive"
	case m.Glue != nil:
		return name + " glue"
	case m.Native == nil:
		return name + " rest"
	}
	allowed := "1, 2, 3"
	if v := m.Native.FormatVersions; len(v) > 0 {
		allowed = strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ", "), "[]")
	}
	return fmt.Sprintf("%s native %s, format versions %s", name, m.Native.ID, allowed)
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

func accessOf(c configs.Config) string {
	if n := len(c.Auth.Keys); n > 0 {
		return fmt.Sprintf("configured keys: %d", n)
	}
	return "the generated admin key"
}

// access reads the policies and the keys, without making one, and writes a line for each fault.
func (r *reporter) access(c configs.Config, dir string) {
	_, faults := readPolicies(c.Auth.Policies, dir)
	if _, err := os.Stat(filepath.Join(c.Data, adminKeyFile)); err == nil && len(c.Auth.Keys) == 0 { // else one is made at the first start
		if _, _, err := adminKey(c.Data); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 {
		r.line("access", accessOf(c), nil)
	}
	for _, err := range faults {
		r.line("access", accessOf(c), err)
	}
}

// reporter writes one line for each thing checked.
type reporter struct {
	w      io.Writer
	json   bool
	failed bool
}

// checked is a line in JSON.
type checked struct {
	What  string `json:"what"`
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// probe returns what f does.
func (r *reporter) probe(ctx context.Context, what, name string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := f(ctx)
	r.line(what, name, err)
	return err
}

func (r *reporter) line(what, name string, err error) {
	r.failed = r.failed || err != nil
	switch {
	case r.json:
		l := struct {
			Check checked `json:"check"`
		}{checked{What: what, Name: name, OK: err == nil}}
		if err != nil {
			l.Check.Error = err.Error()
		}
		_ = json.NewEncoder(r.w).Encode(l) // as below, nobody would hear of it
	case err == nil:
		_, _ = fmt.Fprintf(r.w, "ok      %-14s %s\n", what, printable(name))
	default:
		_, _ = fmt.Fprintf(r.w, "failed  %-14s %s: %s\n", what, printable(name), printable(err.Error()))
	}
}
