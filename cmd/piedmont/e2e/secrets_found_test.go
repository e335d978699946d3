//go:build e2e

package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

const secretive = `
operator: 127.0.0.1:1
registry: {postgres: {url: "postgres://piedmont:of-the-database@db.internal:5432/registry"}}
storage:
  - {name: lake, location: "s3://lake/", s3: {endpoint: "http://s3.internal:8333", region: r, access_key_id: AKID, secret_access_key: of-the-storage}}
mounts:
  - {at: a, rest: {uri: "https://rest.internal", credential: "piedmont:of-the-credential", oauth2_server_uri: "https://tokens.internal/get"}}
  - {at: b, rest: {uri: "https://rest.internal:1", token: "${env:PIEDMONT_TEST_TOKEN}"}}
  - {at: c, glue: {region: r, endpoint: "https://glue.internal", access_key_id: AKID, secret_access_key: of-the-glue}, storage: [lake]}
  - {at: d, hive: {uris: ["thrift://hive.internal:9083", "thrift://hive2.internal:9083"], plain: {user: u, password: "of the hive&"}}, storage: [lake]}
auth: {keys: [{id: k, sha256: "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1", principal: p}]}
`

// TestSecretsAreFound: the search that all other tests end with finds what it should, in each
// place, and only there.
func TestSecretsAreFound(t *testing.T) {
	t.Setenv("PIEDMONT_TEST_TOKEN", "of-the-environment")
	b, data := newSecretBook(), t.TempDir()
	config := writeFile(t, filepath.Join(t.TempDir(), "piedmont.yaml"), secretive)
	if c, err := b.keepConfig(config); err != nil || c.Operator == "" {
		t.Fatalf("the configuration: %v, %+v", err, c)
	}
	writeFile(t, filepath.Join(data, "admin.key"), "admin:of-the-admin\n")
	secrets := []string{
		"of-the-database", "of-the-storage", "of-the-credential", "of-the-environment", "of-the-glue", "of-the-admin",
		"of the hive&", "of+the+hive%26", `of the hive\u0026`, "cGllZG1vbnQ6b2YtdGhlLWNyZWRlbnRpYWw=", // piedmont:of-the-credential
	}
	servers := []string{"db.internal:5432", "s3.internal:8333", "rest.internal", "tokens.internal", "glue.internal", "hive.internal:9083", "hive2.internal:9083"}
	for _, hidden := range append(servers, secrets...) {
		inLog := searchFor(t, b, data, "a line\nwith "+hidden+" in it\n", "")
		inAnswer := searchFor(t, b, data, "", hidden)
		isSecret := len(hidden) > 0 && !strings.Contains(hidden, ".internal")
		if len(inAnswer) == 0 || (len(inLog) > 0) != isSecret {
			t.Errorf("%q is found in a log: %q, in an answer: %q", hidden, inLog, inAnswer)
		}
		if found := strings.Join(append(inLog, inAnswer...), "\n"); strings.Contains(found, hidden) {
			t.Errorf("what is found is told again: %s", found)
		}
	}
	if found := searchFor(t, b, data, "s3://lake/ and AKID of r", "lake, r and AKID"); len(found) > 0 {
		t.Errorf("found what is no secret: %q", found)
	}
}

// searchFor lets a process log and answer something, and returns what is found in that.
func searchFor(t *testing.T, b *secretBook, data, log, answer string) []string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, answer, http.StatusTeapot)
	}))
	defer server.Close()
	w := &told{name: "a process", data: data, out: &lockedBuffer{}, book: b}
	if err := w.serves(server.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w.out, log); err != nil {
		t.Fatal(err)
	}
	r, err := try("GET", server.URL, "", nil)
	if err != nil || strings.TrimSpace(string(r.body)) != answer {
		t.Fatalf("the answer is changed: %v %q", err, r.body)
	}
	return w.searched()
}
