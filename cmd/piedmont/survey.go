package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piedmont/configs"
	"piedmont/mounts"
	"piedmont/mounts/survey"
)

// deepFlags are those of check --deep.
type deepFlags struct {
	on, json       bool
	mount, journal string
	calls          float64
	one            bool // mount is given: the root has an empty path
}

const deepHelp = "With --deep it also looks through each mount that answers, as an admin: namespaces, tables, views\n" +
	"by dialect and other objects by kind; tables that can't be loaded and why; who wrote to tables in\n" +
	"the last 30 days; tables in each other's places. It reads each table's metadata file and no\n" +
	"data. Who wrote is told by the snapshots that tables still have; some libraries, like PyIceberg,\n" +
	"don't say who they are. A broken table is a finding, no failure: the exit code is 1, and a line says\n" +
	"so, where anything of a mount couldn't be looked at. What is in native mounts whose registry file a\n" +
	"server has is asked of that server, which may be started anew meanwhile.\n\n" +
	"With --journal each finding is kept in that file. After an interruption (Ctrl-C, a kill) the same\n" +
	"command goes on where it was, and asks again what couldn't be asked. Of a journal that is complete\n" +
	"it repeats the report: remove the file to look anew.\n\n" +
	"With --json each line is an object with one member: check, survey, namespace, table, view, as they\n" +
	"are found, and in the end, unless interrupted, overlap, mount and for each mount that wasn't looked\n" +
	"through as a whole another check. States of tables and views are\n" +
	"loaded, broken, unknown (it couldn't be asked) and gone (it was dropped meanwhile). Reasons of\n" +
	"broken ones are file-gone, no-metadata-location, no-storage-profile and not-metadata."

func (f *deepFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.on, "deep", false, "look through the mounts: namespaces, tables, who writes, what is broken")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object a line")
	cmd.Flags().StringVar(&f.mount, "mount", "", "with --deep: this mount alone, by its path; '' for the root")
	cmd.Flags().StringVar(&f.journal, "journal", "", "with --deep: the file to keep findings in and go on from")
	cmd.Flags().Float64Var(&f.calls, "calls-per-second", 20, "with --deep: most calls a second to each catalog; 0 for no bound")
}

func (f *deepFlags) valid(cmd *cobra.Command) error {
	f.one = cmd.Flags().Changed("mount")
	for _, name := range []string{"mount", "journal", "calls-per-second"} {
		if !f.on && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s goes with --deep", name)
		}
	}
	if !(f.calls >= 0) {
		return errors.New("--calls-per-second: want a number from 0 up")
	}
	return nil
}

// deepCheck is a survey of the configured mounts, or of one.
type deepCheck struct {
	mounts []configs.Mount
	flags  deepFlags
	report *reporter
	stderr io.Writer
	// patience is how long a mount may not answer before it is given up; 0 means the survey's.
	patience time.Duration
}

// newDeepCheck fails where the flags name no mount.
func newDeepCheck(c configs.Config, flags deepFlags, report *reporter, stderr io.Writer) (*deepCheck, error) {
	var names []string
	for _, m := range c.Mounts {
		if flags.one && m.At == flags.mount {
			names = nil
			break
		}
		names = append(names, fmt.Sprintf("'%s'", m.At))
	}
	if flags.one && names != nil {
		return nil, fmt.Errorf("--mount: no mount is at '%s', only at %s", flags.mount, strings.Join(names, ", "))
	}
	return &deepCheck{mounts: c.Mounts, flags: flags, report: report, stderr: stderr}, nil
}

// run surveys the mounts, which answered to their probes so.
func (d *deepCheck) run(ctx context.Context, points []mounts.Point, answers []error, registry *probedRegistry) (err error) {
	o := survey.Options{
		Caller: mounts.Caller{Principal: adminPrincipal, NoCache: true}, CallsPerSecond: d.flags.calls, Patience: d.patience,
		Progress: &survey.Progress{}, Now: time.Now,
	}
	for i := range points {
		if d.flags.one && d.mounts[i].At != d.flags.mount {
			continue
		}
		m := survey.Mount{Point: &points[i], Identity: identityOf(d.mounts[i])}
		switch {
		case answers[i] != nil:
			m.Skip = "it failed its check"
		case d.mounts[i].Native != nil && !registry.probed:
			m.Skip = "its registry is " + strings.Replace(registry.state, notLookedAt, "", 1)
		}
		o.Mounts = append(o.Mounts, m)
	}
	if d.flags.journal != "" {
		if o.Journal, err = survey.OpenJournal(d.flags.journal); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.Journal.Close()) }()
	}
	if d.flags.json {
		lines := json.NewEncoder(d.report.w)
		o.Lines = func(l survey.Line) error { return lines.Encode(l) }
	}
	shown := showSurvey(d.stderr, o.Progress)
	found, err := survey.Run(ctx, o)
	shown.end(err)
	return d.tell(found, err)
}

// tell writes what was found, also by a survey that was interrupted, unless that was done line by
// line.
func (d *deepCheck) tell(found *survey.Report, err error) error {
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	if !found.Resumed.IsZero() {
		if _, err := fmt.Fprintf(d.stderr, "what %s has since %s was not looked at again: remove it to begin anew\n", d.flags.journal, moment(found.Resumed)); err != nil {
			return err
		}
	}
	if !d.flags.json {
		if err := writeSurvey(d.report.w, found); err != nil {
			return err
		}
	}
	switch {
	case err == nil:
		d.unfinished(found)
		return nil
	case d.flags.journal != "":
		return fmt.Errorf("interrupted: the same command goes on from %s", d.flags.journal)
	}
	return errors.New("interrupted: with --journal it could go on from here")
}

// unfinished writes a failed line for each mount that wasn't looked through as a whole.
func (d *deepCheck) unfinished(found *survey.Report) {
	for _, m := range found.Mounts {
		switch m.State {
		case survey.Complete:
		case survey.Incomplete:
			d.report.line("survey", orRoot(m.Mount), errors.New("incomplete: some of it couldn't be asked"))
		default:
			d.report.line("survey", orRoot(m.Mount), errors.New(farOf(m)))
		}
	}
}

// identityOf says which catalog a mount is of, by a journal's measure: what a change of makes it
// another one. It holds no secret: a configuration's URLs have no passwords.
func identityOf(m configs.Mount) string {
	var parts []string
	switch {
	case m.Native != nil:
		parts = []string{m.Native.ID}
	case m.Hive != nil:
		parts = append(parts, m.Hive.URIs...)
		parts = append(parts, m.Hive.Catalog)
	case m.Glue != nil:
		parts = []string{m.Glue.Region, m.Glue.CatalogID, m.Glue.RoleARN, m.Glue.Endpoint}
	default:
		parts = []string{m.REST.URI, m.REST.Warehouse}
	}
	return strings.Join(strings.Fields(strings.Join(append(parts, survey.Path(m.Source...)), " ")), " ")
}
