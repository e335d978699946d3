package router_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/native"
)

func idempotencyKey(n int) string {
	return fmt.Sprintf("Idempotency-Key: 01948b0a-0000-7000-8000-%012d", n)
}

// TestRepeatedMutationsAreCarriedOutOnce sends every mutation twice under one key: the
// answers are the same, and the second changes nothing.
func TestRepeatedMutationsAreCarriedOutOnce(t *testing.T) {
	g := newGateway(t)
	location := func() string { return g.do("GET", "/v1/namespaces/ns/tables/t", "").ok().text("metadata-location") }
	for i, m := range []struct {
		method, target string
		body           func() string
	}{
		{"POST", "/v1/namespaces", func() string { return `{"namespace":["ns"],"properties":{"a":"b"}}` }},
		{"POST", "/v1/namespaces/ns/properties", func() string { return `{"removals":["a","x"],"updates":{"c":"d"}}` }},
		{"POST", "/v1/namespaces/ns/tables", func() string { return `{"name":"t","schema":` + schema + `}` }},
		{"POST", "/v1/namespaces/ns/tables/t", func() string { return setProperty("k", "v") }},
		{"POST", "/v1/namespaces/ns/tables/t", func() string { return setProperty("k", "v") }}, // changes nothing
		{"POST", "/v1/tables/rename", func() string { return rename("ns.t", "ns.u") }},
		{"POST", "/v1/tables/rename", func() string { return rename("ns.u", "ns.t") }},
		{"POST", commitPath, func() string { return transaction(change("ns.t", "", "k", "w")) }},
		{"POST", "/v1/namespaces/ns/register", func() string { return register("t", location(), true) }},
		{"POST", "/v1/namespaces/ns/tables/t/unregister", func() string { return "{}" }},
		{"POST", "/v1/namespaces/ns/tables", func() string { return `{"name":"t","schema":` + schema + `}` }},
		{"DELETE", "/v1/namespaces/ns/tables/t?purgeRequested=true", func() string { return "" }},
		{"DELETE", "/v1/namespaces/ns", func() string { return "" }},
	} {
		body := m.body()
		first := g.do(m.method, m.target, body, idempotencyKey(i)).ok()
		before := g.state()
		second := g.do(m.method, m.target, body, idempotencyKey(i)).ok()
		what := fmt.Sprint(i, " ", m.method, " ", m.target)
		require.Equal(t, before, g.state(), what)
		require.Equal(t, first.Code, second.Code, what)
		require.Equal(t, first.Header().Get("ETag"), second.Header().Get("ETag"), what)
		if first.Code == 200 {
			require.JSONEq(t, first.Body.String(), second.Body.String(), what)
		}
	}
}

// TestRepeatedRefusalsStay: a refusal is kept, also when what it was about has changed.
func TestRepeatedRefusalsStay(t *testing.T) {
	g := newGateway(t)
	missing := func(n int) reply {
		return g.do("POST", "/v1/namespaces/ns/tables", `{"name":"t","schema":`+schema+`}`, idempotencyKey(n))
	}
	first := missing(1).refused(404, "NoSuchNamespaceException", "ns")
	g.namespace("ns")
	again := missing(1).refused(404, "NoSuchNamespaceException", "ns")
	require.Equal(t, first.Body.String(), again.Body.String())
	missing(2).ok()
	missing(3).refused(409, "AlreadyExistsException", "Table already exists: ns.t")
	g.do("DELETE", "/v1/namespaces/ns/tables/t", "").ok()
	missing(3).refused(409, "AlreadyExistsException", "Table already exists: ns.t")
}

// TestOneKeyForTwoRequests: never a 409, on which clients delete their files.
func TestOneKeyForTwoRequests(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	g.table("ns", "u")
	g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "1"), idempotencyKey(1)).ok()
	before := g.state()
	for _, r := range []reply{
		g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "2"), idempotencyKey(1)),
		g.do("POST", "/v1/namespaces/ns/tables/u", setProperty("a", "1"), idempotencyKey(1)),
		g.do("DELETE", "/v1/namespaces/ns/tables/t", "", idempotencyKey(1)),
		g.do("POST", "/v1/namespaces", `{"namespace":["other"]}`, idempotencyKey(1)),
	} {
		r.refused(422, "UnprocessableEntityException", "Idempotency-Key")
	}
	require.Equal(t, before, g.state())
}

func TestKeysAreOfAPrincipal(t *testing.T) {
	g := newGatewayWith(t, settings{policies: `permit (principal in Group::"writers", action, resource);`})
	g.namespace("ns")
	g.table("ns", "t")
	g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "1"), idempotencyKey(1)).ok()
	g.as(etl, "POST", "/v1/namespaces/ns/tables/t", setProperty("a", "2"), idempotencyKey(1)).ok()
	require.Equal(t, "2", g.do("GET", "/v1/namespaces/ns/tables/t", "").ok().text("metadata", "properties", "a"))
}

func TestKeysThatAreNoUUIDsAreRefused(t *testing.T) {
	g := newGateway(t)
	for _, key := range []string{"x", "01948b0a00007000800000000000000a", "{01948b0a-0000-7000-8000-00000000000a}", "urn:uuid:01948b0a-0000-7000-8000-00000000000a", "01948b0a-0000-7000-8000-00000000000g"} {
		g.do("POST", "/v1/namespaces", `{"namespace":["ns"]}`, "Idempotency-Key: "+key).refused(400, "BadRequestException", "Idempotency-Key", "UUID")
	}
}

// TestRacingRequestsUnderOneKey: one is carried out, all are answered alike.
func TestRacingRequestsUnderOneKey(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	const rounds, racers = 20, 6
	for n := range rounds {
		answers := make([]reply, racers)
		var wg sync.WaitGroup
		for i := range racers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				answers[i] = g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("n", fmt.Sprint(n)), idempotencyKey(n))
			}()
		}
		wg.Wait()
		for _, a := range answers {
			require.JSONEq(t, answers[0].ok().Body.String(), a.ok().Body.String())
		}
	}
	log := g.do("GET", "/v1/namespaces/ns/tables/t", "").ok().member("metadata", "metadata-log").([]any)
	require.Len(t, log, rounds, "one document for each key")
}

// TestReceiptsOutliveARestartAndExpire: they lie in the registry, and go when their time
// is over and not before.
func TestReceiptsOutliveARestartAndExpire(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "1"), idempotencyKey(1)).ok()
	before := g.state()
	g.Handler = g.route(settings{keys: allKeys()})
	g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "1"), idempotencyKey(1)).ok()
	require.Equal(t, before, g.state())
	require.Equal(t, "PT30M", g.do("GET", "/v1/config", "").ok().text("idempotency-key-lifetime"))

	n, err := native.Sweep(t.Context(), g.registry, g.now().Add(30*time.Minute))
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = native.Sweep(t.Context(), g.registry, g.now().Add(30*time.Minute+2*time.Second))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "2"), idempotencyKey(1)).ok()
}

// TestARepeatedCommitIsNeverDenied: it was carried out, so whatever stands in the way of
// repeating the answer must not read as "nothing was done".
func TestARepeatedCommitIsNeverDenied(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	commit := func() reply {
		return g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "1"), idempotencyKey(1))
	}
	location := commit().ok().text("metadata-location")
	g.do("POST", "/v1/namespaces/ns/tables/t", setProperty("a", "2")).ok()
	// another start, with nothing in memory
	g.points[0].Mount = g.native("main")
	g.plant()
	g.Handler = g.route(settings{keys: allKeys()})
	file := strings.TrimPrefix(location, "file://")
	require.NoError(t, os.Rename(file, file+".gone"))
	commit().refused(500, "CommitStateUnknownException")
	require.NoError(t, os.Rename(file+".gone", file))
	commit().ok()
}

// TestRefusalsByReadOnlyMountsAreNotKept: another configuration could allow it.
func TestRefusalsByReadOnlyMountsAreNotKept(t *testing.T) {
	g := newGateway(t)
	g.namespace("ns")
	g.table("ns", "t")
	g.do("POST", "/v1/tables/rename", rename("ns.t", "legacy.db1.t"), idempotencyKey(1)).refused(406, "UnsupportedOperationException", "legacy")
	g.do("POST", "/v1/tables/rename", rename("ns.t", "ns.u"), idempotencyKey(1)).ok()
}
