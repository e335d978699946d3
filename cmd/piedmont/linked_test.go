package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unwanted packages cost start-up time, memory and minutes of compiling, and do nothing
// that a catalog needs.
var unwanted = []string{
	"github.com/apache/iceberg-go/table", "github.com/apache/iceberg-go/catalog", "github.com/apache/iceberg-go/io",
	"github.com/apache/arrow", "google.golang.org/grpc", "substrait", "duckdb", "datafusion", "parquet", "gocloud.dev", "github.com/stretchr",
	"anishathalye/porcupine", "Shopify/toxiproxy", "hanwen/go-fuse",
}

func TestLinkedPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	linked := strings.Fields(string(out))
	require.Contains(t, linked, "piedmont/native/bolt")
	for _, name := range linked {
		for _, bad := range unwanted {
			assert.NotContains(t, name, bad)
		}
	}
	t.Logf("%d packages are linked", len(linked))
}
