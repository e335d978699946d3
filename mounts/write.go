package mounts

import "context"

// CreateNamespace creates a namespace of the tree and returns its properties. What
// exists because of a mount point is AlreadyExists; a mount that can't be written, or
// none around the name, is Unsupported.
func (t *Tree) CreateNamespace(ctx context.Context, c Caller, at Target, properties map[string]string) (map[string]string, error) {
	const op = "createNamespace"
	exists := &Error{Kind: AlreadyExists, Op: op, Name: at.Path.String(), Detail: "Namespace already exists: {name}"}
	if at.Path.IsRoot() {
		return nil, &Error{Kind: BadRequest, Op: op, Detail: "Invalid namespace: it has no level"}
	}
	if at.fixed() {
		return nil, exists
	}
	if at.Point == nil {
		around, err := t.Resolve(ctx, c, at.Path.Parent())
		if err == nil && around.Place == Inside {
			err = &Error{Kind: NoSuchNamespace, Op: op, Name: around.Path.String()}
		}
		if err != nil {
			return nil, err
		}
		return nil, at.readOnly(op, Unsupported)
	}
	w, ok := at.Point.Mount.(NamespaceWriter)
	if !ok {
		switch _, err := at.Point.Mount.LoadNamespace(ctx, c, at.Namespace); {
		case err == nil:
			return nil, exists
		case !Is(err, NoSuchNamespace):
			return nil, at.Restore(err)
		}
		return nil, at.readOnly(op, Unsupported)
	}
	stored, err := w.CreateNamespace(ctx, c, at.Namespace, properties)
	return stored, at.Restore(err)
}

// DropNamespace drops an empty namespace of the tree. One with a mount point below it is
// never empty.
func (t *Tree) DropNamespace(ctx context.Context, c Caller, at Target) error {
	const op = "dropNamespace"
	w, err := at.namespaceWriter(op)
	if err != nil {
		return err
	}
	if at.Place == Ancestor {
		return &Error{Kind: NamespaceNotEmpty, Op: op, Name: at.Path.String(), Detail: "Namespace {name} is not empty: a mount lies below it"}
	}
	return at.Restore(w.DropNamespace(ctx, c, at.Namespace))
}

// UpdateProperties changes the properties of a namespace of the tree.
func (t *Tree) UpdateProperties(ctx context.Context, c Caller, at Target, removals []string, updates map[string]string) (PropertiesUpdate, error) {
	w, err := at.namespaceWriter("updateProperties")
	if err != nil {
		return PropertiesUpdate{}, err
	}
	done, err := w.UpdateProperties(ctx, c, at.Namespace, removals, updates)
	return done, at.Restore(err)
}

// namespaceWriter is the mount that can change the namespace, or the refusal.
func (t Target) namespaceWriter(op string) (NamespaceWriter, error) {
	if t.Point == nil && t.Place == Inside {
		return nil, &Error{Kind: NoSuchNamespace, Op: op, Name: t.Path.String()}
	}
	if t.fixed() || t.Namespace.IsRoot() {
		return nil, &Error{
			Kind: Unsupported, Op: op, Name: t.Path.String(),
			Detail: "'{name}' is a mount point or leads to one: it can only be changed in the configuration",
		}
	}
	w, ok := t.Point.Mount.(NamespaceWriter)
	if !ok {
		return nil, t.readOnly(op, Unsupported)
	}
	return w, nil
}

// CreateTable creates or stages a table of the tree.
func (t *Tree) CreateTable(ctx context.Context, c Caller, at Target, body []byte) (*Table, error) {
	w, err := newWriter[TableWriter](at, "createTable")
	if err != nil {
		return nil, err
	}
	table, err := w.CreateTable(ctx, c, at.Inner(), body)
	return table, at.Restore(err)
}

// RegisterTable makes a table of the tree from an existing metadata file.
func (t *Tree) RegisterTable(ctx context.Context, c Caller, at Target, r RegisterRequest) (*Table, error) {
	w, err := newWriter[TableWriter](at, "registerTable")
	if err != nil {
		return nil, err
	}
	table, err := w.RegisterTable(ctx, c, at.Inner(), r)
	return table, at.Restore(err)
}

// newWriter is the mount that can create the table or view, or the refusal.
func newWriter[W any](t Target, op string) (w W, err error) {
	if t.Point == nil && t.Place == Inside {
		return w, &Error{Kind: NoSuchNamespace, Op: op, Name: t.Path.String()}
	}
	if t.Point == nil {
		return w, t.readOnly(op, Unsupported)
	}
	w, ok := t.Point.Mount.(W)
	if !ok {
		return w, t.readOnly(op, Unsupported)
	}
	if t.Namespace.IsRoot() {
		return w, &Error{
			Kind: Unsupported, Op: op, Name: t.Path.String(),
			Detail: "'{name}' is a mount point, which holds namespaces but no tables: name a namespace inside it",
		}
	}
	return w, nil
}

// CommitTable applies a CommitTableRequest to a table of the tree. A mount that can't be
// written is Forbidden here, not Unsupported: clients clean up after a 403 only.
func (t *Tree) CommitTable(ctx context.Context, c Caller, at Target, body []byte) (*Table, error) {
	w, err := at.tableWriter("updateTable", Forbidden)
	if err != nil {
		return nil, err
	}
	table, err := w.CommitTable(ctx, c, at.Inner(), body)
	return table, at.Restore(err)
}

// UnregisterTable takes a table of the tree out of its catalog and says what it was.
func (t *Tree) UnregisterTable(ctx context.Context, c Caller, at Target) (*Table, error) {
	w, err := at.tableWriter("unregisterTable", Unsupported)
	if err != nil {
		return nil, err
	}
	table, err := w.UnregisterTable(ctx, c, at.Inner())
	return table, at.Restore(err)
}

// DropTable takes a table of the tree out of its catalog.
func (t *Tree) DropTable(ctx context.Context, c Caller, at Target, purge bool) error {
	w, err := at.tableWriter("dropTable", Unsupported)
	if err != nil {
		return err
	}
	return at.Restore(w.DropTable(ctx, c, at.Inner(), purge))
}

// tableWriter is the mount that can change the table, or the refusal.
func (t Target) tableWriter(op string, refusal Kind) (TableWriter, error) {
	if t.Point == nil {
		return nil, t.noSuchTable(op)
	}
	w, ok := t.Point.Mount.(TableWriter)
	if !ok {
		return nil, t.readOnly(op, refusal)
	}
	if t.noTables() {
		return nil, t.noSuchTable(op)
	}
	return w, nil
}

// RenameTable moves a table, within one mount or between mounts of one owner. With a
// mount that can't rename on either side it is Unsupported and names both.
func (t *Tree) RenameTable(ctx context.Context, c Caller, from, to Target) error {
	const op = "renameTable"
	if from.noTables() && (from.Point == nil || is[TableRenamer](from.Point)) {
		return from.noSuchTable(op)
	}
	renamer, err := renamer[TableRenamer](op, from, to)
	if err != nil {
		return err
	}
	return renamer.RenameTable(ctx, c, from, to)
}

// renamer is the mount that can move a table or view to the target, or the refusal.
func renamer[W any](op string, from, to Target) (w W, err error) {
	w, ok := from.Point.Mount.(W)
	switch {
	case ok && to.Point == nil && to.Place == Inside:
		return w, &Error{Kind: NoSuchNamespace, Op: op, Name: to.Path.String()}
	case !ok || to.Point == nil || !is[W](to.Point) || to.noTables():
		return w, &Error{
			Kind: Unsupported, Op: op, Name: from.Identifier().String() + " in the " + from.Point.describe(),
			Other: to.Identifier().String() + to.inPoint(), Detail: "Cannot rename {name} to {other}: both must lie in mounts that can be written",
		}
	}
	return w, nil
}

// is says whether the mount has the capability.
func is[Capability any](p *Point) bool {
	_, ok := p.Mount.(Capability)
	return ok
}

func (t Target) inPoint() string {
	if t.Point == nil {
		return ""
	}
	return " in the " + t.Point.describe()
}

// CommitTransaction changes several tables at once, all or none. With a table of a mount
// that can't be written it is Forbidden, as a commit to that table is.
func (t *Tree) CommitTransaction(ctx context.Context, c Caller, changes []TableChange) error {
	const op = "commitTransaction"
	var committer TransactionCommitter
	for _, change := range changes {
		at := change.Target
		if at.Point == nil || at.noTables() && is[TransactionCommitter](at.Point) {
			return at.noSuchTable(op)
		}
		if !is[TransactionCommitter](at.Point) {
			return &Error{
				Kind: Forbidden, Op: op, Name: at.Identifier().String(), Other: at.Point.describe(),
				Detail: "The {other} is read-only: '{name}' can't be part of a transaction; nothing was changed",
			}
		}
		committer, _ = at.Point.Mount.(TransactionCommitter)
	}
	if committer == nil {
		return &Error{Kind: BadRequest, Op: op, Detail: "The transaction changes no table"}
	}
	return committer.CommitTransaction(ctx, c, changes)
}
