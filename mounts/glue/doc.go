// Package glue is an AWS Glue Data Catalog as a source for package metastore. It reads
// databases and tables through Glue's own API, never through Glue's Iceberg REST endpoint,
// which rebuilds metadata and loses field ids.
//
// NewSource asks nothing over the network. How often Glue is asked is bounded, since its
// quotas are shared by everything in the account and Region; only Glue's own, typed "no such
// entity" becomes an absence. See DESIGN.md.
package glue
