//go:build e2e

package rest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// writer fills a catalog with few requests of its own, so that it shares no code with
// what is tested.
type writer struct {
	t                             testing.TB
	base, token, sep, plain, etag string
	header                        http.Header // of the last answer
}

func newWriter(t testing.TB, o rest.Options) *writer {
	t.Helper()
	w := &writer{t: t, base: strings.TrimRight(o.URI, "/") + "/v1", sep: "%1F"}
	if id, secret, ok := strings.Cut(o.Credential, ":"); ok {
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}, "scope": {"catalog"}}
		resp, err := http.PostForm(w.base+"/oauth/tokens", form)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }() // read whole
		var answer struct {
			Token string `json:"access_token"`
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
		w.token = answer.Token
	}
	var config struct{ Defaults, Overrides map[string]string }
	require.NoError(t, json.Unmarshal(w.do(http.MethodGet, "/config?warehouse="+url.QueryEscape(o.Warehouse), ""), &config))
	for _, from := range []map[string]string{config.Defaults, config.Overrides} {
		if s := from["namespace-separator"]; s != "" {
			w.sep = s
		}
	}
	prefix := config.Overrides["prefix"]
	if prefix == "" {
		prefix = config.Defaults["prefix"]
	}
	if prefix != "" {
		w.base += "/" + prefix
	}
	var err error
	w.plain, err = url.PathUnescape(w.sep)
	require.NoError(t, err)
	return w
}

func (w *writer) do(method, path, body string) []byte {
	w.t.Helper()
	r, err := http.NewRequest(method, w.base+path, strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	if w.etag != "" {
		r.Header.Set("If-None-Match", w.etag)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	defer func() { _ = resp.Body.Close() }() // read whole
	w.header = resp.Header
	answer, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.True(w.t, resp.StatusCode < 300 || resp.StatusCode == http.StatusNotModified, "%s %s: %s", method, path, answer)
	return answer
}

func (w *writer) path(n mounts.Namespace) string {
	levels := make([]string, len(n))
	for i, level := range n {
		levels[i] = strings.ReplaceAll(url.PathEscape(level), "+", "%2B")
	}
	return "/namespaces/" + strings.Join(levels, w.sep)
}

func (w *writer) fill(c mounttest.Content) {
	w.t.Helper()
	for _, n := range c.Namespaces {
		properties := n.Properties
		if properties == nil {
			properties = map[string]string{}
		}
		body, err := json.Marshal(map[string]any{"namespace": n.Name, "properties": properties})
		require.NoError(w.t, err)
		w.do(http.MethodPost, "/namespaces", string(body))
	}
	for _, id := range c.Tables {
		name, err := json.Marshal(id.Name)
		require.NoError(w.t, err)
		w.do(http.MethodPost, w.path(id.Namespace)+"/tables", fmt.Sprintf(
			`{"name":%s,"properties":{},"stage-create":false,"schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]}}`, name))
	}
}

func (w *writer) createView(id mounts.Identifier) {
	w.t.Helper()
	n, err := json.Marshal(id.Namespace)
	require.NoError(w.t, err)
	w.do(http.MethodPost, w.path(id.Namespace)+"/views", fmt.Sprintf(
		`{"name":%q,"properties":{},"schema":{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":true,"type":"long"}]},`+
			`"view-version":{"version-id":1,"timestamp-ms":1700000000000,"schema-id":0,"summary":{"engine-name":"none"},"default-namespace":%s,`+
			`"representations":[{"type":"sql","sql":"select 1","dialect":"none"}]}}`, id.Name, n))
}
