// Package metadata holds table metadata documents (Iceberg table spec, format versions
// 1 to 3) and view metadata documents (view spec, version 1) without losing anything: a
// document is its JSON text, cut into members, and an update replaces only the members
// it names. What this package has never heard of (new fields of snapshots, schemas,
// refs, representations, of the top level) stays as it came.
//
// The ways in:
//
//   - Parse reads a metadata file, ParseCommit the body of a commit, ParseCreate that
//     of a create.
//   - Document.CheckRequirements and Document.Apply are a commit to an existing table.
//   - New is a direct or staged create, Build the commit that ends a staged one.
//   - ParseView, ParseViewCommit, ParseCreateView, ViewDocument.Apply and NewView are
//     the same for views.
//
// Every refusal is a *mounts.Error whose Detail may be shown: BadRequest, naming the
// path of what is wrong, for what can never work; CommitFailed for what may work once
// the client has refreshed; InvalidArgument where clients match the type as well. Rules that the spec leaves open follow Apache's Java
// implementation (TableMetadata.Builder, ViewMetadata.Builder, UpdateRequirement), texts included, because
// clients and the REST compatibility kit match them. DESIGN.md lists where it differs.
package metadata
