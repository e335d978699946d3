package authz

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"
)

// outcomes is which values a condition can have for some object of a region. It may claim
// one too many, never one too few. With neither, evaluating it surely fails.
type outcomes struct{ yes, no bool }

var (
	always = outcomes{yes: true}
	never  = outcomes{no: true}
	either = outcomes{yes: true, no: true}
)

func (a outcomes) not() outcomes { return outcomes{yes: a.no, no: a.yes} }

func (a outcomes) and(b outcomes) outcomes {
	return outcomes{yes: a.yes && b.yes, no: a.no || a.yes && b.no}
}

func (a outcomes) or(b outcomes) outcomes { return a.not().and(b.not()).not() }

func sure(value bool) outcomes { return outcomes{yes: value, no: !value} }

// region is every object of one type at or below a namespace, asked about by one caller.
type region struct {
	typ Type
	at  Object
	id  string
	env eval.Env // without a resource
}

func (a *Authorizer) region(id Identity, o Object, objectID string, typ Type) *region {
	principal := principalOf(id)
	return &region{typ: typ, at: o, id: objectID, env: eval.Env{
		Entities: newEntities(a.actions, principal, o, objectID), Principal: principal.UID,
		Action: types.NewEntityUID("Action", types.String(existence(typ))), Context: types.Record{},
	}}
}

// meets is what the policy's conditions come to in the region.
func (g *region) meets(s *scope) outcomes {
	all := always
	for _, c := range s.conditions {
		one := g.evaluate(c.Body)
		if c.Condition == ast.ConditionUnless {
			one = one.not()
		}
		all = all.and(one)
	}
	return all
}

// evaluate decides what doesn't depend on the resource, and of the rest what can be told
// from the ids that are spelled out.
func (g *region) evaluate(n ast.IsNode) outcomes {
	switch n := n.(type) {
	case ast.NodeTypeAnd:
		return g.evaluate(n.Left).and(g.evaluate(n.Right))
	case ast.NodeTypeOr:
		return g.evaluate(n.Left).or(g.evaluate(n.Right))
	case ast.NodeTypeNot:
		return g.evaluate(n.Arg).not()
	case ast.NodeTypeIfThenElse:
		test, then, otherwise := g.evaluate(n.If), g.evaluate(n.Then), g.evaluate(n.Else)
		return outcomes{
			yes: test.yes && then.yes || test.no && otherwise.yes,
			no:  test.yes && then.no || test.no && otherwise.no,
		}
	}
	if !looksAtResource(n) {
		value, err := eval.Eval(n, g.env)
		truth, ok := value.(types.Boolean)
		if err != nil || !ok {
			return outcomes{}
		}
		return sure(bool(truth))
	}
	return g.compare(n)
}

// compare decides a comparison of the resource with what is spelled out.
func (g *region) compare(n ast.IsNode) outcomes {
	switch n := n.(type) {
	case ast.NodeTypeIn:
		if isResource(n.Left) {
			return g.anyOf(n.Right, g.in)
		}
	case ast.NodeTypeIs:
		if isResource(n.Left) {
			return sure(n.EntityType == types.EntityType(g.typ))
		}
	case ast.NodeTypeIsIn:
		if isResource(n.Left) {
			return sure(n.EntityType == types.EntityType(g.typ)).and(g.anyOf(n.Entity, g.in))
		}
	case ast.NodeTypeEquals:
		return g.equal(n.Left, n.Right)
	case ast.NodeTypeNotEquals:
		return g.equal(n.Left, n.Right).not()
	case ast.NodeTypeContains:
		if isResource(n.Right) {
			return g.anyOf(n.Left, g.is)
		}
	case ast.NodeTypeLike:
		if isPath(n.Arg) {
			return g.like(n.Value)
		}
	}
	return either
}

func isResource(n ast.IsNode) bool {
	v, ok := n.(ast.NodeTypeVariable)
	return ok && v.Name == "resource"
}

func isPath(n ast.IsNode) bool {
	a, ok := n.(ast.NodeTypeAccess)
	return ok && a.Value == "path" && isResource(a.Arg)
}

// anyOf decides whether the resource stands so to the entity, or to one of the set, that n
// spells out.
func (g *region) anyOf(n ast.IsNode, compare func(types.EntityUID) outcomes) outcomes {
	spelled := []ast.IsNode{n}
	if set, ok := n.(ast.NodeTypeSet); ok {
		spelled = set.Elements
	}
	some := never
	for _, n := range spelled {
		v, _ := n.(ast.NodeValue)
		uid, ok := v.Value.(types.EntityUID)
		if !ok {
			return either
		}
		some = some.or(compare(uid))
	}
	return some
}

func (g *region) equal(a, b ast.IsNode) outcomes {
	if v, ok := a.(ast.NodeValue); ok {
		a, b = b, v
	}
	v, ok := b.(ast.NodeValue)
	switch {
	case ok && isResource(a):
		return g.anyOf(v, g.is)
	case ok && isPath(a):
		path, _ := v.Value.(types.String)
		return outcomes{yes: atOrBelow(string(path), g.id), no: true}
	}
	return either
}

// is decides whether the resource is that entity: perhaps, where that lies in the region.
func (g *region) is(uid types.EntityUID) outcomes {
	return outcomes{yes: uid.Type == types.EntityType(g.typ) && atOrBelow(string(uid.ID), g.id), no: true}
}

// in decides whether the resource is in the entity: all are that lies around the region,
// some if it lies within.
func (g *region) in(uid types.EntityUID) outcomes {
	around := scope{resource: uid}
	switch {
	case uid.Type != types.EntityType(Namespace) && uid.Type != "Mount":
		return g.is(uid)
	case around.covers(g.at, g.id):
		return outcomes{yes: true, no: uid.Type == "Mount" && g.at.AboveMount}
	}
	return outcomes{yes: atOrBelow(string(uid.ID), g.id), no: true}
}

// like decides by what stands before the pattern's first star.
func (g *region) like(p types.Pattern) outcomes {
	var parts []any
	text, err := p.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &parts)
	}
	if err != nil || len(parts) == 0 {
		return either
	}
	literal, _ := parts[0].(map[string]any)
	start, _ := literal["Literal"].(string)
	base := g.id + "."
	if g.id == "" {
		base = ""
	}
	starred := slices.Contains(parts, any("Wildcard"))
	return outcomes{
		yes: p.Match(types.String(g.id)) || strings.HasPrefix(start, base) || starred && strings.HasPrefix(base, start),
		no:  !starred || len(parts) > 2 || start == "" && len(parts) > 1 || !strings.HasPrefix(g.id, start),
	}
}
