package main

import (
	"context"
	"log/slog"
	"time"

	"piedmont/configs"
	"piedmont/mounts"
	"piedmont/mounts/glue"
	"piedmont/mounts/guard"
	"piedmont/mounts/hive"
	"piedmont/mounts/metastore"
	"piedmont/mounts/rest"
	"piedmont/native"
	"piedmont/vend"
)

// mounter makes the mounts of a configuration. Those of a kind share a document cache.
type mounter struct {
	registry native.Registry
	profiles map[string]*vend.Profile
	files    *vend.Documents // for mounts that read metadata files
	rest     *rest.Documents
	log      *slog.Logger
}

// newMounter gives each kind of mount that is configured an equal part of the memory for
// documents.
func newMounter(c configs.Config, registry native.Registry, profiles map[string]*vend.Profile, log *slog.Logger) *mounter {
	kinds := map[bool]bool{}
	for _, m := range c.Mounts {
		kinds[m.REST == nil] = true
	}
	part := int64(c.Cache.Documents) / int64(max(len(kinds), 1))
	return &mounter{
		registry: registry, profiles: profiles, log: log,
		files: vend.NewDocuments(part),
		rest:  rest.NewDocuments(part),
	}
}

// point makes one mount and the point where it is attached. It asks no catalog anything.
func (b *mounter) point(ctx context.Context, m configs.Mount) (mounts.Point, error) {
	p := pointOf(m)
	set, err := b.storage(m)
	if err != nil {
		return p, err
	}
	if m.Native != nil {
		p.Kind = "native"
		p.Mount, err = native.New(native.Options{
			ID: m.Native.ID, Registry: b.registry, Warehouse: m.Native.Warehouse, Storage: set,
			UndropWindow: *m.Native.UndropWindow, FormatVersions: m.Native.FormatVersions, DefaultFormatVersion: m.Native.DefaultFormatVersion,
			Documents: b.files, Now: time.Now, Logger: b.log,
		})
		return p, err
	}
	if m.Glue != nil {
		p.Kind = "glue"
		p.Mount, err = b.openGlue(ctx, m, set)
		return p, err
	}
	if m.Hive != nil {
		p.Kind = "hive"
		p.Mount, err = b.openHive(m, set) //nolint:contextcheck // what it asks by itself ends when it is closed
		return p, err
	}
	p.Kind = "rest"
	p.Mount, err = b.openREST(m, set)
	return p, err
}

func (b *mounter) openGlue(ctx context.Context, m configs.Mount, set *vend.Set) (*metastore.Catalog, error) {
	g := m.Glue
	source, err := glue.NewSource(ctx, glue.Options{
		Name: m.At, Region: g.Region, CatalogID: g.CatalogID, Endpoint: g.Endpoint, STSEndpoint: g.STSEndpoint,
		AccessKeyID: g.AccessKeyID, SecretAccessKey: g.SecretAccessKey, RoleARN: g.RoleARN, ExternalID: g.ExternalID, SessionName: g.SessionName,
		CallsPerSecond: g.CallsPerSecond, Logger: b.log,
	})
	if err != nil {
		return nil, err
	}
	return metastore.New(metastore.Options{ //nolint:contextcheck // as that of Hive
		Name: m.At, Kind: "glue", Source: source, Guard: guard.Options{Timeout: g.Timeout}, Storage: set, Documents: b.files,
		FreshFor: m.FreshFor, Now: time.Now, Logger: b.log,
	})
}

func (b *mounter) openHive(m configs.Mount, set *vend.Set) (*metastore.Catalog, error) {
	h := m.Hive
	return hive.New(hive.Options{
		Name: m.At, URIs: h.URIs, Catalog: h.Catalog, User: h.User, Framed: h.Framed, TLS: (*hive.TLS)(h.TLS), Plain: (*hive.Plain)(h.Plain),
		Connections: h.Connections, Now: time.Now,
	}, metastore.Options{
		Guard: guard.Options{Timeout: h.Timeout}, Storage: set, Documents: b.files, FreshFor: m.FreshFor, Now: time.Now, Logger: b.log,
	})
}

// storage is the set of profiles that a mount may use.
func (b *mounter) storage(m configs.Mount) (*vend.Set, error) {
	list := make([]*vend.Profile, len(m.Storage))
	for i, name := range m.Storage {
		list[i] = b.profiles[name]
	}
	return vend.NewSet(m.At, list...)
}

func (b *mounter) openREST(m configs.Mount, set *vend.Set) (*rest.Catalog, error) {
	o := rest.Options{
		Name: m.At, URI: m.REST.URI, Warehouse: m.REST.Warehouse,
		Credential: m.REST.Credential, OAuth2ServerURI: m.REST.OAuth2ServerURI, Scope: m.REST.Scope, Token: m.REST.Token,
		Timeout: m.REST.Timeout, FreshFor: m.FreshFor, Documents: b.rest, Now: time.Now, Logger: b.log,
		Storage: func(location string) (string, bool) {
			p, _, err := set.Find(location)
			if err != nil {
				return "", false
			}
			return p.Name, true
		},
	}
	if s := m.REST.SigV4; s != nil {
		o.SigV4 = &rest.SigV4{Region: s.Region, Service: s.Service, AccessKeyID: s.AccessKeyID, SecretAccessKey: s.SecretAccessKey}
	}
	return rest.New(o)
}
