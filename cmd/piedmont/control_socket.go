package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

const (
	// controlSocket is the socket's name in the data directory.
	controlSocket = "control.sock"
	// maxSocketPath is what every system takes; Linux takes 107 bytes, others 103.
	maxSocketPath = 103
)

// listenControl makes the socket of a data directory, for its owner alone. It comes into being
// in a folder that nobody else can enter, since for a moment its mode is what the umask says,
// and takes the place of one that a killed process left: the lock on the directory says
// that nobody listens there.
func listenControl(data string) (*controlListener, error) {
	l, err := bindControl(data)
	if err != nil {
		return nil, fmt.Errorf("make the socket for admin commands: %w", err)
	}
	return l, nil
}

func bindControl(data string) (_ *controlListener, err error) {
	private := filepath.Join(data, controlSocket+".new")
	if err := os.RemoveAll(private); err != nil {
		return nil, err
	}
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(private)) }()
	// A umask may have taken from its owner what is needed next.
	if err := os.Chmod(private, 0o700); err != nil { //nolint:gosec // a folder, its owner's alone
		return nil, err
	}
	var l net.Listener
	err = withSocketPath(private, func(path string) error {
		l, err = net.Listen("unix", path)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) //nolint:forcetypeassert // what "unix" gives
	path := filepath.Join(data, controlSocket)
	err = os.Chmod(filepath.Join(private, controlSocket), 0o600)
	if err == nil {
		err = os.Rename(filepath.Join(private, controlSocket), path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &controlListener{Listener: l, path: path}, nil
}

// controlListener removes its socket when it is closed.
type controlListener struct {
	net.Listener
	path string
}

func (l *controlListener) Close() error {
	return errors.Join(os.Remove(l.path), l.Listener.Close())
}

// dialControl connects to the server of a data directory.
func dialControl(ctx context.Context, data string) (conn net.Conn, err error) {
	err = withSocketPath(data, func(path string) error {
		conn, err = new(net.Dialer).DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}

// withSocketPath calls f with a path of the socket in dir that is short enough. On Linux an
// open directory has one of its own.
func withSocketPath(dir string, f func(path string) error) error {
	path := filepath.Join(dir, controlSocket)
	if len(path) <= maxSocketPath {
		return f(path)
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the path %s has more than the %d bytes that a socket's may have: name a shorter data directory with --data", path, maxSocketPath)
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // it was only read
	return f(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), controlSocket))
}
