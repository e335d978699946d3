package metadata

// CreateViewRequest is a decoded CreateViewRequest. The exported fields may be changed
// before NewView is called. It refers to the body it was parsed from.
type CreateViewRequest struct {
	Name       string
	Location   string // empty where the catalog shall choose
	Properties map[string]string

	schema  addSchema
	version *viewVersion
}

// ParseCreateView reads the body of a create, CreateViewRequest of the REST spec. Null
// is as good as missing.
//
// The error is a BadRequest *mounts.Error that names the path, for the reasons that
// ParseViewCommit gives.
func ParseCreateView(body []byte) (*CreateViewRequest, error) {
	r := &reader{what: "create request"}
	o := r.request(body)
	c := &CreateViewRequest{
		Name: o.str("name"), Location: o.optStr("location"), Properties: o.optStringMap("properties"),
		schema: r.addSchema(o), version: r.viewVersion(o.child("view-version")),
	}
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

// NewView makes the first document of a view: version 1 with schema 0, whatever ids the
// request has; field ids stay as they are. It makes no uuid of its own.
//
// Errors are *mounts.Errors: InvalidArgument for a second query in a dialect, else
// BadRequest for a schema that can't be, no location or no uuid anywhere, or a
// version.history.num-entries that is no positive number.
func NewView(req *CreateViewRequest, o ViewOptions) (*ViewDocument, error) {
	b := newViewBuilder(nil, o)
	location := req.Location
	if location == "" {
		location = o.Location
	}
	version := *req.version
	version.schemaID = lastAdded
	for _, u := range []ViewUpdate{
		assignUUID{o.UUID},
		setLocation{location},
		setProperties{o.Properties},
		setProperties{req.Properties},
		req.schema,
		addViewVersion{&version},
		setCurrentViewVersion{lastAdded},
	} {
		if err := u.applyView(b); err != nil {
			return nil, err
		}
	}
	b.propsChanged = true
	return b.finish()
}
