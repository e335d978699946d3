package authz

import (
	"fmt"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	lru "github.com/hashicorp/golang-lru/v2"
)

// decisions is how many decisions are remembered: policies don't change while an
// Authorizer lives, and a decision depends on nothing but its key.
const decisions = 1 << 16

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
	made     *lru.Cache[question, bool]
}

// question is what a decision depends on.
type question struct {
	principal string // with groups and role
	action    Action
	typ       Type
	mount     string
	id        string
	siblings  bool // asked for every child of the namespace id at once
}

// NewAuthorizer reads the policy files and adds the permit for admins. It fails on a file
// that doesn't parse and on a policy that names an entity type, action or attribute that
// doesn't exist, naming file and line.
func NewAuthorizer(files []PolicyFile) (*Authorizer, error) {
	validate, err := newValidator()
	if err != nil {
		return nil, err
	}
	a := &Authorizer{policies: cedar.NewPolicySet()}
	if a.made, err = lru.New[question, bool](decisions); err != nil {
		return nil, fmt.Errorf("authorization: %w", err)
	}
	for _, f := range append([]PolicyFile{{Name: "admins", Text: []byte(adminPolicy)}}, files...) {
		list, err := cedar.NewPolicyListFromBytes(f.Name, f.Text)
		if err != nil {
			return nil, fmt.Errorf("policy file %s: %w", f.Name, err)
		}
		for i, p := range list {
			id := fmt.Sprintf("%s:%d", f.Name, i)
			if err := validate(id, p); err != nil {
				return nil, fmt.Errorf("policy file %s, line %d: %w", f.Name, p.Position().Line, err)
			}
			a.policies.Add(cedar.PolicyID(id), p)
			a.scopes = append(a.scopes, scopeOf(p))
		}
	}
	return a, nil
}

// Allowed decides whether the identity may do that to the object.
func (a *Authorizer) Allowed(id Identity, action Action, o Object) bool {
	q := question{principal: principalKey(id), action: action, typ: o.Type, mount: o.mountKey(), id: o.ID()}
	if allowed, ok := a.made.Get(q); ok {
		return allowed
	}
	allowed := a.decide(id, action, o, q.id)
	a.made.Add(q, allowed)
	return allowed
}

func (a *Authorizer) decide(id Identity, action Action, o Object, objectID string) bool {
	principal := principalOf(id)
	uid := types.NewEntityUID(types.EntityType(o.Type), types.String(objectID))
	decision, _ := cedar.Authorize(a.policies, &entities{principal: principal, object: o, id: uid}, cedar.Request{
		Principal: principal.UID, Action: types.NewEntityUID("Action", types.String(action)), Resource: uid,
	})
	return decision == cedar.Allow
}

func (o Object) mountKey() string {
	if !o.InMount {
		return "-"
	}
	return "+" + o.Mount
}

// principalKey tells callers apart whose decisions may differ.
func principalKey(id Identity) string {
	if !id.Admin && len(id.Caller.Groups) == 0 {
		return id.Caller.Principal
	}
	role := "\x00"
	if id.Admin {
		role = "\x00admin"
	}
	return id.Caller.Principal + role + "\x00" + strings.Join(id.Caller.Groups, "\x00")
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
	q := question{principal: principalKey(id), action: NamespaceExists, typ: o.Type, mount: "below" + o.mountKey(), id: o.ID()}
	if visible, ok := a.made.Get(q); ok {
		return visible
	}
	visible := a.somethingBelow(id, o)
	a.made.Add(q, visible)
	return visible
}

func (a *Authorizer) somethingBelow(id Identity, o Object) bool {
	permitted := false
	for _, s := range a.scopes {
		if !s.mayConcern(id) || !s.existence() {
			continue
		}
		switch {
		case !s.permit && s.hides(o):
			return false
		case s.permit && s.reachesBelow(o):
			permitted = true
		}
	}
	return permitted
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
	if !a.tellsApart(existence(typ), parent) {
		q := question{principal: principalKey(id), action: existence(typ), typ: typ, mount: parent.mountKey(), id: parent.ID(), siblings: true}
		visible, ok := a.made.Get(q)
		if !ok {
			o := child(names[0])
			visible = a.decide(id, existence(typ), o, o.ID())
			a.made.Add(q, visible)
		}
		return func(int) bool { return visible }
	}
	return func(i int) bool { return a.Visible(id, child(names[i])) }
}

// tellsApart says whether some policy could decide differently for two children of the
// same type of the namespace.
func (a *Authorizer) tellsApart(action Action, parent Object) bool {
	for _, s := range a.scopes {
		if s.about(action) && s.tellsApart(parent) {
			return true
		}
	}
	return false
}
