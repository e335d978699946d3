//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// twoCatalogs is the configuration of a native root on S3 and an upstream at legacy.
func twoCatalogs(t *testing.T, w *weedServer, operator string) string {
	t.Helper()
	bucket := "e2e-" + strings.ToLower(strings.ReplaceAll(t.Name(), "_", "-"))
	return writeFile(t, filepath.Join(t.TempDir(), "piedmont.yaml"), `
operator: `+operator+`
storage:
  - {name: lake, location: "s3://lake/", s3: {endpoint: "`+w.S3+`", region: us-east-1, path_style: true, access_key_id: admin, secret_access_key: adminsecret}}
mounts:
  - {at: "", native: {id: main, warehouse: "s3://lake/`+bucket+`/"}, storage: [lake]}
  - {at: legacy, rest: {uri: "`+w.REST+`", warehouse: warehouse, credential: "admin:adminsecret", timeout: 3s}}
`)
}

func TestOneEndpointOverTwoCatalogs(t *testing.T) {
	dir := t.TempDir()
	w, err := startWeed(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.stop)
	python(t, "two_catalogs.py", "STEP=seed", "S3_ENDPOINT="+w.S3, "REST_URI="+w.REST)
	upstream := recordUpstream(t, w.REST)
	seen := *w
	seen.REST = upstream.uri
	p := start(t, twoCatalogs(t, &seen, freeAddress(t)), t.TempDir())
	out := python(t, "two_catalogs.py", "STEP=use", "S3_ENDPOINT="+w.S3, "PIEDMONT_URI="+p.URI, "PIEDMONT_KEY="+p.key())
	var refusals map[string]string
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &refusals); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for what, refusal := range refusals {
		if !strings.Contains(refusal, "legacy") {
			t.Errorf("the refusal to %s doesn't name the mount: %s", what, refusal)
		}
	}
	if !strings.Contains(refusals["append"], "ForbiddenError") {
		t.Errorf("a commit to a read-only mount should be forbidden: %s", refusals["append"])
	}
	reads, writes := upstream.counts()
	if reads == 0 || len(writes) > 0 {
		t.Errorf("the upstream saw %d reads, and the writes %v", reads, writes)
	}
}

// TestUpstreamDown: an upstream that is down hurts its own mount only, and needs no
// restart of ours when it is back.
func TestUpstreamDown(t *testing.T) {
	dir := t.TempDir()
	w, err := startWeed(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.stop() })
	python(t, "two_catalogs.py", "STEP=seed", "S3_ENDPOINT="+w.S3, "REST_URI="+w.REST)
	shared := weed(t) // the native mount's storage stays up
	operator := freeAddress(t)
	mixed := *shared
	mixed.REST = w.REST
	p := start(t, twoCatalogs(t, &mixed, operator), t.TempDir())
	key := p.key()
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"db"}})
	p.must("POST", "/v1/namespaces/db/tables", key, simpleTable("t"))
	const orders = "/v1/namespaces/legacy%1Fsales/tables/orders"
	p.must("GET", orders, key, nil)

	w.stop()
	begin := time.Now()
	r := p.do("GET", orders, key, nil)
	if r.status != http.StatusServiceUnavailable || !strings.Contains(r.message(), "legacy") || strings.Contains(string(r.body), "127.0.0.1") {
		t.Errorf("a load while the upstream is down: %d %s", r.status, r.body)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the answer took %s, the deadline is 3s", took)
	}
	p.must("GET", "/readyz", "", nil)
	p.must("POST", "/v1/namespaces/db/tables/t", key, setProperty("a", "b"))
	if r := p.must("GET", "/v1/namespaces", key, nil); !strings.Contains(string(r.body), `["legacy"]`) || !strings.Contains(string(r.body), `["db"]`) {
		t.Errorf("the root doesn't show both: %s", r.body)
	}
	if r, err := try("GET", "http://"+operator+"/mounts", "", nil); err != nil || !strings.Contains(string(r.body), `{"at":"legacy","kind":"rest","state":"down"`) {
		t.Errorf("the operator isn't told: %v %s", err, r.body)
	}

	if w, err = startWeed(dir, w.base); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		if r = p.do("GET", orders, key, nil); r.status == http.StatusOK || time.Now().After(deadline) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if r.status != http.StatusOK {
		t.Errorf("the upstream is back, the mount is not: %d %s", r.status, r.body)
	}
}

func TestWarehouseOnS3SurvivesARestart(t *testing.T) {
	w := weed(t)
	config, data := twoCatalogs(t, w, freeAddress(t)), t.TempDir()
	p := start(t, config, data)
	key := p.key()
	p.must("POST", "/v1/namespaces", key, map[string]any{"namespace": []string{"db"}})
	p.must("POST", "/v1/namespaces/db/tables", key, simpleTable("t"))
	p.must("POST", "/v1/namespaces/db/tables/t", key, setProperty("a", "b"))
	p.stop()
	p = start(t, config, data)
	if r := p.must("GET", "/v1/namespaces/db/tables/t", key, nil); !strings.Contains(string(r.body), `"a":"b"`) || !strings.Contains(string(r.body), `"s3.region":"us-east-1"`) {
		t.Errorf("after a restart: %s", r.body)
	}
}
