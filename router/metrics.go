package router

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts requests by operation and status, how long they took, and policies that
// couldn't be evaluated.
type Metrics struct {
	requests     *prometheus.CounterVec
	durations    *prometheus.HistogramVec
	policyErrors *prometheus.CounterVec
}

// NewMetrics registers the router's metrics.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "piedmont_requests_total", Help: "Requests answered, by operationId and HTTP status.",
		}, []string{"operation", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "piedmont_request_duration_seconds", Help: "Time to answer a request, by operationId.",
			Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"operation"}),
		policyErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "piedmont_policy_errors_total", Help: "Policies that couldn't be evaluated for a decision, by effect. A forbid denies then.",
		}, []string{"effect"}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.durations, m.policyErrors} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// operationMetrics are those of one operation, looked up once.
type operationMetrics struct {
	ok       prometheus.Counter // 200, nearly all of them
	requests *prometheus.CounterVec
	duration prometheus.Observer
}

func (m *Metrics) of(operation string) *operationMetrics {
	requests := m.requests.MustCurryWith(prometheus.Labels{"operation": operation})
	return &operationMetrics{ok: requests.WithLabelValues("200"), requests: requests, duration: m.durations.WithLabelValues(operation)}
}

func (o *operationMetrics) done(status int, took time.Duration) {
	o.duration.Observe(took.Seconds())
	if status == 200 {
		o.ok.Inc()
		return
	}
	o.requests.WithLabelValues(strconv.Itoa(status)).Inc()
}
