package mounts

import "context"

// View is what a mount knows of a view once it has read the pointer. Its fields mean what
// those of Table mean.
type View Table

// ViewReader is a mount that has views. Tables and views share one namespace of names.
// Errors are those of Mount's methods for tables, with NoSuchView.
type ViewReader interface {
	ListViews(ctx context.Context, c Caller, n Namespace, p Page) (views []Identifier, next string, err error)
	LoadView(ctx context.Context, c Caller, id Identifier) (*View, error)
	ViewExists(ctx context.Context, c Caller, id Identifier) error
}

// ViewWriter is a mount whose views can be changed. Bodies are those of the spec's
// requests, unread. Errors are those of TableWriter's methods, with NoSuchView.
type ViewWriter interface {
	// CreateView creates id from a CreateViewRequest. AlreadyExists, NoSuchNamespace.
	CreateView(ctx context.Context, c Caller, id Identifier, body []byte) (*View, error)
	// RegisterView makes id of an existing metadata file. AlreadyExists, NoSuchNamespace,
	// NotFound.
	RegisterView(ctx context.Context, c Caller, id Identifier, metadataLocation string) (*View, error)
	// ReplaceView applies a CommitViewRequest; the identifier in the body is ignored.
	// NoSuchView, CommitFailed.
	ReplaceView(ctx context.Context, c Caller, id Identifier, body []byte) (*View, error)
	// DropView takes the view out of the catalog. NoSuchView.
	DropView(ctx context.Context, c Caller, id Identifier) error
	// RenameView moves a view as TableRenamer moves a table.
	RenameView(ctx context.Context, c Caller, from, to Target) error
}

// ListViews lists the views directly in a namespace of the tree. A mount that has no views
// has an empty list, or engines couldn't list its tables either.
func (t *Tree) ListViews(ctx context.Context, c Caller, at Target, p Page) ([]Identifier, string, error) {
	reader := at.viewReader()
	if reader == nil || at.noTables() {
		_, err := t.LoadNamespace(ctx, c, at)
		return nil, "", err
	}
	inner, next, err := reader.ListViews(ctx, c, at.Namespace, p)
	if at.fixed() && Is(err, NoSuchNamespace) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", at.Restore(err)
	}
	for i, id := range inner {
		inner[i] = at.Path.Table(at.Point.canonical(id.Name))
	}
	return inner, next, nil
}

// LoadView reads the pointer of a view of the tree.
func (t *Tree) LoadView(ctx context.Context, c Caller, at Target) (*View, error) {
	reader := at.viewReader()
	if reader == nil {
		return nil, at.noSuchView("loadView")
	}
	view, err := reader.LoadView(ctx, c, at.Inner())
	return (*View)(at.restoreTable((*Table)(view))), at.Restore(err)
}

// ViewExists is nil for a view of the tree that exists.
func (t *Tree) ViewExists(ctx context.Context, c Caller, at Target) error {
	reader := at.viewReader()
	if reader == nil {
		return at.noSuchView("viewExists")
	}
	return at.Restore(reader.ViewExists(ctx, c, at.Inner()))
}

// viewReader is the mount, where a view could be at the target.
func (t Target) viewReader() ViewReader {
	if t.noTables() {
		return nil
	}
	reader, _ := t.Point.Mount.(ViewReader)
	return reader
}

func (t Target) noSuchView(op string) error {
	return &Error{Kind: NoSuchView, Op: op, Name: t.Identifier().String()}
}

// CreateView creates a view of the tree.
func (t *Tree) CreateView(ctx context.Context, c Caller, at Target, body []byte) (*View, error) {
	w, err := newWriter[ViewWriter](at, "createView")
	if err != nil {
		return nil, err
	}
	view, err := w.CreateView(ctx, c, at.Inner(), body)
	return view, at.Restore(err)
}

// RegisterView makes a view of the tree from an existing metadata file.
func (t *Tree) RegisterView(ctx context.Context, c Caller, at Target, metadataLocation string) (*View, error) {
	w, err := newWriter[ViewWriter](at, "registerView")
	if err != nil {
		return nil, err
	}
	view, err := w.RegisterView(ctx, c, at.Inner(), metadataLocation)
	return view, at.Restore(err)
}

// ReplaceView applies a CommitViewRequest to a view of the tree.
func (t *Tree) ReplaceView(ctx context.Context, c Caller, at Target, body []byte) (*View, error) {
	w, err := at.viewWriter("replaceView", Forbidden)
	if err != nil {
		return nil, err
	}
	view, err := w.ReplaceView(ctx, c, at.Inner(), body)
	return view, at.Restore(err)
}

// DropView takes a view of the tree out of its catalog.
func (t *Tree) DropView(ctx context.Context, c Caller, at Target) error {
	w, err := at.viewWriter("dropView", Unsupported)
	if err != nil {
		return err
	}
	return at.Restore(w.DropView(ctx, c, at.Inner()))
}

// viewWriter is the mount that can change the view, or the refusal: a mount without views
// has none that could be changed.
func (t Target) viewWriter(op string, refusal Kind) (ViewWriter, error) {
	if t.viewReader() == nil {
		return nil, t.noSuchView(op)
	}
	w, ok := t.Point.Mount.(ViewWriter)
	if !ok {
		return nil, t.readOnly(op, refusal)
	}
	return w, nil
}

// RenameView moves a view as RenameTable moves a table.
func (t *Tree) RenameView(ctx context.Context, c Caller, from, to Target) error {
	const op = "renameView"
	if from.viewReader() == nil {
		return from.noSuchView(op)
	}
	w, err := renamer[ViewWriter](op, from, to)
	if err != nil {
		return err
	}
	return w.RenameView(ctx, c, from, to)
}
