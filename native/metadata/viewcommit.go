package metadata

import "strings"

// ViewCommit is a decoded CommitViewRequest: what must hold, and what to change, in
// order. It refers to the body it was parsed from. It never changes; many documents can
// be tried with it.
type ViewCommit struct {
	Requirements []ViewRequirement
	Updates      []ViewUpdate
}

// ViewUpdate is one change of a commit to a view.
type ViewUpdate interface {
	// Action is its name in the REST spec, as "add-view-version".
	Action() string
	// applyView does it to a document under construction. It may be called again for
	// another one, so it changes nothing of its own.
	applyView(b *viewBuilder) error
}

// ViewRequirement is one thing that must hold of a view for a commit to be applied.
type ViewRequirement interface {
	// checkView is nil, or the CommitFailed *mounts.Error that clients expect.
	checkView(d *ViewDocument) error
}

type assertViewUUID struct{ uuid string }

// ParseViewCommit reads the body of a commit, CommitViewRequest of the REST spec. Its
// identifier isn't looked at: the path says which view is meant. Where there are no
// requirements there is nothing to check.
//
// The error is a BadRequest *mounts.Error that names the path: text that isn't one JSON
// object, a key that occurs twice anywhere, brackets nested too deeply, an action or a
// requirement type that views don't have, a member missing or of a wrong type.
func ParseViewCommit(body []byte) (*ViewCommit, error) {
	r := &reader{what: "commit"}
	o := r.request(body)
	c := &ViewCommit{}
	if o.has("requirements") {
		for _, q := range o.children("requirements") {
			c.Requirements = append(c.Requirements, r.viewRequirement(q))
		}
	}
	for _, u := range o.children("updates") {
		c.Updates = append(c.Updates, r.viewUpdate(u))
	}
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

// viewUpdate decodes one update, by the names of the REST spec's ViewUpdate.
func (r *reader) viewUpdate(o *object) ViewUpdate {
	action := o.str("action")
	if u := r.sharedUpdate(action, o); u != nil {
		return u
	}
	switch action {
	case "add-view-version":
		return addViewVersion{r.viewVersion(o.child("view-version"))}
	case "set-current-view-version":
		return setCurrentViewVersion{o.int("view-version-id")}
	}
	r.fail(o.at("action"), unknownAction(action))
	return nil
}

// viewRequirement decodes one requirement, by the names of the REST spec's
// ViewRequirement.
func (r *reader) viewRequirement(o *object) ViewRequirement {
	if o.str("type") == "assert-view-uuid" {
		return assertViewUUID{o.str("uuid")}
	}
	r.fail(o.at("type"), "unknown requirement type")
	return nil
}

// CheckRequirements holds d against a commit's requirements, in their order. The error
// is a CommitFailed *mounts.Error for the first that doesn't hold, in the words of
// Java's UpdateRequirement, which clients match.
func (d *ViewDocument) CheckRequirements(requirements []ViewRequirement) error {
	for _, q := range requirements {
		if err := q.checkView(d); err != nil {
			return err
		}
	}
	return nil
}

func (q assertViewUUID) checkView(d *ViewDocument) error {
	if strings.EqualFold(q.uuid, d.uuid) {
		return nil
	}
	return failed("view UUID does not match: expected " + d.uuid + " != " + q.uuid)
}
