package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"piedmont/mounts"
	"piedmont/native"
)

// control is what admin commands ask for: of the server that holds the data directory,
// through a socket in it, or, where there is none, of themselves. It knows no credentials:
// only who may write to the data directory can connect.
type control struct {
	registry native.Registry
	tree     func(context.Context) (*mounts.Tree, error) // to be released
	log      *slog.Logger
	patience time.Duration // how long a client may take nothing of an answer
}

// controlPatience is long enough for a disk that is busy, and ends the reading for a client
// that was stopped: what is read for it is held in the registry until the end.
const controlPatience = 2 * time.Minute

func newControl(g *gateway) *control {
	return &control{registry: g.registry, tree: g.tree, log: g.log, patience: controlPatience}
}

// handler has all the routes.
func (c *control) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+backupPath, c.handle(c.backup))
	mux.Handle("GET "+droppedPath, c.handle(c.listDropped))
	mux.Handle("POST "+restorePath, c.handle(c.restoreTable))
	mux.Handle("GET "+recordPath, c.handle(c.readRecord))
	mux.Handle("GET "+recordsPath, c.handle(c.readRecords))
	return mux
}

// controlServer serves admin commands. It has no ReadTimeout: where one passes during a
// request the request's context ends, and these may take long.
func (g *gateway) controlServer() *http.Server {
	return &http.Server{
		Handler: newControl(g).handler(), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
}

// errorTrailer holds the error, quoted, that came up after an answer had begun.
const errorTrailer = "Piedmont-Error"

// handle answers with f. Its error is shown as it is: who asks may see everything here.
func (c *control) handle(f func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", errorTrailer)
		answer := &controlAnswer{ResponseWriter: w, patience: c.patience}
		err := f(answer, r)
		if err == nil {
			return
		}
		c.log.Warn("an admin command failed", "command", r.Method+" "+r.URL.Path, "error", err)
		if answer.begun {
			w.Header().Set(errorTrailer, strconv.QuoteToASCII(err.Error()))
			return
		}
		w.Header().Del("Trailer")
		http.Error(w, err.Error(), http.StatusInternalServerError)
	})
}

// controlAnswer notes whether an answer has begun, and gives up on a client that takes
// nothing of it.
type controlAnswer struct {
	http.ResponseWriter
	patience time.Duration
	begun    bool
}

func (a *controlAnswer) Write(b []byte) (int, error) {
	a.begun = true
	if err := http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.patience)); err != nil {
		return 0, fmt.Errorf("bound the time of an answer: %w", err)
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap lets an http.ResponseController reach the connection.
func (a *controlAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
