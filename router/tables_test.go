package router_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func TestRegionUnderBothKeys(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	created := g.table("ns", "t")
	loaded := g.do("GET", "/v1/namespaces/ns/tables/t", "").ok()
	for _, r := range []reply{created, loaded} {
		require.Equal(t, map[string]any{"client.region": "eu-west-1", "s3.region": "eu-west-1"}, r.member("config"))
	}
}

// sparkCreate is a create as Spark sends it: field ids from 0, null where it has nothing.
const sparkCreate = `{"name":"t","location":null,"schema":{"type":"struct","schema-id":0,"fields":[
  {"id":0,"name":"id","required":false,"type":"long"},{"id":1,"name":"ts","required":false,"type":"timestamptz"},
  {"id":2,"name":"nested","required":false,"type":{"type":"struct","fields":[{"id":3,"name":"x","required":false,"type":"int"}]}}]},
 "partition-spec":{"spec-id":0,"fields":[{"name":"id","transform":"identity","source-id":0,"field-id":1000},{"name":"ts_day","transform":"day","source-id":1,"field-id":1001}]},
 "write-order":null,"stage-create":false,"properties":{"owner":"root"}}`

func TestLocationNullAndWriteOrderNullInCreate(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	r := g.do("POST", "/v1/namespaces/ns/tables", sparkCreate).ok()
	require.True(t, strings.HasPrefix(r.text("metadata", "location"), "file://"+g.dir+"/main/ns/t-"))
	require.Equal(t, "0", r.member("metadata", "default-sort-order-id").(interface{ String() string }).String())
}

func TestFieldIDsFromZeroInSparksCreateBodies(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	body := g.do("POST", "/v1/namespaces/ns/tables", sparkCreate).ok().Body.String()
	require.Contains(t, body, `"id":1,"name":"id"`)
	require.Contains(t, body, `"id":2,"name":"ts"`)
	require.Contains(t, body, `"id":3,"name":"nested"`)
	require.Contains(t, body, `"id":4,"name":"x"`)
	require.Contains(t, body, `"last-column-id":4`)
	require.Contains(t, body, `"name":"id","transform":"identity","source-id":1`)
	require.Contains(t, body, `"name":"ts_day","transform":"day","source-id":2`)
	require.NotRegexp(t, `"source-id":0[,}]`, body)
}

func TestMissingRequirements(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	for _, body := range []string{
		`{"updates":[{"action":"set-properties","updates":{"a":"1"}}]}`,
		`{"requirements":null,"updates":[{"action":"set-properties","updates":{"a":"1"}}]}`,
		`{"identifier":null,"requirements":[],"updates":[{"action":"set-properties","updates":{"a":"1"}}]}`,
	} {
		require.Equal(t, "1", g.do("POST", "/v1/namespaces/ns/tables/t", body).ok().text("metadata", "properties", "a"))
	}
}

func TestBodysIdentifierIsIgnoredOnCommit(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	g.table("ns", "other")
	for _, identifier := range []string{`{"namespace":["ns"],"name":"other"}`, `{"namespace":["a.b"],"name":""}`, `5`} {
		g.do("POST", "/v1/namespaces/ns/tables/t", `{"identifier":`+identifier+`,"updates":[{"action":"set-properties","updates":{"a":"1"}}]}`).ok()
	}
	require.Equal(t, "1", g.do("GET", "/v1/namespaces/ns/tables/t", "").text("metadata", "properties", "a"))
	require.Equal(t, map[string]any{}, g.do("GET", "/v1/namespaces/ns/tables/other", "").member("metadata", "properties"))
}

func TestCommitAnswersWithoutConfig(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	r := g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "1")).ok()
	require.Nil(t, r.member("config"))
	require.NotEmpty(t, r.text("metadata-location"))
}

// dropper is a mount that only remembers whether a drop shall purge.
type dropper struct {
	broken
	purges []bool
}

func (d *dropper) DropTable(_ context.Context, _ mounts.Caller, _ mounts.Identifier, purge bool) error {
	d.purges = append(d.purges, purge)
	return nil
}

func TestPurgeRequestedInAnyCase(t *testing.T) {
	d := &dropper{}
	g := newGatewayWith(t, settings{points: []mounts.Point{}})
	g.trees.Swap(mustTree(t, append(g.points, mounts.Point{At: mounts.Namespace{"it"}, Kind: "native", Mount: d})))
	for value, want := range map[string]bool{
		"": false, "?purgeRequested=true": true, "?purgeRequested=True": true, "?purgeRequested=TRUE": true,
		"?purgeRequested=False": false, "?purgeRequested=": false, "?purgeRequested=maybe": false, "?PurgeRequested=true": false,
	} {
		require.Equal(t, 204, g.do("DELETE", "/v1/namespaces/it%1Fns/tables/t"+value, "").Code, value)
		require.Equal(t, want, d.purges[len(d.purges)-1], value)
	}
}

func TestHeadAndDeleteAnswer204WithoutABody(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	for _, request := range []string{
		"HEAD /v1/namespaces/ns", "HEAD /v1/namespaces/ns/tables/t", "HEAD /v1/namespaces/legacy", "HEAD /v1/namespaces/legacy%1Fdb1/tables/t1",
		"DELETE /v1/namespaces/ns/tables/t", "DELETE /v1/namespaces/ns",
	} {
		method, target, _ := strings.Cut(request, " ")
		r := g.do(method, target, "")
		require.Equal(t, 204, r.Code, request)
		require.Zero(t, r.Body.Len(), request)
	}
	for _, target := range []string{"/v1/namespaces/ns", "/v1/namespaces/ns/tables/t", "/v1/namespaces/a%1F", "/v1/namespaces/ns/views/v", "/v1/namespaces", "/nowhere"} {
		r := g.do("HEAD", target, "")
		require.GreaterOrEqual(t, r.Code, 400, target)
		require.Zero(t, r.Body.Len(), target)
	}
}

func TestUnknownDelegationIsNoError(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	for i, value := range []string{"vended-credentials", "remote-signing", "vended-credentials,remote-signing", "never-heard-of", "", ",,"} {
		name := "t" + string(rune('0'+i))
		header := "X-Iceberg-Access-Delegation: " + value
		g.do("POST", "/v1/namespaces/ns/tables", `{"name":"`+name+`","schema":`+schema+`}`, header).ok()
		g.do("GET", "/v1/namespaces/ns/tables/"+name, "", header).ok()
		g.do("GET", "/v1/namespaces", "", header).ok()
	}
}

func TestUnknownQueryParametersAreIgnored(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	for _, target := range []string{
		"/v1/config?clientId=x&warehouse=", "/v1/namespaces?x=%FF", "/v1/namespaces/ns?a=1;b=2", "/v1/namespaces/ns/tables?y",
		"/v1/namespaces/ns/tables/t?referenced-by=ns%1Fv&snapshots=all&x=%zz", "/v1/namespaces/ns/tables/t?snapshots=",
	} {
		g.do("GET", target, "").ok()
	}
}

func TestSnapshotsBogus(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	for _, mode := range []string{"bogus", "ALL", "all,refs", "refs%20"} {
		g.do("GET", "/v1/namespaces/ns/tables/t?snapshots="+mode, "").refused(400, "BadRequestException", "snapshots")
	}
}

func TestSnapshotsRefs(t *testing.T) {
	g := newGateway(t)
	at := "/v1/namespaces/legacy%1Fdb1/tables/t1"
	all, refs := g.do("GET", at, "").ok(), g.do("GET", at+"?snapshots=refs", "").ok()
	require.Contains(t, all.Body.String(), oldTable, "byte for byte")
	require.Len(t, all.member("metadata", "snapshots"), 2)
	require.Len(t, refs.member("metadata", "snapshots"), 1)
	require.Contains(t, refs.Body.String(), `9007199254740993`)
	require.Contains(t, refs.Body.String(), `"unknown":1.10`)
}

// TestMetricsReports: a report about a table that isn't there is refused where asking is
// cheap. A read-only mount isn't asked.
func TestMetricsReports(t *testing.T) {
	g, _ := withTable(t, settings{})
	report := func(namespace, table string) reply {
		return g.do("POST", "/v1/namespaces/"+namespace+"/tables/"+table+"/metrics", "{}")
	}
	require.Equal(t, 204, report("ns", "t").Code)
	report("ns", "none").refused(404, "NoSuchTableException", "ns.none")
	report("none", "t").refused(404, "NoSuchTableException", "none.t")
	report("team", "t").refused(404, "NoSuchTableException", "team.t")
	g.legacy.forget()
	for _, table := range []string{"t1", "none"} {
		require.Equal(t, 204, report("legacy%1Fdb1", table).Code)
	}
	require.Empty(t, g.legacy.forget())
}
