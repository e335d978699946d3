// Package hive is a Hive Metastore as a source for package metastore, over Thrift. One
// code path serves metastores from 2.3 on: it makes only calls that all of them have.
//
// Open asks nothing and opens no connection. Whatever the metastore answers is read
// within a bound of bytes, of elements and of time before it is believed; only its own,
// typed "no such object" becomes an absence. See DESIGN.md.
package hive
