package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/metastore"
	"piedmont/mounts/rest"
)

// guards exports how each federated mount of the tree in force asks its source. Mounts come
// and go with the tree, so they are looked at when somebody collects.
type guards struct{ trees func() *mounts.Holder }

func guardDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("piedmont_mount_"+name, help, []string{"mount", "kind"}, nil)
}

// guardValues are what is exported of each guard.
var guardValues = []struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(guard.Stats) float64
}{
	{guardDesc("requests_total", "Requests made of a mount's source, retries included."), prometheus.CounterValue, func(s guard.Stats) float64 { return float64(s.Calls) }},
	{guardDesc("failures_total", "Requests that the source failed."), prometheus.CounterValue, func(s guard.Stats) float64 { return float64(s.Failed) }},
	{guardDesc("retries_total", "Requests made once more after a failure."), prometheus.CounterValue, func(s guard.Stats) float64 { return float64(s.Retried) }},
	{guardDesc("refused_total", "Requests that were not made: the queue was full, or the source is left alone."), prometheus.CounterValue, func(s guard.Stats) float64 { return float64(s.Refused) }},
	{guardDesc("breaker_opened_total", "How often the source was left alone after failures."), prometheus.CounterValue, func(s guard.Stats) float64 { return float64(s.Opened) }},
	{guardDesc("under_way", "Requests that the source works on."), prometheus.GaugeValue, func(s guard.Stats) float64 { return float64(s.UnderWay) }},
	{guardDesc("waiting", "Requests that wait for their turn."), prometheus.GaugeValue, func(s guard.Stats) float64 { return float64(s.Waiting) }},
	{guardDesc("breaker", "0 while the source is asked, 1 while one request finds out whether it is well, 2 while it is left alone."), prometheus.GaugeValue, breakerValue},
}

// eventValues are what is exported of how a mount hears of changes, where it remembers anything
// and its source may tell.
var eventValues = []struct {
	desc  *prometheus.Desc
	value func(*metastore.Events) uint64
}{
	{guardDesc("event_polls_total", "Rounds of questions for what has changed in the catalog."), func(e *metastore.Events) uint64 { return e.Polls }},
	{guardDesc("event_poll_failures_total", "Rounds that the source didn't answer: then loads may be as old as fresh_for."), func(e *metastore.Events) uint64 { return e.Failed }},
	{guardDesc("events_total", "Notifications of changes that were read."), func(e *metastore.Events) uint64 { return e.Read }},
	{guardDesc("event_resets_total", "How often all that was remembered was dropped: at the beginning, at gaps between notifications, for a database that changed."), func(e *metastore.Events) uint64 { return e.Cleared }},
}

func breakerValue(s guard.Stats) float64 {
	return map[string]float64{"closed": 0, "half-open": 1, "open": 2}[s.Breaker]
}

// guardOf is the guard's state, where the mount has one.
func guardOf(m mounts.Mount) (guard.Stats, bool) {
	switch m := m.(type) {
	case *rest.Catalog:
		return m.Stats().Guard, true
	case *metastore.Catalog:
		return m.Stats().Guard, true
	}
	return guard.Stats{}, false
}

// eventsOf is how the mount hears of changes; nil where it doesn't.
func eventsOf(m mounts.Mount) *metastore.Events {
	if c, ok := m.(*metastore.Catalog); ok {
		return c.Stats().Events
	}
	return nil
}

// Describe names what Collect sends.
func (g guards) Describe(out chan<- *prometheus.Desc) {
	for _, v := range guardValues {
		out <- v.desc
	}
	for _, v := range eventValues {
		out <- v.desc
	}
}

// Collect reads all guards.
func (g guards) Collect(out chan<- prometheus.Metric) {
	holder := g.trees()
	if holder == nil {
		return
	}
	tree := holder.Acquire()
	if tree == nil {
		return
	}
	defer tree.Release()
	for _, p := range tree.Points() {
		s, ok := guardOf(p.Mount)
		if !ok {
			continue
		}
		for _, v := range guardValues {
			out <- prometheus.MustNewConstMetric(v.desc, v.kind, v.value(s), p.Name(), p.Kind)
		}
		e := eventsOf(p.Mount)
		if e == nil {
			continue
		}
		for _, v := range eventValues {
			out <- prometheus.MustNewConstMetric(v.desc, prometheus.CounterValue, float64(v.value(e)), p.Name(), p.Kind)
		}
	}
}
