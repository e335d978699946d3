// Package rest is an upstream Iceberg REST catalog as a read-only mount, over net/http.
//
// New asks nothing. The first call fetches the upstream's configuration, and a call after
// a failed one tries again. Whatever the upstream answers is read within a bound of bytes
// and of time, and checked before it is believed; only its own, typed "not found" becomes
// an absence. See DESIGN.md.
package rest
