// Package mounts is the vocabulary of Piedmont: what a catalog is to the rest of the
// program, how objects are named, who asks, what can go wrong, and the Tree that makes
// one namespace of many catalogs.
//
// A Mount is the least a catalog can do: be read. What more it can do is told by the
// small interfaces that it also implements (NamespaceWriter, TableWriter, …) and found by
// type assertion, so what is advertised and what is implemented can't part. Never wrap
// a Mount: embedding hides what it can do.
//
// The package imports nothing of Piedmont. See DESIGN.md for the rules of the tree.
package mounts
