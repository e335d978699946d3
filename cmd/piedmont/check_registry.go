package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"piedmont/configs"
	"piedmont/native"
	"piedmont/native/bolt"
	"piedmont/native/postgres"
)

// probedRegistry is the configured registry, opened or asked of the server that has it. Where it
// can't be had, or isn't there yet, an empty one stands in for it, since native mounts need one to be
// built.
type probedRegistry struct {
	native.Registry
	state   string
	probed  bool // what is in it is known
	release func()
}

func probeRegistry(ctx context.Context, c configs.Config) (*probedRegistry, error) {
	if c.Registry.Postgres != nil {
		return probePostgres(ctx, c)
	}
	path := registryPath(c)
	if _, err := os.Stat(path); err != nil {
		return noneYet("to be made at the first start")
	}
	lock, err := lockData(c.Data)
	if errors.Is(err, errInUse) {
		return probeServer(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	registry, err := openRegistry(ctx, c)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return &probedRegistry{Registry: registry, state: path, probed: true, release: func() {
		_ = registry.Close() // nothing was written
		_ = lock.release()
	}}, nil
}

// probeServer asks the server that has the registry's file. One that can't be asked is no fault of
// the registry's; one that fails is.
func probeServer(ctx context.Context, c configs.Config) (*probedRegistry, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	registry := openServersRegistry(c)
	_, err := registry.Scan(ctx, "", "", 1)
	if errors.Is(err, errNoControl) || errors.Is(err, errOtherRelease) || errors.Is(err, errOtherFormat) {
		return standIn("in use by a server" + notLookedAt + ": " + err.Error())
	}
	if err != nil {
		return nil, fmt.Errorf("ask the running server for its registry: %w", err)
	}
	return &probedRegistry{Registry: registry, state: "asked of the running server", probed: true, release: func() {
		_ = registry.Close() // nothing was written
	}}, nil
}

// probePostgres looks into the database beside those who use it, and makes no tables there.
func probePostgres(ctx context.Context, c configs.Config) (*probedRegistry, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	registry, err := postgres.Look(ctx, c.Registry.Postgres.URL, postgresOptions(c.Registry.Postgres))
	switch {
	case errors.Is(err, postgres.ErrNoSchema):
		return noneYet("in an empty database: its tables are made at the first start")
	case errors.Is(err, postgres.ErrOlderSchema):
		return standIn("of an older release: its tables are migrated at the next start" + notLookedAt)
	case err != nil:
		return nil, err
	}
	return &probedRegistry{Registry: registry, state: "postgres", probed: true, release: func() {
		_ = registry.Close() // nothing was written
	}}, nil
}

// notLookedAt is in the state of a registry that is left alone.
const notLookedAt = ": not looked at"

// noneYet is a registry of which it is known that nothing is in it.
func noneYet(state string) (*probedRegistry, error) {
	r, err := standIn(state)
	if err == nil {
		r.probed = true
	}
	return r, err
}

func standIn(state string) (*probedRegistry, error) {
	dir, err := os.MkdirTemp("", "piedmont-check-")
	if err != nil {
		return nil, err
	}
	registry, err := bolt.Open(filepath.Join(dir, "registry.db"), bolt.Options{})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &probedRegistry{Registry: registry, state: state, release: func() {
		_ = registry.Close() // nothing was written
		_ = os.RemoveAll(dir)
	}}, nil
}

// check looks whether every catalog in the registry has its mount.
func (r *probedRegistry) check(ctx context.Context, c configs.Config) error {
	if !r.probed {
		return nil
	}
	if err := checkRestored(ctx, r); err != nil {
		return err
	}
	return checkIDs(ctx, c, r)
}
