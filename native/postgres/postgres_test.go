//go:build e2e

package postgres

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"piedmont/native"
	"piedmont/native/registrytest"
)

// serverURL names a PostgreSQL that the tests may fill. Each test has a schema of its own in it.
const serverURL = "PIEDMONT_TEST_POSTGRES"

func TestRegistry(t *testing.T) {
	registrytest.Run(t, func(t *testing.T) native.Registry { return openTest(t, newSchema(t)) })
}

func TestRegistryReopened(t *testing.T) {
	schemas := map[string]string{}
	whole := t // a schema outlives the subtest that asks for it
	registrytest.RunDurable(t, func(t *testing.T, dir string) native.Registry {
		if schemas[dir] == "" {
			schemas[dir] = newSchema(whole)
		}
		return openTest(t, schemas[dir])
	})
}

// openTest opens a registry that is closed with the test.
func openTest(t testing.TB, url string) *Registry {
	t.Helper()
	r, err := Open(t.Context(), url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// newSchema makes an empty schema and returns a URL that uses it.
func newSchema(t testing.TB) string {
	t.Helper()
	server := os.Getenv(serverURL)
	if server == "" {
		t.Fatal(serverURL + " names no PostgreSQL")
	}
	name := "t" + randomName()
	execute(t, server, "CREATE SCHEMA "+name)
	t.Cleanup(func() { execute(t, server, "DROP SCHEMA "+name+" CASCADE") })
	return withOption(t, server, "search_path", name)
}

func randomName() string { return strings.ToLower(rand.Text()) }

// withOption adds an option to a URL.
func withOption(t testing.TB, server, name, value string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// execute runs SQL, several statements too, on a connection of its own.
func execute(t testing.TB, url, sql string) {
	t.Helper()
	ctx := context.Background() // a test that ended cleans up
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		t.Fatal(err)
	}
}
