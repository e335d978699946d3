package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"piedmont/configs"
	"piedmont/router"
)

const (
	// drainTimeout is how long a stop waits for requests under way.
	drainTimeout = 30 * time.Second
	// Timeouts of the listeners. Answers have no deadline of their own: a large document
	// may take a slow client long.
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 2 * time.Minute
	idleTimeout       = 3 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// serveFlags are the flags of serve and check.
type serveFlags struct{ config, listen, data string }

func (f *serveFlags) add(cmd *cobra.Command) {
	f.addRegistry(cmd)
	cmd.Flags().StringVar(&f.listen, "listen", "", "address to listen on, in place of the configuration's")
}

// addRegistry adds those that say where the registry is.
func (f *serveFlags) addRegistry(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.config, "config", "", "configuration file (YAML)")
	cmd.Flags().StringVar(&f.data, "data", "", "data directory, in place of the configuration's")
}

// load reads the configuration, or makes the default one. dir is where its relative paths begin.
func (f *serveFlags) load() (c configs.Config, dir string, err error) {
	if f.config != "" {
		if c, err = rules().Load(f.config); err != nil {
			var faults configs.Faults
			if errors.As(err, &faults) {
				return c, "", fmt.Errorf("the configuration %s can't be used:\n%w", f.config, err)
			}
			return c, "", err
		}
		dir = filepath.Dir(f.config)
	} else if c, err = defaultConfig(f.data); err != nil {
		return c, "", err
	}
	if f.listen != "" {
		if _, _, err := net.SplitHostPort(f.listen); err != nil {
			return c, "", fmt.Errorf("--listen: want an address like 127.0.0.1:8181")
		}
		c.Listen = f.listen
	}
	if f.data != "" {
		c.Data = f.data
	}
	return c, dir, nil
}

// defaultConfig is the configuration without a file, with its warehouse made.
func defaultConfig(data string) (configs.Config, error) {
	if data == "" {
		data = "piedmont-data"
	}
	absolute, err := filepath.Abs(data)
	if err != nil {
		return configs.Config{}, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(absolute, "warehouse"), 0o700); err != nil {
		return configs.Config{}, fmt.Errorf("make the warehouse: %w", err)
	}
	return configs.Default(absolute), nil
}

func serveCommand() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the REST endpoint",
		Long: "Serve the REST endpoint until a SIGINT or SIGTERM, then finish the requests under way.\n" +
			"Without a configuration: one native catalog at the root, its registry and warehouse below\n" +
			"./piedmont-data, on 127.0.0.1:8181.",
		Example: "  piedmont serve\n  piedmont serve --config piedmont.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, dir, err := flags.load()
			if err != nil {
				return err
			}
			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			g, err := openGateway(cmd.Context(), c, dir, log)
			if err != nil {
				return err
			}
			return errors.Join(g.serve(cmd.Context(), cmd.OutOrStdout()), g.close())
		},
	}
	flags.add(cmd)
	return cmd
}

// endpoint is a listener and what serves it.
type endpoint struct {
	server   *http.Server
	listener net.Listener
}

// endpoints listens for clients, for the operator where that is configured, and for admin
// commands where the registry is a file, which nobody else can open; in this order.
func (g *gateway) endpoints() (list []endpoint, err error) {
	defer func() {
		if err != nil {
			for _, e := range list {
				err = errors.Join(err, e.listener.Close())
			}
		}
	}()
	public, err := net.Listen("tcp", g.config.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %w (name another address with --listen)", err)
	}
	server := g.server(g.router)
	server.ConnContext = router.ConnContext
	list = append(list, endpoint{server, router.Gather(public)})
	if g.config.Operator != "" {
		private, err := net.Listen("tcp", g.config.Operator)
		if err != nil {
			return list, fmt.Errorf("listen for the operator: %w", err)
		}
		list = append(list, endpoint{g.server(g.operatorHandler()), private})
	}
	if g.lock != nil {
		socket, err := listenControl(g.config.Data)
		if err != nil {
			return list, err
		}
		list = append(list, endpoint{g.controlServer(), socket})
	}
	return list, nil
}

// serve listens until the context ends, and drains.
func (g *gateway) serve(ctx context.Context, stdout io.Writer) error {
	endpoints, err := g.endpoints()
	if err != nil {
		return err
	}
	failed := make(chan error, len(endpoints))
	servers := make([]*http.Server, len(endpoints))
	for i, e := range endpoints {
		servers[i] = e.server
		go func() { failed <- e.server.Serve(e.listener) }()
	}
	operator := ""
	if g.config.Operator != "" {
		operator = endpoints[1].listener.Addr().String()
	}
	g.greet(stdout, endpoints[0].listener.Addr().String(), operator)
	sweeping, stopSweeping := context.WithCancel(ctx)
	swept := g.startSweeping(sweeping)
	defer func() {
		stopSweeping()
		swept()
	}()
	select {
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		g.log.Info("stopping: waiting for requests under way", "at most", drainTimeout)
		err = nil
	}
	return errors.Join(err, g.drain(context.WithoutCancel(ctx), servers))
}

func (g *gateway) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
}

// drain takes the servers out of service: /readyz says so at once, requests under way end.
func (g *gateway) drain(ctx context.Context, servers []*http.Server) error {
	g.stopping.Store(true)
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	var errs []error
	for _, s := range servers {
		if err := s.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop: requests were still under way after %s: %w", drainTimeout, err), s.Close())
		}
	}
	return errors.Join(errs...)
}

// greet says where the gateway listens, for clients and for the operator unless that address is
// empty, and, with a generated key, how to use it. The key itself is never printed: the snippets
// read it from its file.
func (g *gateway) greet(w io.Writer, address, operator string) {
	uri := reachable(address)
	var b strings.Builder
	fmt.Fprintf(&b, "Piedmont %s serves Iceberg REST at %s\n", version, uri)
	for _, m := range g.config.Mounts {
		fmt.Fprintf(&b, "  %-12s %s\n", orRoot(m.At), describeMount(m))
	}
	if operator != "" {
		fmt.Fprintf(&b, "Metrics, the state of the mounts and profiles are at %s, for whoever reaches it\n", reachable(operator))
	}
	if g.generated != "" {
		path := filepath.Join(g.config.Data, adminKeyFile)
		fmt.Fprintf(&b, "The admin key is in %s\n%s", path, snippets(uri, path))
	}
	_, _ = io.WriteString(w, b.String()) // nobody reads it: no reason to stop
}

func describeMount(m configs.Mount) string {
	if m.Native != nil {
		return "native " + m.Native.ID + ", warehouse " + m.Native.Warehouse
	}
	if m.Glue != nil {
		return "glue in " + m.Glue.Region + ", read-only"
	}
	if m.Hive != nil {
		return "hive at " + strings.Join(m.Hive.URIs, ", ") + ", read-only"
	}
	return "rest, read-only"
}
