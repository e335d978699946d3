package main

import (
	"context"
	"errors"
	"fmt"
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
	profiles map[string]*vend.Profile
	files    *vend.Documents // for mounts that read metadata files
	rest     *rest.Documents
	log      *slog.Logger
}

// newMounter gives each kind of mount that is configured an equal part of the memory for
// documents.
func newMounter(c configs.Config, profiles map[string]*vend.Profile, log *slog.Logger) *mounter {
	kinds := map[bool]bool{}
	for _, m := range c.Mounts {
		kinds[m.REST == nil] = true
	}
	part := int64(c.Cache.Documents) / int64(max(len(kinds), 1))
	return &mounter{
		profiles: profiles, log: log,
		files: vend.NewDocuments(part),
		rest:  rest.NewDocuments(part),
	}
}

// federated makes a mount that needs no registry; of a native one it makes the point alone. It
// asks no catalog anything.
func (b *mounter) federated(ctx context.Context, m configs.Mount) (mounts.Point, error) {
	p := pointOf(m)
	set, err := b.storage(m)
	if err != nil {
		return p, err
	}
	switch {
	case m.Native != nil: // it needs the registry
	case m.Glue != nil:
		p.Mount, err = made(b.openGlue(ctx, m, set))
	case m.Hive != nil:
		p.Mount, err = made(b.openHive(m, set)) //nolint:contextcheck // what it asks by itself ends when it is closed
	default:
		p.Mount, err = made(b.openREST(m, set))
	}
	return p, err
}

// made is a catalog as a mount, and no interface that holds a nil pointer.
func made[C mounts.Mount](catalog C, err error) (mounts.Mount, error) {
	if err != nil {
		return nil, err
	}
	return catalog, nil
}

// native makes a native mount.
func (b *mounter) native(m configs.Mount, registry native.Registry) (mounts.Mount, error) {
	set, err := b.storage(m)
	if err != nil {
		return nil, err
	}
	return made(native.New(native.Options{
		ID: m.Native.ID, Registry: registry, Warehouse: m.Native.Warehouse, Storage: set,
		UndropWindow: *m.Native.UndropWindow, FormatVersions: m.Native.FormatVersions, DefaultFormatVersion: m.Native.DefaultFormatVersion,
		Documents: b.files, Now: time.Now, Logger: b.log,
	}))
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

// errProfile is of a mount whose storage profile couldn't be made, which was said already.
var errProfile = errors.New("it needs the storage profile")

// storage is the set of profiles that a mount may use.
func (b *mounter) storage(m configs.Mount) (*vend.Set, error) {
	list := make([]*vend.Profile, len(m.Storage))
	for i, name := range m.Storage {
		if list[i] = b.profiles[name]; list[i] == nil {
			return nil, fmt.Errorf("%w '%s'", errProfile, name)
		}
	}
	return vend.NewSet(m.At, list...)
}

func (b *mounter) openREST(m configs.Mount, set *vend.Set) (*rest.Catalog, error) {
	o := rest.Options{
		Name: m.At, URI: m.REST.URI, Warehouse: m.REST.Warehouse,
		Credential: m.REST.Credential, OAuth2ServerURI: m.REST.OAuth2ServerURI, Scope: m.REST.Scope, Token: m.REST.Token,
		Lower: m.Case == "lower", Timeout: m.REST.Timeout, Guard: guard.Options{Concurrency: m.REST.Connections}, FreshFor: m.FreshFor, Documents: b.rest, Now: time.Now, Logger: b.log,
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
