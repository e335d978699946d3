package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/authz"
)

// A Glue mount beside a native one: read through the endpoint, refused when written, and no
// reason not to start while Glue can't be reached.
func TestGlueMount(t *testing.T) {
	dir, catalog := "", ""
	aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		catalog = string(body)
		table := fmt.Sprintf(`{"Name":"orders","DatabaseName":"sales","Parameters":{"table_type":"ICEBERG","metadata_location":"file://%s/warehouse/1.metadata.json"}}`, dir)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		switch r.Header.Get("X-Amz-Target") {
		case "AWSGlue.GetTable":
			_, _ = io.WriteString(w, `{"Table":`+table+`}`)
		case "AWSGlue.GetTables":
			_, _ = io.WriteString(w, `{"TableList":[`+table+`]}`)
		case "AWSGlue.GetDatabases":
			_, _ = io.WriteString(w, `{"DatabaseList":[{"Name":"sales"}]}`)
		default:
			t.Errorf("asked for %s", r.Header.Get("X-Amz-Target"))
		}
	}))
	defer aws.Close()
	config, _ := localConfig(t, "  - at: cloud\n    glue: {region: eu-west-1, catalog_id: '111122223333', endpoint: '"+aws.URL+"', access_key_id: k, secret_access_key: hunter2, timeout: 5s}\n    storage: [disk]\n"+
		"auth: {keys: [{id: a, sha256: "+authz.HashSecret("key")+", principal: ops}], admins: [ops]}\n")
	dir = filepath.Dir(config)
	write(t, dir, "warehouse/1.metadata.json", `{"format-version":2,"table-uuid":"x","location":"file:///x"}`)
	g := mustOpen(t, config)
	const key = "a:key"
	for path, want := range map[string]string{
		"/v1/namespaces?parent=cloud":              `{"namespaces":[["cloud","sales"]]}`,
		"/v1/namespaces/cloud%1Fsales/tables":      `"name":"orders"`,
		"/v1/namespaces/cloud%1FSALES/tables":      `"namespace":["cloud","sales"]`,
		"/v1/cloud/namespaces/sales/tables/ORDERS": `"table-uuid":"x"`,
	} {
		answer := send(g.router, http.MethodGet, path, key, "")
		require.Equal(t, http.StatusOK, answer.Code, "%s: %s", path, answer.Body)
		assert.Contains(t, answer.Body.String(), want, path)
	}
	assert.Contains(t, catalog, `"CatalogId":"111122223333"`)
	answer := send(g.router, http.MethodDelete, "/v1/namespaces/cloud%1Fsales/tables/orders", key, "")
	assert.Equal(t, http.StatusNotAcceptable, answer.Code, answer.Body)
	assert.Contains(t, answer.Body.String(), "glue")
	aws.Close()
	answer = send(g.router, http.MethodGet, "/v1/namespaces/cloud%1Fsales/tables/orders", key, "")
	assert.Equal(t, http.StatusServiceUnavailable, answer.Code, answer.Body)
	assert.NotContains(t, answer.Body.String(), "127.0.0.1")
	require.NoError(t, g.close())

	g = mustOpen(t, config)
	answer = send(g.router, http.MethodGet, "/v1/namespaces?parent=cloud", key, "")
	assert.Equal(t, http.StatusServiceUnavailable, answer.Code, answer.Body)
	_, out, _ := piedmont(t, "check", "--config", config)
	assert.Contains(t, out, "failed  mount          cloud glue: ")
	assert.NotContains(t, out, "hunter2")
}
