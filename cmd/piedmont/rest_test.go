package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A mount of an upstream that ignores case and shows names as they were typed once, in lower
// case: what is listed can be asked for, and however many ask, no more than the mount's connections
// ask at once.
func TestLowerRESTMount(t *testing.T) {
	var under, most atomic.Int32
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := under.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer under.Add(-1)
		switch strings.ToLower(r.URL.Path) {
		case "/v1/config":
			_, _ = io.WriteString(w, `{"defaults":{},"overrides":{}}`)
		case "/v1/namespaces":
			_, _ = io.WriteString(w, `{"namespaces":[["Sales"]]}`)
		case "/v1/namespaces/sales/tables":
			_, _ = io.WriteString(w, `{"identifiers":[{"namespace":["Sales"],"name":"Orders"}]}`)
		case "/v1/namespaces/sales/tables/orders":
			_, _ = io.WriteString(w, `{"metadata-location":"s3://x/1","metadata":{"format-version":2,"table-uuid":"x","location":"s3://x"}}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer upstream.Close()
	config, _ := localConfig(t, "  - {at: low, case: lower, rest: {uri: '"+upstream.URL+"', timeout: 5s, connections: 1}}\n")
	g := mustOpen(t, config)
	for path, want := range map[string]string{
		"/v1/namespaces?parent=low":                `{"namespaces":[["low","sales"]]}`,
		"/v1/namespaces/low%1FSales/tables":        `{"identifiers":[{"namespace":["low","sales"],"name":"orders"}]}`,
		"/v1/namespaces/low%1Fsales/tables/ORDERS": `"table-uuid":"x"`,
	} {
		answers := make(chan *httptest.ResponseRecorder, 8)
		for range cap(answers) {
			go func() { answers <- send(g.router, http.MethodGet, path, g.generated, "") }()
		}
		for range cap(answers) {
			answer := <-answers
			require.Equal(t, http.StatusOK, answer.Code, "%s: %s", path, answer.Body)
			assert.Contains(t, answer.Body.String(), want, path)
		}
	}
	assert.EqualValues(t, 1, most.Load(), "questions at once")
}
