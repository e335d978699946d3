package router

import (
	"encoding/json"
	"net/http"
	"net/url"

	"piedmont/mounts"
)

// catalogConfig is the spec's CatalogConfig. Both maps are required.
type catalogConfig struct {
	Defaults  map[string]string `json:"defaults"`
	Overrides map[string]string `json:"overrides"`
	Endpoints []string          `json:"endpoints"`
	// IdempotencyKeyLifetime is an ISO 8601 duration. Java's clients send keys only if it
	// is there.
	IdempotencyKeyLifetime string `json:"idempotency-key-lifetime,omitempty"`
}

func (rt *Router) getConfig(w http.ResponseWriter, r *http.Request, c *call) error {
	view, err := rt.view(r, c, r.URL.Query().Get("warehouse"))
	if err != nil {
		return err
	}
	config := catalogConfig{
		// Java's clients would else try to exchange their token when it expires, and fail.
		Defaults:  map[string]string{"token-exchange-enabled": "false"},
		Overrides: map[string]string{},
		Endpoints: endpoints(c.tree, view),

		IdempotencyKeyLifetime: keyLifetime(c.tree, view),
	}
	if view.Prefix != "" {
		config.Overrides["prefix"] = url.PathEscape(view.Prefix)
	}
	b, err := json.Marshal(config)
	if err != nil {
		return err
	}
	writeJSON(w, r, http.StatusOK, b)
	return nil
}

// endpoint is one operation as /v1/config advertises it.
type endpoint struct {
	method, path string
	// offered says whether a mount can do it; nil for what every mount can.
	offered func(mounts.Mount) bool
}

func (e endpoint) String() string { return e.method + " /v1/{prefix}/" + e.path }

func can[Capability any](m mounts.Mount) bool {
	_, ok := m.(Capability)
	return ok
}

const (
	pathNamespaces   = "namespaces"
	pathNamespace    = "namespaces/{namespace}"
	pathProperties   = "namespaces/{namespace}/properties"
	pathTables       = "namespaces/{namespace}/tables"
	pathTable        = "namespaces/{namespace}/tables/{table}"
	pathRegister     = "namespaces/{namespace}/register"
	pathMetrics      = "namespaces/{namespace}/tables/{table}/metrics"
	pathUnregister   = "namespaces/{namespace}/tables/{table}/unregister"
	pathRename       = "tables/rename"
	pathTransaction  = "transactions/commit"
	pathViews        = "namespaces/{namespace}/views"
	pathRegisterView = "namespaces/{namespace}/register-view"
	pathRenameView   = "views/rename"
	pathView         = "namespaces/{namespace}/views/{view}"
)

// endpoints is what some mount of the view can do. It is the union: with an intersection
// one read-only mount would stop every Java client from writing anywhere. A mount that
// can't do something refuses by name.
func endpoints(t *mounts.Tree, view mounts.Warehouse) []string {
	list := []string{}
	for _, e := range operations {
		for _, p := range t.Points() {
			if p.At.HasPrefix(view.At) && (e.offered == nil || e.offered(p.Mount)) {
				list = append(list, e.String())
				break
			}
		}
	}
	return list
}
