package router_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMessagesOfTheCompatibilityKit: Iceberg's compatibility kit compares these texts.
func TestMessagesOfTheCompatibilityKit(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	created := g.table("ns", "tbl")
	g.table("ns", "other")
	requirement := func(r string) string { return `{"requirements":[` + r + `],"updates":[]}` }
	for _, c := range []struct {
		method, target, body string
		status               int
		typ, begins          string
	}{
		{"POST", "/v1/namespaces", `{"namespace":["ns"]}`, 409, "AlreadyExistsException", "Namespace already exists: ns"},
		{"GET", "/v1/namespaces?parent=non-existing", "", 404, "NoSuchNamespaceException", "Namespace does not exist: non-existing"},
		{"POST", "/v1/namespaces/no/properties", `{"updates":{"a":"b"}}`, 404, "NoSuchNamespaceException", "Namespace does not exist: no"},
		{"POST", "/v1/namespaces/no/properties", `{"removals":["a"]}`, 404, "NoSuchNamespaceException", "Namespace does not exist: no"},
		{"DELETE", "/v1/namespaces/ns", "", 409, "NamespaceNotEmptyException", "Namespace ns is not empty"},
		{"GET", "/v1/namespaces/ns/tables/no", "", 404, "NoSuchTableException", "Table does not exist: ns.no"},
		{"GET", "/v1/namespaces/non-existing/tables/tbl", "", 404, "NoSuchTableException", "Table does not exist: non-existing.tbl"},
		{"GET", "/v1/namespaces/ns%1Ftbl/tables/files", "", 404, "NoSuchTableException", "Table does not exist: ns.tbl.files"},
		{"POST", "/v1/namespaces/ns/tables", `{"name":"tbl","schema":` + schema + `}`, 409, "AlreadyExistsException", "Table already exists: ns.tbl"},
		{"POST", "/v1/namespaces/ns/tables", `{"name":"tbl","stage-create":true,"schema":` + schema + `}`, 409, "AlreadyExistsException", "Table already exists: ns.tbl"},
		{"POST", "/v1/namespaces/no/tables", `{"name":"tbl","schema":` + schema + `}`, 404, "NoSuchNamespaceException", "Namespace does not exist: no"},
		{"POST", "/v1/namespaces/ns/register", `{"name":"tbl","metadata-location":` + quoted(created.text("metadata-location")) + `}`, 409, "AlreadyExistsException", "Table already exists: ns.tbl"},
		{"POST", "/v1/tables/rename", rename("ns.tbl", "ns.other"), 409, "AlreadyExistsException", "Cannot rename ns.tbl to ns.other. Table already exists"},
		{"POST", "/v1/tables/rename", rename("ns.no", "ns.new"), 404, "NoSuchTableException", "Table does not exist: ns.no"},
		{"POST", "/v1/tables/rename", rename("ns.tbl", "no.new"), 404, "NoSuchNamespaceException", "Namespace does not exist: no"},
		{"POST", "/v1/namespaces/ns/tables/tbl", requirement(`{"type":"assert-create"}`), 409, "AlreadyExistsException", "Requirement failed: table already exists"},
		{"POST", "/v1/namespaces/ns/tables/tbl", requirement(`{"type":"assert-table-uuid","uuid":"0"}`), 409, "CommitFailedException", "Requirement failed: UUID does not match"},
		{"POST", "/v1/namespaces/ns/tables/tbl", requirement(`{"type":"assert-current-schema-id","current-schema-id":7}`), 409, "CommitFailedException", "Requirement failed: current schema changed"},
		{"POST", "/v1/namespaces/ns/tables/tbl", requirement(`{"type":"assert-last-assigned-field-id","last-assigned-field-id":7}`), 409, "CommitFailedException", "Requirement failed: last assigned field id changed"},
		{"POST", "/v1/namespaces/ns/tables/tbl", requirement(`{"type":"assert-default-spec-id","default-spec-id":7}`), 409, "CommitFailedException", "Requirement failed: default partition spec changed"},
		{"POST", "/v1/namespaces/ns/tables/tbl", requirement(`{"type":"assert-last-assigned-partition-id","last-assigned-partition-id":7}`), 409, "CommitFailedException", "Requirement failed: last assigned partition id changed"},
		{"POST", "/v1/namespaces/ns/tables/tbl", requirement(`{"type":"assert-default-sort-order-id","default-sort-order-id":7}`), 409, "CommitFailedException", "Requirement failed: default sort order changed"},
		{"GET", "/v1/namespaces/ns/views/v", "", 404, "NoSuchViewException", "View does not exist: ns.v"},
	} {
		r := g.do(c.method, c.target, c.body).refused(c.status, c.typ)
		require.True(t, strings.HasPrefix(r.text("error", "message"), c.begins), "%s, want %q", r.Body, c.begins)
	}
}
