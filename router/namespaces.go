package router

import (
	"net/http"

	"piedmont/authz"
	"piedmont/mounts"
)

type createNamespaceRequest struct {
	Namespace  []string           `json:"namespace"`
	Properties map[string]*string `json:"properties"`
}

// namespaceResponse is a CreateNamespaceResponse and a GetNamespaceResponse.
type namespaceResponse struct {
	Namespace  mounts.Namespace  `json:"namespace"`
	Properties map[string]string `json:"properties"`
}

func (rt *Router) createNamespace(w http.ResponseWriter, r *http.Request, c *call) error {
	var request createNamespaceRequest
	if err := decode(w, r, &request); err != nil {
		return err
	}
	if len(request.Namespace) == 0 {
		return missing("namespace, or it has no level")
	}
	properties, err := plain("properties", request.Properties)
	if err != nil {
		return err
	}
	t, err := c.tree.Resolve(r.Context(), c.identity.Caller, c.warehouse.Down(request.Namespace))
	if err != nil {
		return err
	}
	if err := rt.mayCreate(c, authz.CreateNamespace, authz.NamespaceOf(t)); err != nil {
		return err
	}
	stored, err := c.tree.CreateNamespace(r.Context(), c.identity.Caller, t, properties)
	if err != nil {
		return err
	}
	return answer(w, r, namespaceResponse{Namespace: c.warehouse.Up(t.Path), Properties: stored})
}

func (rt *Router) loadNamespace(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := rt.authorizedNamespace(r, c, authz.LoadNamespaceMetadata)
	if err != nil {
		return err
	}
	properties, err := c.tree.LoadNamespace(r.Context(), c.identity.Caller, t)
	if err != nil {
		return err
	}
	return answer(w, r, namespaceResponse{Namespace: c.warehouse.Up(t.Path), Properties: properties})
}

func (rt *Router) namespaceExists(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := rt.authorizedNamespace(r, c, authz.NamespaceExists)
	if err != nil {
		return err
	}
	if _, err := c.tree.LoadNamespace(r.Context(), c.identity.Caller, t); err != nil {
		return err
	}
	return noContent(w)
}

func (rt *Router) dropNamespace(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := rt.authorizedNamespace(r, c, authz.DropNamespace)
	if err != nil {
		return err
	}
	if err := c.tree.DropNamespace(r.Context(), c.identity.Caller, t); err != nil {
		return err
	}
	return noContent(w)
}

// authorizedNamespace resolves the path's namespace and decides. A mount point's own
// existence and its empty properties are no secret to whoever sees something below it.
func (rt *Router) authorizedNamespace(r *http.Request, c *call, action authz.Action) (mounts.Target, error) {
	t, err := c.namespaceTarget(r)
	if err != nil {
		return t, err
	}
	o := authz.NamespaceOf(t)
	readsPlace := action == authz.NamespaceExists || action == authz.LoadNamespaceMetadata
	if readsPlace && t.Place != mounts.Inside && rt.visible(c, o, t) {
		return t, nil
	}
	return t, rt.may(c, action, o, t)
}

type updatePropertiesRequest struct {
	Removals []string           `json:"removals"`
	Updates  map[string]*string `json:"updates"`
}

// updatePropertiesResponse: missing is optional in the specification, but PyIceberg needs it.
type updatePropertiesResponse struct {
	Updated []string `json:"updated"`
	Removed []string `json:"removed"`
	Missing []string `json:"missing"`
}

func (rt *Router) updateProperties(w http.ResponseWriter, r *http.Request, c *call) error {
	t, err := rt.authorizedNamespace(r, c, authz.UpdateProperties)
	if err != nil {
		return err
	}
	var request updatePropertiesRequest
	if err := decode(w, r, &request); err != nil {
		return err
	}
	updates, err := plain("updates", request.Updates)
	if err != nil {
		return err
	}
	done, err := c.tree.UpdateProperties(r.Context(), c.identity.Caller, t, request.Removals, updates)
	if err != nil {
		return err
	}
	return answer(w, r, updatePropertiesResponse(done))
}
