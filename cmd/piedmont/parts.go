package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"piedmont/authz"
	"piedmont/configs"
	"piedmont/mounts"
	"piedmont/native"
	"piedmont/vend"
)

// parts is what a gateway is put together from and needs no registry, and what is wrong with it.
type parts struct {
	config   configs.Config
	profiles map[string]*vend.Profile
	build    *mounter
	points   []mounts.Point // native ones without a mount until addNative
	// storage and mounts say for each profile and mount why it can't be had; nil where it can.
	storage, mounts []error
}

// newParts makes all that can be made.
func newParts(ctx context.Context, c configs.Config, log *slog.Logger) *parts {
	p := &parts{config: c, points: make([]mounts.Point, len(c.Mounts)), mounts: make([]error, len(c.Mounts))}
	p.profiles, p.storage = openStorage(ctx, c.Storage)
	p.build = newMounter(c, p.profiles, log)
	for i, m := range c.Mounts {
		p.points[i], p.mounts[i] = p.build.federated(ctx, m)
	}
	return p
}

// addNative makes the native mounts.
func (p *parts) addNative(registry native.Registry) {
	for i, m := range p.config.Mounts {
		if m.Native != nil && p.mounts[i] == nil {
			p.points[i].Mount, p.mounts[i] = p.build.native(m, registry)
		}
	}
}

// errRegistry is of native mounts whose registry can't be had, which was said already.
var errRegistry = errors.New("its registry failed its check")

// withoutRegistry is addNative where there is none.
func (p *parts) withoutRegistry() {
	for i, m := range p.config.Mounts {
		if m.Native != nil && p.mounts[i] == nil {
			p.mounts[i] = errRegistry
		}
	}
}

// directories refuses local profiles whose locations are no directories, and warns of those whose
// directories are missing: a disk that isn't mounted stops nothing but what is on it, and may be
// mounted later.
func (p *parts) directories(log *slog.Logger) (faults []error) {
	for i, s := range p.config.Storage {
		if p.storage[i] != nil {
			continue
		}
		err := checkDirectory(s, p.profiles[s.Name])
		switch {
		case errors.Is(err, errNoDirectory):
			log.Warn("a storage profile can't be used until its directory is there", "storage", s.Name, "error", err)
		case err != nil:
			faults = append(faults, fmt.Errorf("storage[%d]: %w", i, err))
		}
	}
	return faults
}

// wrong is everything that is wrong with the parts, and the other faults, one a line.
func (p *parts) wrong(others ...error) error {
	faults := others
	for i, err := range p.storage {
		if err != nil {
			faults = append(faults, fmt.Errorf("storage[%d]: %w", i, err))
		}
	}
	for i, err := range p.mounts {
		if err != nil && !errors.Is(err, errProfile) {
			faults = append(faults, fmt.Errorf("mounts[%d]: %w", i, err))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("the configuration can't be used:\n%w", errors.Join(faults...))
}

// close lets go of the mounts. Nothing was changed through them.
func (p *parts) close() {
	for i := range p.points {
		if m := p.points[i].Mount; m != nil {
			_ = m.Close()
		}
	}
}

// readPolicies reads the files that the patterns name. A pattern without a file is a fault: a
// policy that isn't found would else just not apply.
func readPolicies(patterns []string, dir string) (*authz.Authorizer, []error) {
	var files []authz.PolicyFile
	var faults []error
	for i, pattern := range patterns {
		found, errs := readPattern(pattern, dir)
		files = append(files, found...)
		for _, err := range errs {
			faults = append(faults, fmt.Errorf("auth.policies[%d]: %w", i, err))
		}
	}
	authorizer, err := authz.NewAuthorizer(files)
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		return nil, append(faults, many.Unwrap()...)
	}
	if err != nil {
		faults = append(faults, err)
	}
	return authorizer, faults
}

func readPattern(pattern, dir string) (files []authz.PolicyFile, faults []error) {
	full := pattern
	if !filepath.IsAbs(full) {
		full = filepath.Join(dir, full)
	}
	names, err := filepath.Glob(full)
	if err != nil {
		return nil, []error{err}
	}
	if len(names) == 0 {
		return nil, []error{fmt.Errorf("no file matches %s", pattern)}
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		files = append(files, authz.PolicyFile{Name: name, Text: text})
	}
	return files, faults
}
