// Package guard stands between a federated mount and its source: a deadline, a bound on
// calls under way with a short queue, a circuit breaker and retries. One Guard for each
// mount keeps a source that is slow or dead from slowing anything else. It is for reads:
// a call may be made several times. See DESIGN.md.
package guard
