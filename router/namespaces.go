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
	b, err := decode(w, r, &request)
	if err != nil {
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
	ctx := r.Context()
	stored := orEmpty(properties) // what a repeated request is answered with
	_, err = rt.once(r, c, t, b, func() (err error) {
		stored, err = c.tree.CreateNamespace(ctx, c.identity.Caller, t, stored)
		return err
	})
	if err != nil {
		return err
	}
	return answer(w, r, namespaceResponse{Namespace: c.warehouse.Up(t.Path), Properties: stored})
}

func (rt *Router) loadNamespace(w http.ResponseWriter, r *http.Request, c *call) error {
	t, properties, err := rt.readNamespace(r, c, authz.LoadNamespaceMetadata)
	if err != nil {
		return err
	}
	return answer(w, r, namespaceResponse{Namespace: c.warehouse.Up(t.Path), Properties: properties})
}

func (rt *Router) namespaceExists(w http.ResponseWriter, r *http.Request, c *call) error {
	if _, _, err := rt.readNamespace(r, c, authz.NamespaceExists); err != nil {
		return err
	}
	return noContent(w)
}

// readNamespace resolves the path's namespace, decides, and reads its properties. A place
// that leads to what the caller may see is no secret to them: without a permit it is there
// and seems to have no properties, and its mount isn't asked.
func (rt *Router) readNamespace(r *http.Request, c *call, action authz.Action) (mounts.Target, map[string]string, error) {
	t, err := c.namespaceTarget(r)
	if err != nil {
		return t, nil, err
	}
	o := authz.NamespaceOf(t)
	if !rt.authorizer.Allowed(c.identity, action, o) && rt.mayPass(c, action, o, t) {
		return t, map[string]string{}, nil
	}
	if err := rt.may(c, action, o, t); err != nil {
		return t, nil, err
	}
	properties, err := c.tree.LoadNamespace(r.Context(), c.identity.Caller, t)
	return t, properties, err
}

func (rt *Router) dropNamespace(w http.ResponseWriter, r *http.Request, c *call) error {
	return rt.drop(w, r, c, ofNamespace, authz.DropNamespace, c.tree.DropNamespace)
}

func orEmpty(properties map[string]string) map[string]string {
	if properties == nil {
		return map[string]string{}
	}
	return properties
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
	t, err := rt.authorized(r, c, ofNamespace, authz.UpdateProperties)
	if err != nil {
		return err
	}
	var request updatePropertiesRequest
	b, err := decode(w, r, &request)
	if err != nil {
		return err
	}
	updates, err := plain("updates", request.Updates)
	if err != nil {
		return err
	}
	var done mounts.PropertiesUpdate
	o, err := rt.once(r, c, t, b, func() (err error) {
		done, err = c.tree.UpdateProperties(r.Context(), c.identity.Caller, t, request.Removals, updates)
		return err
	})
	if err != nil {
		return err
	}
	if o != nil && o.Properties != nil {
		done = *o.Properties
	}
	return answer(w, r, updatePropertiesResponse(done))
}
