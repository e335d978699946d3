package main

import (
	"net"
	"os"
	"strings"
)

// reachable is the URI that the snippets name. An address that stands for every one of the
// machine's is replaced by the machine's name.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		if name, err := os.Hostname(); err == nil {
			address = net.JoinHostPort(name, port)
		}
	}
	return "http://" + address
}

// snippets are paste-ready ways to connect. They read the key from its file, and put it
// on no command line, where every user of the machine could see it.
func snippets(uri, keyFile string) string {
	quoted := "'" + strings.ReplaceAll(keyFile, "'", `'\''`) + "'"
	python := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(keyFile) + `"`
	return strings.NewReplacer("URI", uri, "PYKEYFILE", python, "KEYFILE", quoted).Replace(snippetText)
}

const snippetText = `
# PyIceberg
from pyiceberg.catalog import load_catalog
catalog = load_catalog("piedmont", type="rest", uri="URI", credential=open(PYKEYFILE).read().strip())

# Spark, with iceberg-spark-runtime on its class path; for S3 iceberg-aws-bundle and AWS_… variables too
(umask 077; cat > piedmont-spark.conf) <<EOF
spark.sql.extensions org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
spark.sql.catalog.piedmont org.apache.iceberg.spark.SparkCatalog
spark.sql.catalog.piedmont.type rest
spark.sql.catalog.piedmont.uri URI
spark.sql.catalog.piedmont.credential $(cat KEYFILE)
spark.sql.defaultCatalog piedmont
EOF
spark-sql --properties-file piedmont-spark.conf

# DuckDB
(umask 077; cat > piedmont.sql) <<EOF
INSTALL iceberg; LOAD iceberg;
CREATE SECRET (TYPE iceberg, TOKEN '$(cat KEYFILE)');
ATTACH 'piedmont' AS piedmont (TYPE iceberg, ENDPOINT 'URI', ACCESS_DELEGATION_MODE 'none');
EOF
duckdb -init piedmont.sql

`
