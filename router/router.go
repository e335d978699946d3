package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"piedmont/authz"
	"piedmont/mounts"
)

// Options are what a Router needs. All but Now and Logger are required: a router without its
// authenticator or authorizer is never made.
type Options struct {
	Trees         *mounts.Holder
	Authenticator *authz.Authenticator
	Authorizer    *authz.Authorizer
	// PageKey seals page tokens: 32 bytes, the same in every replica.
	PageKey []byte
	// Storage is what clients need to know of each storage profile, by its name, as
	// properties of their FileIO. It holds no secret.
	Storage map[string]map[string]string
	// Ready says whether the registry answers.
	Ready func(ctx context.Context) error
	// Metrics counts requests.
	Metrics *Metrics
	// Now is the clock that ages of answers are told by; nil for time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// Router is the HTTP handler of the public listener.
type Router struct {
	trees         *mounts.Holder
	authenticator *authz.Authenticator
	authorizer    *authz.Authorizer
	pages         *pageTokens
	storage       map[string][]byte // encoded
	ready         func(ctx context.Context) error
	metrics       *Metrics
	now           func() time.Time
	faulty        sync.Map // policies that were logged, by file and line
	log           *slog.Logger
	mux           *chi.Mux
}

// New makes a router. It fails where a part is missing.
func New(o Options) (*Router, error) {
	if o.Trees == nil || o.Authenticator == nil || o.Authorizer == nil || o.Ready == nil || o.Metrics == nil {
		return nil, errors.New("router: trees, authenticator, authorizer, readiness and metrics are required")
	}
	pages, err := newPageTokens(o.PageKey)
	if err != nil {
		return nil, fmt.Errorf("router: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	rt := &Router{
		trees: o.Trees, authenticator: o.Authenticator, pages: pages,
		storage: map[string][]byte{}, ready: o.Ready, metrics: o.Metrics, now: o.Now, log: o.Logger,
	}
	rt.authorizer = o.Authorizer.Reporting(rt.policyError)
	for name, properties := range o.Storage {
		if rt.storage[name], err = json.Marshal(properties); err != nil {
			return nil, fmt.Errorf("router: storage profile %s: %w", name, err)
		}
	}
	rt.routes()
	return rt, nil
}

// policyError counts each time that a policy couldn't be evaluated, and logs the first: a
// list may bring as many as it has names.
func (rt *Router) policyError(e authz.PolicyError) {
	effect := "permit"
	if e.Forbid {
		effect = "forbid"
	}
	rt.metrics.policyErrors.WithLabelValues(effect).Inc()
	if _, told := rt.faulty.LoadOrStore(fmt.Sprintf("%s:%d", e.File, e.Line), true); told {
		return
	}
	rt.log.Error("a policy can't be evaluated", slog.String("effect", effect), slog.String("file", e.File), slog.Int("line", e.Line), slog.String("error", e.Message))
}

// ServeHTTP serves one request.
func (rt *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) { rt.mux.ServeHTTP(w, r) }

// handler serves one operation. What it returns is answered by answerError, unless it has
// begun to answer itself.
type handler func(rt *Router, w http.ResponseWriter, r *http.Request, c *call) error

// operation is one route below /v1/ and /v1/{prefix}/.
type operation struct {
	endpoint
	id      string
	serve   handler
	commits bool // its outcome can be unknown
}

// operations are those of the REST specification that are served, by their operationIds.
var operations = []operation{
	{endpoint{"GET", pathNamespaces, nil}, "listNamespaces", (*Router).listNamespaces, false},
	{endpoint{"POST", pathNamespaces, can[mounts.NamespaceWriter]}, "createNamespace", (*Router).createNamespace, false},
	{endpoint{"GET", pathNamespace, nil}, "loadNamespaceMetadata", (*Router).loadNamespace, false},
	{endpoint{"HEAD", pathNamespace, nil}, "namespaceExists", (*Router).namespaceExists, false},
	{endpoint{"DELETE", pathNamespace, can[mounts.NamespaceWriter]}, "dropNamespace", (*Router).dropNamespace, false},
	{endpoint{"POST", pathProperties, can[mounts.NamespaceWriter]}, "updateProperties", (*Router).updateProperties, false},
	{endpoint{"GET", pathTables, nil}, "listTables", (*Router).listTables, false},
	{endpoint{"POST", pathTables, can[mounts.TableWriter]}, "createTable", (*Router).createTable, true},
	{endpoint{"GET", pathTable, nil}, "loadTable", (*Router).loadTable, false},
	{endpoint{"HEAD", pathTable, nil}, "tableExists", (*Router).tableExists, false},
	{endpoint{"POST", pathTable, can[mounts.TableWriter]}, "updateTable", (*Router).updateTable, true},
	{endpoint{"DELETE", pathTable, can[mounts.TableWriter]}, "dropTable", (*Router).dropTable, false},
	{endpoint{"POST", pathRegister, can[mounts.TableWriter]}, "registerTable", (*Router).registerTable, true},
	{endpoint{"POST", pathUnregister, can[mounts.TableWriter]}, "unregisterTable", (*Router).unregisterTable, false},
	{endpoint{"POST", pathMetrics, nil}, "reportMetrics", (*Router).reportMetrics, false},
	{endpoint{"POST", pathRename, can[mounts.TableRenamer]}, "renameTable", (*Router).renameTable, false},
	{endpoint{"POST", pathTransaction, can[mounts.TransactionCommitter]}, "commitTransaction", (*Router).commitTransaction, true},
	{endpoint{"GET", pathViews, can[mounts.ViewReader]}, "listViews", (*Router).listViews, false},
	{endpoint{"POST", pathViews, can[mounts.ViewWriter]}, "createView", (*Router).createView, true},
	{endpoint{"GET", pathView, can[mounts.ViewReader]}, "loadView", (*Router).loadView, false},
	{endpoint{"HEAD", pathView, can[mounts.ViewReader]}, "viewExists", (*Router).viewExists, false},
	{endpoint{"POST", pathView, can[mounts.ViewWriter]}, "replaceView", (*Router).replaceView, true},
	{endpoint{"DELETE", pathView, can[mounts.ViewWriter]}, "dropView", (*Router).dropView, false},
	{endpoint{"POST", pathRegisterView, can[mounts.ViewWriter]}, "registerView", (*Router).registerView, true},
	{endpoint{"POST", pathRenameView, can[mounts.ViewWriter]}, "renameView", (*Router).renameView, false},
}

func (rt *Router) routes() {
	rt.mux = chi.NewMux()
	rt.mux.Use(rawPath)
	rt.mux.NotFound(rt.plain("unknown", (*Router).noSuchRoute))
	rt.mux.MethodNotAllowed(rt.plain("unknown", (*Router).noSuchMethod))
	rt.mux.Get("/healthz", rt.plain("healthz", (*Router).healthz))
	rt.mux.Get("/readyz", rt.plain("readyz", (*Router).readyz))
	rt.mux.Post("/v1/oauth/tokens", rt.plain("getToken", (*Router).getToken))
	rt.mux.Get("/v1/config", rt.operation(operation{id: "getConfig", serve: (*Router).getConfig}))
	for _, op := range operations {
		served := rt.operation(op)
		rt.mux.Method(op.method, "/v1/"+op.path, served)
		rt.mux.Method(op.method, "/v1/{prefix}/"+op.path, served)
	}
}

// rawPath makes chi route on the path as it was sent: decoded once and by us, %2F and %1F
// stay inside their segment.
func rawPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chi.RouteContext(r.Context()).RoutePath = r.URL.EscapedPath()
		next.ServeHTTP(w, r)
	})
}

// The routes that say how the server is.

func (rt *Router) healthz(w http.ResponseWriter, _ *http.Request, _ *call) error {
	w.WriteHeader(http.StatusOK)
	return nil
}

// readyz asks the registry only: a federated mount that is down is no reason to take the
// server out of a load balancer.
func (rt *Router) readyz(w http.ResponseWriter, r *http.Request, c *call) error {
	if err := rt.ready(r.Context()); err != nil {
		return &mounts.Error{Kind: mounts.Unavailable, Op: c.operation, Detail: "Not ready: the registry doesn't answer, or the server is stopping", Err: err}
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (rt *Router) noSuchRoute(w http.ResponseWriter, r *http.Request, _ *call) error {
	return rt.refuseRoute(w, r, http.StatusNotFound, "NoSuchEndpointException", "No such endpoint")
}

func (rt *Router) noSuchMethod(w http.ResponseWriter, r *http.Request, _ *call) error {
	for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
		if rt.mux.Match(chi.NewRouteContext(), method, r.URL.EscapedPath()) {
			w.Header().Add("Allow", method)
		}
	}
	return rt.refuseRoute(w, r, http.StatusMethodNotAllowed, "MethodNotAllowedException", "This endpoint has no such method")
}

func (rt *Router) refuseRoute(w http.ResponseWriter, r *http.Request, code int, typ, message string) error {
	body, err := json.Marshal(map[string]errorModel{"error": {Message: message, Type: typ, Code: code}})
	if err != nil {
		return err
	}
	writeJSON(w, r, code, body)
	return nil
}
