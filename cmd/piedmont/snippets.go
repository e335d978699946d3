package main

import "strings"

// snippets are paste-ready ways to connect. They read the key from its file.
func snippets(uri, keyFile string) string {
	return strings.NewReplacer("URI", uri, "KEYFILE", keyFile).Replace(snippetText)
}

const snippetText = `
PyIceberg:
  from pyiceberg.catalog import load_catalog
  catalog = load_catalog("piedmont", type="rest", uri="URI", credential=open("KEYFILE").read().strip())

Spark (with iceberg-spark-runtime on its class path):
  spark-sql --conf spark.sql.catalog.piedmont=org.apache.iceberg.spark.SparkCatalog \
    --conf spark.sql.catalog.piedmont.type=rest --conf spark.sql.catalog.piedmont.uri=URI \
    --conf spark.sql.catalog.piedmont.credential="$(cat KEYFILE)" --conf spark.sql.defaultCatalog=piedmont

DuckDB:
  duckdb -cmd "INSTALL iceberg; LOAD iceberg; CREATE SECRET (TYPE iceberg, TOKEN '$(cat KEYFILE)'); ATTACH 'piedmont' AS piedmont (TYPE iceberg, ENDPOINT 'URI');"

`
