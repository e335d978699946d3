package authz

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	lru "github.com/hashicorp/golang-lru/v2"
)

// decisions is how many decisions are remembered: policies don't change while an
// Authorizer lives, and a decision depends on nothing but its key.
const decisions = 1 << 16

// maxRemembered bounds the id of an object whose decision is remembered, and so the memory
// that somebody takes who asks for many long names.
const maxRemembered = 256

// PolicyFile is the text of one file of Cedar policies.
type PolicyFile struct {
	Name string
	Text []byte
}

// Authorizer decides by Cedar policies. What no policy permits is denied, and a forbid
// wins over every permit. It is safe for concurrent use.
type Authorizer struct {
	policies *cedar.PolicySet
	scopes   []scope
	actions  map[types.EntityUID]types.Entity
	made     *lru.Cache[question, verdict]
	hear     func(PolicyError)
}

// PolicyError is a policy that couldn't be evaluated for a decision. It is no caller's
// fault: the policy asks for something that isn't there, or counts too far.
type PolicyError struct {
	// File and Line are where the policy begins.
	File string
	Line int
	// Forbid is whether it is one; the decision was a denial then.
	Forbid bool
	// Message is Cedar's, and may hold names of objects.
	Message string
}

// verdict is what the policies say to a question.
type verdict uint8

const (
	unmentioned verdict = iota // no policy permits it
	forbidden                  // some policy forbids it
	permitted
)

// question is what a decision depends on.
type question struct {
	about      subject
	principal  string
	groups     string
	admin      bool
	action     Action
	typ        Type
	inMount    bool
	aboveMount bool
	mount      string
	id         string
}

// subject is which objects a question is about.
type subject uint8

const (
	itself   subject = iota
	children         // every child of the namespace, all at once
	below            // whatever lies below the namespace
)

func ask(about subject, id Identity, action Action, typ Type, o Object) question {
	return question{
		about: about, principal: id.Caller.Principal, groups: groupsKey(id.Caller.Groups), admin: id.Admin,
		action: action, typ: typ, inMount: o.InMount, mount: o.Mount, id: o.ID(),
	}
}

// groupsKey tells any two lists of groups apart, whatever is in their names.
func groupsKey(groups []string) string {
	if len(groups) == 0 {
		return ""
	}
	size := 0
	for _, g := range groups {
		size += len(g) + len("1000:")
	}
	var b strings.Builder
	b.Grow(size)
	for _, g := range groups {
		b.WriteString(strconv.Itoa(len(g)))
		b.WriteByte(':')
		b.WriteString(g)
	}
	return b.String()
}

// NewAuthorizer reads the policy files and adds the permit for admins. It fails on a file
// that doesn't parse and on a policy that names an entity type, action or attribute that
// doesn't exist. The error is that of all such files and policies, each with file and line; of
// a file that doesn't parse it is the first fault.
func NewAuthorizer(files []PolicyFile) (*Authorizer, error) {
	validate, err := newValidator()
	if err != nil {
		return nil, err
	}
	a := &Authorizer{policies: cedar.NewPolicySet(), actions: actionEntities(), hear: func(PolicyError) {}}
	if a.made, err = lru.New[question, verdict](decisions); err != nil {
		return nil, fmt.Errorf("authorization: %w", err)
	}
	var errs []error
	for _, f := range append([]PolicyFile{{Name: "admins", Text: []byte(adminPolicy)}}, files...) {
		list, err := cedar.NewPolicyListFromBytes(f.Name, f.Text)
		if err != nil {
			errs = append(errs, fmt.Errorf("policy file %s: %w", f.Name, err))
		}
		for i, p := range list {
			err := validate(fmt.Sprintf("%s:%d", f.Name, i), p)
			if err == nil {
				err = checkNames(p)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("policy file %s, line %d: %w", f.Name, p.Position().Line, err))
				continue
			}
			// Numbered, so that no file can take the place of another or of the admins'.
			a.policies.Add(cedar.PolicyID(strconv.Itoa(len(a.scopes))), p)
			a.scopes = append(a.scopes, scopeOf(p))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return a, nil
}

// Reporting is the same authorizer; hear is told of each policy that couldn't be evaluated,
// once for a decision that is remembered.
func (a *Authorizer) Reporting(hear func(PolicyError)) *Authorizer {
	told := *a
	told.hear = hear
	return &told
}

// Allowed decides whether the identity may do that to the object.
func (a *Authorizer) Allowed(id Identity, action Action, o Object) bool {
	return a.verdict(id, action, o) == permitted
}

// Forbidden says whether a policy forbids it, beyond none permitting it.
func (a *Authorizer) Forbidden(id Identity, action Action, o Object) bool {
	return a.verdict(id, action, o) == forbidden
}

func (a *Authorizer) verdict(id Identity, action Action, o Object) verdict {
	q := ask(itself, id, action, o.Type, o)
	if v, ok := a.made.Get(q); ok {
		return v
	}
	v := a.decide(id, action, o, q.id)
	a.remember(q, v)
	return v
}

// decide asks Cedar, which passes over a policy that can't be evaluated. A forbid that is
// passed over would be an open door, so it counts as one that applies.
func (a *Authorizer) decide(id Identity, action Action, o Object, objectID string) verdict {
	principal := principalOf(id)
	known := newEntities(a.actions, principal, o, objectID)
	decision, found := cedar.Authorize(a.policies, known, cedar.Request{
		Principal: principal.UID, Action: types.NewEntityUID("Action", types.String(action)), Resource: known.object.UID,
	})
	v := unmentioned
	switch {
	case decision == cedar.Allow:
		v = permitted
	case len(found.Reasons) > 0:
		v = forbidden
	}
	for _, e := range found.Errors {
		forbid := a.policies.Get(e.PolicyID).Effect() == cedar.Forbid
		if forbid {
			v = forbidden
		}
		a.hear(PolicyError{File: e.Position.Filename, Line: e.Position.Line, Forbid: forbid, Message: e.Message})
	}
	return v
}

func principalOf(id Identity) types.Entity {
	parents := make([]types.EntityUID, 0, len(id.Caller.Groups)+1)
	for _, g := range id.Caller.Groups {
		parents = append(parents, types.NewEntityUID("Group", types.String(g)))
	}
	if id.Admin {
		parents = append(parents, types.NewEntityUID("Role", "admin"))
	}
	return types.Entity{UID: types.NewEntityUID("User", types.String(id.Caller.Principal)), Parents: types.NewEntityUIDSet(parents...)}
}

// existence is the action whose permit makes an object of that type visible.
func existence(t Type) Action {
	switch t {
	case Table:
		return TableExists
	case View:
		return ViewExists
	case Namespace:
	}
	return NamespaceExists
}

func (a *Authorizer) remember(q question, answer verdict) {
	if len(q.id) <= maxRemembered {
		a.made.Add(q, answer)
	}
}

// Visible decides whether the identity may know that the object exists.
func (a *Authorizer) Visible(id Identity, o Object) bool {
	return a.Allowed(id, existence(o.Type), o)
}

// LeadsToVisible decides the same for a mount point or an ancestor of one: such a place
// is visible also to whoever may see something below it, unless a forbid hides all of it.
func (a *Authorizer) LeadsToVisible(id Identity, o Object) bool {
	if a.Visible(id, o) {
		return true
	}
	q := ask(below, id, NamespaceExists, o.Type, o)
	q.aboveMount = o.AboveMount
	if v, ok := a.made.Get(q); ok {
		return v == permitted
	}
	v := unmentioned
	if slices.ContainsFunc(objectTypes, func(t Type) bool { return a.somethingBelow(id, o, t) }) {
		v = permitted
	}
	a.remember(q, v)
	return v == permitted
}

// somethingBelow decides whether an object of that type at or below the namespace could be
// visible: some permit reaches there and no forbid surely hides all of them. Conditions
// count as far as they can be told without the object.
func (a *Authorizer) somethingBelow(id Identity, o Object, typ Type) bool {
	reached, objectID := false, o.ID()
	within := a.region(id, o, objectID, typ)
	for i := range a.scopes {
		s := &a.scopes[i]
		if !s.mayConcern(id) || !s.sees(typ) {
			continue
		}
		switch {
		case !s.permit && s.surrounds(o, objectID) && !within.meets(s).no:
			return false
		case s.permit && s.reachesBelow(o, objectID) && within.meets(s).yes:
			reached = true
		}
	}
	return reached
}

// VisibleChildren decides Visible for the direct children of a namespace, all of one
// type, by name. Where no policy tells siblings apart it is one decision for all.
func (a *Authorizer) VisibleChildren(id Identity, parent Object, typ Type, names []string) func(i int) bool {
	child := func(name string) Object {
		o := Object{Type: typ, Path: parent.Path, Name: name, Mount: parent.Mount, InMount: parent.InMount}
		if typ == Namespace {
			o.Path, o.Name = parent.Path.Child(name), ""
		}
		return o
	}
	if len(names) == 0 {
		return func(int) bool { return false }
	}
	if !a.tellsApart(typ, parent) {
		q := ask(children, id, existence(typ), typ, parent)
		v, ok := a.made.Get(q)
		if !ok {
			o := child(names[0])
			v = a.decide(id, existence(typ), o, o.ID())
			a.remember(q, v)
		}
		return func(int) bool { return v == permitted }
	}
	return func(i int) bool { return a.Visible(id, child(names[i])) }
}

// tellsApart says whether some policy could decide differently for two children of the
// same type of the namespace.
func (a *Authorizer) tellsApart(typ Type, parent Object) bool {
	id := parent.ID()
	for i := range a.scopes {
		if s := &a.scopes[i]; s.sees(typ) && s.tellsApart(parent, id) {
			return true
		}
	}
	return false
}
