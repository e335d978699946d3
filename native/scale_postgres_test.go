//go:build e2e

package native_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"piedmont/native"
	"piedmont/native/postgres"
)

// BenchmarkTablesOnPostgres is BenchmarkTables over the database that PIEDMONT_TEST_POSTGRES
// names.
func BenchmarkTablesOnPostgres(b *testing.B) { benchTables(b, postgresForBench) }

func postgresForBench(b *testing.B) native.Registry {
	b.Helper()
	ctx := b.Context()
	server, err := url.Parse(os.Getenv("PIEDMONT_TEST_POSTGRES"))
	must(b, err)
	if server.Host == "" {
		b.Fatal("PIEDMONT_TEST_POSTGRES names no PostgreSQL")
	}
	admin, err := pgx.Connect(ctx, server.String())
	must(b, err)
	schema := fmt.Sprintf("bench%d", time.Now().UnixNano())
	_, err = admin.Exec(ctx, "CREATE SCHEMA "+schema)
	must(b, err)
	query := server.Query()
	query.Set("search_path", schema)
	server.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	registry, err := postgres.Open(ctx, server.String(), postgres.Options{})
	must(b, err)
	b.Cleanup(func() {
		_ = registry.Close()
		_, err := admin.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE")
		must(b, errors.Join(err, admin.Close(context.Background())))
	})
	return registry
}
