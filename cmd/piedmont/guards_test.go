package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// How a mount hears of changes is exported where it remembers anything.
func TestEventMetrics(t *testing.T) {
	config, _ := localConfig(t, "  - {at: remembers, hive: {uris: ['thrift://127.0.0.1:1']}, fresh_for: 1m}\n  - {at: asks, hive: {uris: ['thrift://127.0.0.1:1']}}\noperator: 127.0.0.1:0\n")
	metrics := get(mustOpen(t, config).operatorHandler(), "/metrics")
	require.Equal(t, 200, metrics.Code)
	for _, name := range []string{"event_polls_total", "event_poll_failures_total", "events_total", "event_resets_total"} {
		assert.Contains(t, metrics.Body.String(), "\npiedmont_mount_"+name+`{kind="hive",mount="remembers"} 0`+"\n")
		assert.NotContains(t, metrics.Body.String(), "piedmont_mount_"+name+`{kind="hive",mount="asks"}`)
	}
}
