// Package metastore is a mount over a metastore: a source of databases, whose tables are
// names with parameters, and where a parameter points to a table's metadata file. Hive
// Metastores and AWS Glue are such sources. What differs between them is behind Source;
// what a mount promises is kept here, once.
package metastore

import (
	"context"
	"time"
)

// Source is a metastore. Names are lower case: the mount makes them so before it asks, and a
// source never returns others. What the metastore calls otherwise than it was asked for, since
// it ignores spaces or accents, is an absence: a policy was decided on the name that was asked
// for. All methods may be called at once, keep to their context, and neither retry nor cache nor
// bound how many run: Catalog does.
//
// Errors are *mounts.Error, with a Detail that names the mount and holds no host, no secret
// and none of the metastore's words, which belong into Err. Catalog adds the object that was asked
// for where the Detail has no {name}. NoSuchNamespace and NoSuchTable say
// that the metastore itself said so. Unavailable, Timeout and BadGateway say that nothing is
// known; of these Unavailable may be tried again at once, unless it carries how long to wait.
// Forbidden says that the metastore is well but lets the mount's credential not see this object; clients
// hear Unavailable.
type Source interface {
	// Databases lists the databases, one page at a time in the metastore's own order: at most
	// size names, or all at once where the metastore knows no pages. next is empty on the last
	// page; the next call's token is what the call before returned. A size of 0 is the
	// metastore's own.
	Databases(ctx context.Context, token string, size int) (names []string, next string, err error)
	// Database reads one. NoSuchNamespace.
	Database(ctx context.Context, name string) (Database, error)
	// Objects lists the names of the objects of one kind in a database, without reading the
	// objects. NoSuchNamespace, also where the metastore would answer with an empty list.
	Objects(ctx context.Context, database string, kind Kind, token string, size int) (names []string, next string, err error)
	// Object reads one, of whatever kind. NoSuchTable, also where the database doesn't exist.
	Object(ctx context.Context, database, name string) (Object, error)
	// Health asks something cheap. The error may hold hosts.
	Health(ctx context.Context) error
	// Close frees connections. It is called once, after the last call ended.
	Close() error
}

// Kind is what a name in a database stands for.
type Kind uint8

// The kinds.
const (
	Other Kind = iota // nothing of Iceberg's: a plain table, a view of the metastore's own
	Table             // an Iceberg table
	View              // an Iceberg view
)

// Database is what a metastore knows of one.
type Database struct {
	// Properties are its parameters and, under the keys that Iceberg's own catalogs give
	// them, "location", "comment", "owner" and what else there is. Never nil.
	Properties map[string]string
}

// Object is a name in a database as the metastore has it.
type Object struct {
	Kind Kind
	// Is says what an Other is, for messages: "a Hive view", "a plain table of type
	// EXTERNAL_TABLE".
	Is string
	// MetadataLocation is where the metadata file of a Table or View lies, verbatim. Empty where the
	// metastore says that it is of Iceberg but not where.
	MetadataLocation string
	// Location is where the object's files lie; Owner is whose it is. Empty where unknown.
	Location, Owner string
	// Parameters are all that the metastore keeps of it.
	Parameters map[string]string
	// Modified is when the metastore last changed it; zero where unknown.
	Modified time.Time
}
