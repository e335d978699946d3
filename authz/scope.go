package authz

// This file and region.go are those that lean on cedar-go's x/exp packages, which promise
// no compatibility: reading a policy's scope, and checking policies against the schema.

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

// scope is what can be known of a policy without a request. Its methods take the id of the
// object they are given, so that it is made once for all policies.
type scope struct {
	permit bool
	// principal is the one user, group or role named; zero for everybody.
	principal types.EntityUID
	// actions named, groups spelled out; nil for all.
	actions []Action
	// resource is the one entity named; zero for every resource.
	resource types.EntityUID
	// only is the one type of resource meant ("resource is Table"); empty for all.
	only types.EntityType
	// within is whether what lies below resource is meant too.
	within bool
	// conditions all hold where the policy applies; looksAtResource is whether one of them
	// depends on the resource.
	conditions      []ast.ConditionType
	looksAtResource bool
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
		s.resource, s.only = n.Entity, n.Entity.Type
	case ast.ScopeTypeIn:
		s.resource, s.within = n.Entity, true
	case ast.ScopeTypeIs:
		s.only = n.Type
	case ast.ScopeTypeIsIn:
		s.resource, s.within, s.only = n.Entity, true, n.Type
	}
	s.conditions = policy.Conditions
	for _, c := range policy.Conditions {
		s.looksAtResource = s.looksAtResource || looksAtResource(c.Body)
	}
	return s
}

// looksAtResource says whether some part of the expression depends on the resource.
func looksAtResource(n ast.IsNode) bool {
	depends := false
	ast.Inspect(ast.NewNode(n), func(part ast.IsNode) bool {
		depends = depends || dependsOnResource(part)
		return !depends
	})
	return depends
}

// dependsOnResource says whether a part of a condition may differ from one resource to the
// next: the resource itself, or an object spelled out, which Cedar knows only while a
// decision is about it or about something below it.
func dependsOnResource(n ast.IsNode) bool {
	switch n := n.(type) {
	case ast.NodeTypeVariable:
		return n.Name == "resource"
	case ast.NodeValue:
		uid, ok := n.Value.(types.EntityUID)
		return ok && slices.Contains(objectTypes, Type(uid.Type))
	}
	return false
}

// checkNames refuses what the validator lets pass because Cedar gives it a meaning: a test
// for a type or an attribute that no object has is just always false, which for a forbid
// means an open door, and a role that nobody can have.
func checkNames(p *cedar.Policy) error {
	policy := (*ast.Policy)(p.AST())
	if s := scopeOf(p); s.principal.Type == "Role" && s.principal.ID != "admin" {
		return fmt.Errorf("unknown role %s: the only one is Role::\"admin\"", s.principal)
	}
	var bad error
	for _, c := range policy.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			if bad == nil {
				bad = checkName(n)
			}
			return bad == nil
		})
	}
	return bad
}

func checkName(n ast.IsNode) error {
	switch n := n.(type) {
	case ast.NodeTypeIs:
		return checkType(n.EntityType)
	case ast.NodeTypeIsIn:
		return checkType(n.EntityType)
	case ast.NodeTypeHas:
		if n.Value != "name" && n.Value != "path" {
			return fmt.Errorf("unknown attribute %s: nothing has it", n.Value)
		}
	case ast.NodeValue:
		if uid, ok := n.Value.(types.EntityUID); ok && uid.Type == "Role" && uid.ID != "admin" {
			return fmt.Errorf("unknown role %s: the only one is Role::\"admin\"", uid)
		}
	}
	return nil
}

func checkType(t types.EntityType) error {
	if t == "User" || slices.Contains(objectTypes, Type(t)) {
		return nil
	}
	return fmt.Errorf("no principal or resource is a %s", t)
}

// expand spells groups of actions out. (A policy with "==" and a group is refused: no
// request has a group as its action.)
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

func (s *scope) about(a Action) bool { return s.actions == nil || slices.Contains(s.actions, a) }

// sees says whether the policy is about the existence of objects of that type.
func (s *scope) sees(t Type) bool {
	return s.about(existence(t)) && (s.only == "" || s.only == types.EntityType(t))
}

// mayConcern says whether the policy could apply to the identity.
func (s *scope) mayConcern(id Identity) bool {
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

// surrounds says whether the policy's scope surely covers the namespace and all below it, as
// far as it is of the policy's types. What lies in a mount below is no part of this mount.
func (s *scope) surrounds(o Object, id string) bool {
	switch {
	case s.resource.IsZero():
		return true
	case s.resource.Type == "Mount" && o.AboveMount:
		return false
	}
	return s.within && s.covers(o, id)
}

// covers says whether the resource named is the namespace, one above it or its mount.
func (s *scope) covers(o Object, id string) bool {
	if s.resource.Type == "Mount" {
		return o.InMount && string(s.resource.ID) == o.Mount
	}
	return s.resource.Type == "Namespace" && atOrBelow(id, string(s.resource.ID))
}

// reachesBelow says whether the policy's scope holds something at or below the namespace:
// its resource is everything, lies above, or lies below.
func (s *scope) reachesBelow(o Object, id string) bool {
	if s.resource.IsZero() || s.within && s.covers(o, id) {
		return true
	}
	// a mount's id is a dotted path without escapes, since its levels hold no dots
	return atOrBelow(string(s.resource.ID), id)
}

// tellsApart says whether the policy could decide differently for two children of the
// namespace: it looks at the resource, or names one entity that lies below.
func (s *scope) tellsApart(parent Object, id string) bool {
	if s.looksAtResource {
		return true
	}
	if s.resource.IsZero() || s.within && s.covers(parent, id) {
		return false
	}
	return atOrBelow(string(s.resource.ID), id)
}

// atOrBelow says whether the escaped dotted id is that of base or of something below it.
func atOrBelow(id, base string) bool {
	return base == "" || id == base || strings.HasPrefix(id, base) && id[len(base)] == '.'
}
