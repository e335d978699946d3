package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"piedmont/authz"
	"piedmont/configs"
	"piedmont/mounts"
	"piedmont/native"
	"piedmont/native/bolt"
	"piedmont/native/postgres"
	"piedmont/router"
)

// gateway is everything that one process serves with, put together by hand.
type gateway struct {
	config   configs.Config
	lock     *dataLock
	registry native.Registry
	parts    *parts
	mounting sync.Mutex // held while the trees are made
	trees    *mounts.Holder
	router   *router.Router
	metrics  *prometheus.Registry
	log      *slog.Logger
	// generated is the admin key's credential where the configuration has no keys.
	generated string
	stopping  atomic.Bool
}

// openGateway puts a gateway together. dir is where relative paths of the configuration
// begin. What is wrong with the configuration is found, all of it, before a lock, a registry or a
// key is made. It asks the registry and the native mounts' state, but no federated mount and no
// storage, beyond whether a local one has its directory: one that is down is no reason not to
// start.
func openGateway(ctx context.Context, c configs.Config, dir string, log *slog.Logger) (*gateway, error) {
	g := &gateway{config: c, log: log, metrics: prometheus.NewRegistry()}
	if err := g.open(ctx, dir); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *gateway) open(ctx context.Context, dir string) error {
	data, err := filepath.Abs(g.config.Data)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	g.config.Data = data
	g.parts = newParts(ctx, g.config, g.log)
	authorizer, faults := readPolicies(g.config.Auth.Policies, dir)
	faults = append(faults, g.parts.directories(g.log)...)
	if err := g.parts.wrong(faults...); err != nil {
		return err
	}
	if g.config.Registry.Bolt != nil {
		if g.lock, err = lockData(data); err != nil {
			return err
		}
	}
	if g.registry, err = openRegistry(ctx, g.config); err != nil {
		return err
	}
	if err := checkRestored(ctx, g.registry); err != nil {
		return err
	}
	if err := g.mount(ctx); err != nil {
		return err
	}
	return g.route(ctx, authorizer)
}

// registryPath is where the registry's file lies.
func registryPath(c configs.Config) string {
	if path := c.Registry.Bolt.Path; filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Data, c.Registry.Bolt.Path)
}

func openRegistry(ctx context.Context, c configs.Config) (native.Registry, error) {
	if p := c.Registry.Postgres; p != nil {
		r, err := postgres.Open(ctx, p.URL, postgresOptions(p))
		if err != nil {
			return nil, err // and no interface that holds a nil *postgres.Registry
		}
		return r, nil
	}
	r, err := bolt.Open(registryPath(c), bolt.Options{})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func postgresOptions(p *configs.Postgres) postgres.Options {
	return postgres.Options{
		MaxConns: p.MaxConnections, MinConns: p.MinConnections, ConnectTimeout: p.ConnectTimeout, StatementTimeout: p.StatementTimeout,
	}
}

// checkRestored refuses a registry that holds a part of a backup.
func checkRestored(ctx context.Context, r native.Registry) error {
	err := native.CheckRestored(ctx, r)
	if errors.Is(err, native.ErrRestoring) {
		return fmt.Errorf("%w (with piedmont restore)", err)
	}
	return err
}

// mount builds the tree of the parts.
func (g *gateway) mount(ctx context.Context) error {
	if err := g.measureCache("files", g.parts.build.files); err != nil {
		return err
	}
	if err := g.measureCache("rest", g.parts.build.rest); err != nil {
		return err
	}
	if err := g.metrics.Register(guards{func() *mounts.Holder { return g.trees }}); err != nil {
		return err
	}
	g.parts.addNative(g.registry)
	if err := g.parts.wrong(); err != nil {
		return err
	}
	tree, err := mounts.NewTree(g.config.Name, g.parts.points)
	if err != nil {
		return err
	}
	g.trees = mounts.NewHolder(tree, func(p *mounts.Point, err error) {
		if err != nil {
			g.log.Warn("a mount closed with an error", "mount", p.Name(), "error", err)
		}
	})
	if err := checkIDs(ctx, g.config, g.registry); err != nil {
		return err
	}
	return tree.Prepare(ctx, mounts.Caller{}, func(s string) { g.log.Warn(s) })
}

// tree is the tree in force, to be released. A process that doesn't serve makes it now.
func (g *gateway) tree(ctx context.Context) (*mounts.Tree, error) {
	g.mounting.Lock()
	defer g.mounting.Unlock()
	if g.trees == nil {
		g.parts = newParts(ctx, g.config, g.log)
		if err := g.mount(ctx); err != nil {
			return nil, err
		}
	}
	if t := g.trees.Acquire(); t != nil {
		return t, nil
	}
	return nil, errors.New("the server is stopping")
}

// checkIDs refuses to start where the registry holds tables that no mount would serve:
// somebody renamed an id, and everything would seem to be gone.
func checkIDs(ctx context.Context, c configs.Config, registry native.Registry) error {
	ids, err := native.IDs(ctx, registry)
	if err != nil {
		return err
	}
	known := slices.Clone(c.Detached)
	for _, m := range c.Mounts {
		if m.Native != nil {
			known = append(known, m.Native.ID)
		}
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return fmt.Errorf("the registry holds the catalog '%s', which no mount names: give a native mount that id, or list it under detached", id)
		}
	}
	return nil
}

// route puts the router before the tree.
func (g *gateway) route(ctx context.Context, authorizer *authz.Authorizer) error {
	tokens, err := authz.NewTokens(ctx, native.SigningKeys{Registry: g.registry}, time.Now)
	if err != nil {
		return err
	}
	keys, admins, err := g.keys()
	if err != nil {
		return err
	}
	authenticator, err := authz.NewAuthenticator(keys, admins, tokens, time.Now)
	if err != nil {
		return err
	}
	metrics, err := router.NewMetrics(g.metrics)
	if err != nil {
		return err
	}
	pageKey, err := tokens.Derive("page tokens")
	if err != nil {
		return err
	}
	g.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	g.router, err = router.New(router.Options{
		Trees: g.trees, Authenticator: authenticator, Authorizer: authorizer, PageKey: pageKey,
		Storage: clientProperties(g.config.Storage), Ready: g.isReady, Metrics: metrics, Logger: g.log,
	})
	return err
}

// keys are those of the configuration, or the generated one.
func (g *gateway) keys() (keys []authz.Key, admins []string, err error) {
	for i, k := range g.config.Auth.Keys {
		sum, err := authz.ParseHash(k.SHA256)
		if err != nil {
			return nil, nil, fmt.Errorf("auth.keys[%d].sha256: %w", i, err)
		}
		keys = append(keys, authz.Key{ID: k.ID, SHA256: sum, Principal: k.Principal, Groups: k.Groups})
	}
	if len(keys) > 0 {
		unused := filepath.Join(g.config.Data, adminKeyFile)
		if _, err := os.Lstat(unused); err == nil {
			g.log.Warn("the generated admin key lets nobody in: the configuration has keys. Its file may be removed", "file", unused)
		}
		return keys, g.config.Auth.Admins, nil
	}
	key, credential, err := adminKey(g.config.Data)
	if err != nil {
		return nil, nil, err
	}
	g.generated = credential
	return []authz.Key{key}, append(slices.Clone(g.config.Auth.Admins), adminPrincipal), nil
}

// isReady is nil while the registry reads and writes and the gateway isn't stopping.
func (g *gateway) isReady(ctx context.Context) error {
	if g.stopping.Load() {
		return errors.New("stopping")
	}
	if w, ok := g.registry.(interface{ Writable() error }); ok {
		if err := w.Writable(); err != nil {
			return err
		}
	}
	_, _, err := g.registry.Get(ctx, "ready")
	return err
}

// close lets go of everything, in the order opposite to open.
func (g *gateway) close() error {
	var errs []error
	if g.trees != nil {
		g.trees.Close()
	} else if g.parts != nil {
		g.parts.close()
	}
	if g.registry != nil {
		errs = append(errs, g.registry.Close())
	}
	if g.lock != nil {
		errs = append(errs, g.lock.release())
	}
	return errors.Join(errs...)
}
