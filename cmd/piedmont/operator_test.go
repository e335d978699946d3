package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOperator(t *testing.T) {
	upstream := httptest.NewServer(http.NotFoundHandler())
	config, _ := localConfig(t, "  - {at: legacy, rest: {uri: '"+upstream.URL+"', timeout: 1s}}\noperator: 127.0.0.1:0\n")
	upstream.Close()
	g := mustOpen(t, config)
	assert.Equal(t, 200, send(g.router, "GET", "/v1/namespaces", g.generated, "").Code)
	operator := g.operatorHandler()

	metrics := get(operator, "/metrics")
	require.Equal(t, 200, metrics.Code, "no credential is asked for")
	for _, want := range []string{
		`piedmont_requests_total{operation="listNamespaces",status="200"} 1`, "piedmont_request_duration_seconds_bucket",
		`piedmont_document_cache_bytes{mounts="files"} 0`, `piedmont_document_cache_hits_total{mounts="rest"} 0`, "go_goroutines", "process_resident_memory_bytes",
	} {
		assert.Contains(t, metrics.Body.String(), want)
	}

	assert.NotContains(t, metrics.Body.String(), `mount=""`, "a native mount has no source that could be slow")

	answer := get(operator, "/mounts")
	require.Equal(t, 200, answer.Code)
	var body struct{ Mounts []mountState }
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &body))
	require.Len(t, body.Mounts, 2)
	assert.Equal(t, mountState{Kind: "native", State: "up"}, body.Mounts[0])
	assert.Equal(t, "legacy", body.Mounts[1].At)
	assert.Equal(t, "down", body.Mounts[1].State)
	assert.NotEmpty(t, body.Mounts[1].Error)

	asked := get(operator, "/metrics").Body.String()
	for _, want := range []string{"requests_total%s 3", "failures_total%s 3", "retries_total%s 2", "refused_total%s 0", "under_way%s 0", "waiting%s 0", "breaker%s 0", "breaker_opened_total%s 0"} {
		assert.Contains(t, asked, fmt.Sprintf("piedmont_mount_"+want, `{kind="rest",mount="legacy"}`))
	}

	assert.Equal(t, 200, get(operator, "/debug/pprof/").Code)
	assert.Equal(t, 404, get(operator, "/debug/pprof/cmdline").Code, "arguments may hold secrets")
	assert.Equal(t, 404, get(operator, "/v1/config").Code)
	assert.Equal(t, 200, get(g.router, "/readyz").Code, "a mount that is down is no reason")
}

func TestNothingOfTheOperatorsIsPublic(t *testing.T) {
	config, _ := localConfig(t, "")
	g := mustOpen(t, config)
	for _, path := range []string{"/metrics", "/mounts", "/debug/pprof/", "/debug/pprof/heap", "/v1/metrics", "/debug/vars"} {
		for _, credential := range []string{"", g.generated} {
			w := send(g.router, "GET", path, credential, "")
			assert.Contains(t, []int{401, 404}, w.Code, path)
			assert.NotContains(t, w.Body.String(), "go_goroutines")
		}
	}
}

func TestReadiness(t *testing.T) {
	config, _ := localConfig(t, "")
	g := mustOpen(t, config)
	assert.Equal(t, 200, get(g.router, "/healthz").Code)
	assert.Equal(t, 200, get(g.router, "/readyz").Code)
	g.stopping.Store(true)
	assert.Equal(t, 503, get(g.router, "/readyz").Code)
	assert.Equal(t, 200, get(g.router, "/healthz").Code)
	g.stopping.Store(false)
	require.NoError(t, g.registry.Close())
	assert.Equal(t, 503, get(g.router, "/readyz").Code, "the registry is gone")
}
