// Package native is the catalog we own: a mounts.Mount that can be written, over a
// Registry that keeps pointers and a storage that keeps metadata files.
//
// DESIGN.md has the commit protocol. Package metadata holds the documents, bolt a
// registry in one file, registrytest what every registry must keep.
package native
