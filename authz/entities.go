package authz

import (
	"strings"

	"github.com/cedar-policy/cedar-go/types"
)

// actionEntities puts each action into its group.
func actionEntities() map[types.EntityUID]types.Entity {
	all := map[types.EntityUID]types.Entity{}
	for action, group := range actionGroups {
		uid := types.NewEntityUID("Action", types.String(action))
		all[uid] = types.Entity{UID: uid, Parents: types.NewEntityUIDSet(types.NewEntityUID("Action", types.String(group)))}
	}
	return all
}

// entities gives Cedar what one decision is about: the principal, the object and the
// namespaces around it. Cedar asks again for each policy, and names may have many levels,
// so each namespace is made once.
type entities struct {
	actions   map[types.EntityUID]types.Entity
	principal types.Entity
	object    types.Entity
	path      []string         // the object's namespace
	mount     *types.EntityUID // nil outside every mount
	made      []types.Entity   // the namespaces around the object, by depth, as they are asked for
}

func newEntities(actions map[types.EntityUID]types.Entity, principal types.Entity, o Object, id string) *entities {
	e := &entities{actions: actions, principal: principal, path: o.Path}
	if o.InMount {
		mount := types.NewEntityUID("Mount", types.String(o.Mount))
		e.mount = &mount
	}
	name := o.Name
	if o.Type == Namespace {
		name = o.Path.Last()
	}
	e.object = e.entity(types.NewEntityUID(types.EntityType(o.Type), types.String(id)), name)
	return e
}

// Get returns the principal, an action, the object or a namespace around it.
func (e *entities) Get(uid types.EntityUID) (types.Entity, bool) {
	switch uid {
	case e.principal.UID:
		return e.principal, true
	case e.object.UID:
		return e.object, true
	}
	switch uid.Type {
	case "Action":
		action, ok := e.actions[uid]
		return action, ok
	case types.EntityType(Namespace):
		return e.namespace(uid)
	}
	return types.Entity{UID: uid}, uid.Type == "Mount" || uid.Type == "Group" || uid.Type == "Role"
}

// namespace is one around the object: its id is the object's up to some dot, or the root's.
func (e *entities) namespace(uid types.EntityUID) (types.Entity, bool) {
	id, depth := string(uid.ID), 0
	if id != "" {
		rest, ok := strings.CutPrefix(string(e.object.UID.ID), id)
		if !ok || !strings.HasPrefix(rest, ".") {
			return types.Entity{}, false
		}
		depth = strings.Count(id, ".") + 1
	}
	if e.made == nil {
		e.made = make([]types.Entity, len(e.path)+1)
	}
	if e.made[depth].UID != uid {
		name := ""
		if depth > 0 {
			name = e.path[depth-1]
		}
		e.made[depth] = e.entity(uid, name)
	}
	return e.made[depth], true
}

// entity is an object with its parents: the namespace around it, and its mount.
func (e *entities) entity(uid types.EntityUID, name string) types.Entity {
	parents := make([]types.EntityUID, 0, 2)
	if i := strings.LastIndexByte(string(uid.ID), '.'); i >= 0 {
		parents = append(parents, types.NewEntityUID("Namespace", uid.ID[:i]))
	} else if uid.ID != "" {
		parents = append(parents, types.NewEntityUID("Namespace", ""))
	}
	if e.mount != nil {
		parents = append(parents, *e.mount)
	}
	return types.Entity{
		UID: uid, Parents: types.NewEntityUIDSet(parents...),
		Attributes: types.NewRecord(types.RecordMap{"name": types.String(name), "path": uid.ID}),
	}
}
