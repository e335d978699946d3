package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"piedmont/cache"
	"piedmont/mounts"
)

// healthTimeout bounds the question to each mount that /mounts asks.
const healthTimeout = 5 * time.Second

// operatorHandler serves metrics, profiles and the state of the mounts. It knows no
// credentials; the address it listens on is its only guard.
func (g *gateway) operatorHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(g.metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /mounts", g.serveMounts)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// mountState is what operators see of a mount. The error may name hosts.
type mountState struct {
	At    string `json:"at"`
	Kind  string `json:"kind"`
	State string `json:"state"` // "up", "down"
	Error string `json:"error,omitempty"`
}

func (g *gateway) serveMounts(w http.ResponseWriter, r *http.Request) {
	states := g.mountStates(r.Context())
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string][]mountState{"mounts": states}) // the client went away
}

// mountStates asks all mounts at once.
func (g *gateway) mountStates(ctx context.Context) []mountState {
	tree := g.trees.Acquire()
	if tree == nil {
		return nil
	}
	defer tree.Release()
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	points := tree.Points()
	states := make([]mountState, len(points))
	done := make(chan struct{})
	for i, p := range points {
		go func() {
			states[i] = stateOf(ctx, p)
			done <- struct{}{}
		}()
	}
	for range points {
		<-done
	}
	return states
}

func stateOf(ctx context.Context, p *mounts.Point) mountState {
	s := mountState{At: p.Name(), Kind: p.Kind, State: "up"}
	if h, ok := p.Mount.(mounts.HealthChecker); ok {
		if err := h.Health(ctx); err != nil {
			s.State, s.Error = "down", err.Error()
		}
	}
	return s
}

// measured is a document cache as metrics see it.
type measured interface {
	Stats() cache.Stats
	Bytes() int64
}

// measureCache exports the counts of the document cache of one kind of mount.
func (g *gateway) measureCache(kind string, d measured) error {
	labels := prometheus.Labels{"mounts": kind}
	counter := func(name, help string, value func(cache.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return float64(value(d.Stats())) })
	}
	for _, c := range []prometheus.Collector{
		counter("piedmont_document_cache_hits_total", "Documents found in memory.", func(s cache.Stats) uint64 { return s.Hits }),
		counter("piedmont_document_cache_misses_total", "Documents that had to be read.", func(s cache.Stats) uint64 { return s.Misses }),
		counter("piedmont_document_cache_evictions_total", "Documents dropped to make room.", func(s cache.Stats) uint64 { return s.Evictions }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "piedmont_document_cache_bytes", Help: "Memory taken by documents.", ConstLabels: labels,
		}, func() float64 { return float64(d.Bytes()) }),
	} {
		if err := g.metrics.Register(c); err != nil {
			return err
		}
	}
	return nil
}
