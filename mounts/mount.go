package mounts

import (
	"context"
	"time"
)

// Caller is who asks. It is passed explicitly, never in a context, since caches,
// single-flight and page tokens are keyed by it.
type Caller struct {
	// Principal is the name policies know: "etl" for a key, "<issuer>/<sub>" for OIDC.
	Principal string
	// Groups are the principal's groups.
	Groups []string
	// Receipt is the client's Idempotency-Key on a mutation; nil without one.
	Receipt *Receipt
	// NoCache asks for what the source says now, where the mount might else answer from memory
	// (see Table.Asked).
	NoCache bool
}

// Page asks for one page of a list. The zero Page is the first page of the mount's own
// size.
type Page struct {
	// Token is what the call before returned as next; empty for the first page. A token
	// that isn't the mount's own is a BadRequest.
	Token string
	// Size is the most entries wanted, never a minimum; below 1 the mount chooses.
	Size int
}

// Snapshots says which snapshots a load carries.
type Snapshots uint8

// The modes of the spec's "snapshots" parameter.
const (
	SnapshotsAll  Snapshots = iota // every snapshot
	SnapshotsRefs                  // only those that a branch or tag names
)

// LoadOptions is what a load asks besides the name.
type LoadOptions struct {
	Snapshots Snapshots
}

// Document is an immutable metadata document. Its slices must not be changed.
type Document interface {
	// Raw is exactly one JSON object, byte for byte as it lies in storage (or with some
	// snapshots left out, where that was asked for).
	Raw() []byte
	// Deflated is Raw as raw DEFLATE blocks that end in a sync flush and hold no final
	// block, with the CRC-32 of Raw, so that it can be one part of a gzip member.
	Deflated() (blocks []byte, crc uint32)
}

// Table is what a mount knows of a table once it has read the pointer.
type Table struct {
	// MetadataLocation is where the document lies, verbatim. Empty for a staged create.
	MetadataLocation string
	// Version changes whenever the table changes, and never returns. It is opaque and
	// may hold any bytes.
	Version string
	// Storage names the storage profile that holds the table; empty for none.
	Storage string
	// Asked is when the source was asked for what an answer from memory says; zero where it
	// was asked for this very load.
	Asked time.Time
	// Metadata reads the document. It may do I/O, so it is called last: after a 304 was
	// ruled out. Errors: NotFound where the file is surely gone, Unavailable or Timeout
	// where nobody knows, Internal or BadGateway where it is no metadata document.
	Metadata func(ctx context.Context) (Document, error)
}

// Mount is a catalog that can be read. All methods may be called at the same time.
//
// Identifiers are the mount's own: the tree strips the mount point's path and puts it
// back. They are valid (see Identifier.Validate) and canonical (see Canonicalizer).
//
// Every error is an *Error, or is treated as Internal. An error is never an absence:
// NoSuchNamespace and NoSuchTable mean that the source said so; where it could not be
// asked the answer is Unavailable, Timeout or BadGateway.
//
// Lists are the caller's to change.
type Mount interface {
	// ListNamespaces lists the direct children of parent (the root for top-level ones)
	// as full paths in the mount. next is empty on the last page. NoSuchNamespace where
	// the parent doesn't exist; the root always does.
	ListNamespaces(ctx context.Context, c Caller, parent Namespace, p Page) (children []Namespace, next string, err error)
	// LoadNamespace returns a namespace's properties, never nil. NoSuchNamespace.
	LoadNamespace(ctx context.Context, c Caller, n Namespace) (map[string]string, error)
	// ListTables lists the Iceberg tables directly in n. NoSuchNamespace.
	ListTables(ctx context.Context, c Caller, n Namespace, p Page) (tables []Identifier, next string, err error)
	// LoadTable reads the table's pointer. NoSuchTable, also where the namespace doesn't
	// exist; NotFound where the metadata file is known to be gone.
	LoadTable(ctx context.Context, c Caller, id Identifier, o LoadOptions) (*Table, error)
	// TableExists returns nil for a table that exists, whether or not its metadata can be
	// read, and else NoSuchTable.
	TableExists(ctx context.Context, c Caller, id Identifier) error
	// Close frees what the mount holds. It is called once, after the last call ended.
	Close() error
}

// Canonicalizer is a mount that takes several spellings for one name. The tree applies
// it before anything is authorized, cached or asked; Canonical(Canonical(x)) must equal
// Canonical(x).
type Canonicalizer interface {
	// Canonical is the one spelling of a level or a table's name.
	Canonical(name string) string
}

// PropertiesUpdate is the outcome of UpdateProperties: the keys set, the keys removed,
// and those that should have been removed but weren't there. None is nil.
type PropertiesUpdate struct {
	Updated, Removed, Missing []string
}

// NamespaceWriter is a mount whose namespaces can be changed.
type NamespaceWriter interface {
	// CreateNamespace creates n and returns its properties. AlreadyExists;
	// NoSuchNamespace where the parent doesn't exist.
	CreateNamespace(ctx context.Context, c Caller, n Namespace, properties map[string]string) (map[string]string, error)
	// DropNamespace drops an empty namespace. NoSuchNamespace, NamespaceNotEmpty.
	DropNamespace(ctx context.Context, c Caller, n Namespace) error
	// UpdateProperties removes and sets properties at once. NoSuchNamespace;
	// Unprocessable where a key is in both.
	UpdateProperties(ctx context.Context, c Caller, n Namespace, removals []string, updates map[string]string) (PropertiesUpdate, error)
}

// TableWriter is a mount whose tables can be changed. Bodies are those of the spec's
// requests, unread: the mount refuses what is wrong in them with BadRequest. What it
// returns has its document at hand, so that Table.Metadata does no I/O.
//
// Any method may return CommitStateUnknown once its change may have happened, and then
// nothing else.
type TableWriter interface {
	// CreateTable creates id from a CreateTableRequest, or, where the request says
	// stage-create, only returns what would be created. AlreadyExists, NoSuchNamespace.
	CreateTable(ctx context.Context, c Caller, id Identifier, body []byte) (*Table, error)
	// RegisterTable makes id of an existing metadata file, or moves an existing table to
	// it (overwrite). AlreadyExists, NoSuchNamespace, NotFound where the file isn't there.
	RegisterTable(ctx context.Context, c Caller, id Identifier, r RegisterRequest) (*Table, error)
	// UnregisterTable takes the table out of the catalog, leaves its files and returns what
	// it was. NoSuchTable, NotFound where its metadata file is gone.
	UnregisterTable(ctx context.Context, c Caller, id Identifier) (*Table, error)
	// CommitTable applies a CommitTableRequest; the identifier in the body is ignored.
	// NoSuchTable, CommitFailed, AlreadyExists (assert-create).
	CommitTable(ctx context.Context, c Caller, id Identifier, body []byte) (*Table, error)
	// DropTable takes the table out of the catalog. purge asks for its files to be removed,
	// now or later. NoSuchTable.
	DropTable(ctx context.Context, c Caller, id Identifier, purge bool) error
}

// RegisterRequest is the spec's RegisterTableRequest without its name.
type RegisterRequest struct {
	MetadataLocation string
	Overwrite        bool
}

// TableRenamer moves tables, also between mounts it owns. NoSuchTable for the source,
// NoSuchNamespace for the target's namespace, AlreadyExists for the target, BadRequest
// where the target may not hold the table's location. Unsupported where it doesn't own
// the target's mount.
type TableRenamer interface {
	RenameTable(ctx context.Context, c Caller, from, to Target) error
}

// TableChange is one table's share of a transaction: a CommitTableRequest, unread, and the
// table that its identifier was resolved to.
type TableChange struct {
	Target Target
	Body   []byte
}

// TransactionCommitter changes several tables at once, also in several mounts it owns: all
// or none. Errors are those of TableWriter.CommitTable, in the names of the tree, BadRequest
// where a table stands twice, and Forbidden where it doesn't own one of the mounts.
type TransactionCommitter interface {
	CommitTransaction(ctx context.Context, c Caller, changes []TableChange) error
}

// HealthChecker is a mount that can tell whether its source answers.
type HealthChecker interface {
	// Health asks the source something cheap. The error may hold hosts: it is shown to
	// operators only.
	Health(ctx context.Context) error
}
