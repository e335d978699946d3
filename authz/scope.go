package authz

// The one file that leans on cedar-go's x/exp packages, which promise no compatibility:
// reading a policy's scope, and checking policies against the schema.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	cedarschema "github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"
)

// newValidator returns a check of one policy against the schema.
func newValidator() (func(id string, p *cedar.Policy) error, error) {
	var s cedarschema.Schema
	if err := s.UnmarshalCedar([]byte(schema)); err != nil {
		return nil, fmt.Errorf("authorization: read the schema: %w", err)
	}
	resolved, err := s.Resolve()
	if err != nil {
		return nil, fmt.Errorf("authorization: resolve the schema: %w", err)
	}
	v := validate.New(resolved)
	return func(id string, p *cedar.Policy) error { return v.Policy(id, (*ast.Policy)(p.AST())) }, nil
}

// scope is what can be known of a policy without a request.
type scope struct {
	permit bool
	// principal is the one user, group or role named; zero for everybody.
	principal types.EntityUID
	// actions named, groups spelled out; nil for all.
	actions []Action
	// resource is the one entity named; zero for every resource.
	resource types.EntityUID
	// within is whether what lies below resource is meant too.
	within bool
	// conditional is whether the policy has conditions at all, and looksAtResource
	// whether one of them reads the resource.
	conditional, looksAtResource bool
}

func scopeOf(p *cedar.Policy) scope {
	policy := (*ast.Policy)(p.AST())
	s := scope{permit: p.Effect() == cedar.Permit}
	switch n := policy.Principal.(type) {
	case ast.ScopeTypeEq:
		s.principal = n.Entity
	case ast.ScopeTypeIn:
		s.principal = n.Entity
	case ast.ScopeTypeIsIn:
		s.principal = n.Entity
	}
	switch n := policy.Action.(type) {
	case ast.ScopeTypeEq:
		s.actions = expand(n.Entity)
	case ast.ScopeTypeIn:
		s.actions = expand(n.Entity)
	case ast.ScopeTypeInSet:
		s.actions = expand(n.Entities...)
	}
	switch n := policy.Resource.(type) {
	case ast.ScopeTypeEq:
		s.resource = n.Entity
	case ast.ScopeTypeIn:
		s.resource, s.within = n.Entity, true
	case ast.ScopeTypeIsIn:
		s.resource, s.within = n.Entity, true
	}
	for _, c := range policy.Conditions {
		s.conditional = true
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			if v, ok := n.(ast.NodeTypeVariable); ok && v.Name == "resource" {
				s.looksAtResource = true
			}
			return true
		})
	}
	return s
}

// expand spells groups of actions out.
func expand(uids ...types.EntityUID) []Action {
	actions := []Action{}
	for _, uid := range uids {
		for action, group := range actionGroups {
			if string(uid.ID) == string(action) || string(uid.ID) == group {
				actions = append(actions, action)
			}
		}
	}
	return actions
}

func (s scope) about(a Action) bool { return s.actions == nil || slices.Contains(s.actions, a) }

// existence says whether the policy is about seeing anything.
func (s scope) existence() bool {
	return s.about(NamespaceExists) || s.about(TableExists) || s.about(ViewExists)
}

// mayConcern says whether the policy could apply to the identity.
func (s scope) mayConcern(id Identity) bool {
	switch s.principal.Type {
	case "":
		return true
	case "User":
		return string(s.principal.ID) == id.Caller.Principal
	case "Group":
		return slices.Contains(id.Caller.Groups, string(s.principal.ID))
	case "Role":
		return id.Admin && s.principal.ID == "admin"
	}
	return false
}

// hides says whether a forbid surely covers the namespace and all below it.
func (s scope) hides(o Object) bool {
	if s.conditional || !s.about(NamespaceExists) {
		return false
	}
	if s.resource.IsZero() {
		return true
	}
	return s.within && s.covers(o)
}

// covers says whether the resource named is the namespace, one above it or its mount.
func (s scope) covers(o Object) bool {
	if s.resource.Type == "Mount" {
		return o.InMount && string(s.resource.ID) == o.Mount
	}
	return s.resource.Type == "Namespace" && atOrBelow(o.ID(), string(s.resource.ID))
}

// reachesBelow says whether a permit could make something at or below the namespace
// visible: its resource is everything, lies above, or lies below.
func (s scope) reachesBelow(o Object) bool {
	if s.resource.IsZero() || s.within && s.covers(o) {
		return true
	}
	// a mount's id is a dotted path without escapes, since its levels hold no dots
	return atOrBelow(string(s.resource.ID), o.ID())
}

// tellsApart says whether the policy could decide differently for two children of the
// namespace: it looks at the resource, or names one entity that lies below.
func (s scope) tellsApart(parent Object) bool {
	if s.looksAtResource {
		return true
	}
	if s.resource.IsZero() || s.within && s.covers(parent) {
		return false
	}
	return atOrBelow(string(s.resource.ID), parent.ID())
}

// atOrBelow says whether the escaped dotted id is that of base or of something below it.
func atOrBelow(id, base string) bool {
	return base == "" || id == base || strings.HasPrefix(id, base) && id[len(base)] == '.'
}
