package rest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// The suite, against upstreams of different habits.
func TestConformance(t *testing.T) {
	for name, c := range map[string]struct {
		upstream func(*upstream)
		mount    func(*rest.Options)
	}{
		"plain":           {func(*upstream) {}, func(*rest.Options) {}},
		"pages":           {func(u *upstream) { u.pageSize = 3 }, func(*rest.Options) {}},
		"no tags":         {func(u *upstream) { u.etags = false }, func(*rest.Options) {}},
		"no endpoints":    {func(u *upstream) { u.endpoints = nil }, func(*rest.Options) {}},
		"no head":         {func(u *upstream) { u.endpoints = withoutHead() }, func(*rest.Options) {}},
		"no views":        {func(u *upstream) { u.endpoints = tableEndpoints() }, func(*rest.Options) {}},
		"no modes":        {func(u *upstream) { u.modes = false }, func(*rest.Options) {}},
		"one at a time":   {func(*upstream) {}, func(o *rest.Options) { o.Guard.Concurrency = 1 }},
		"prefix":          {func(u *upstream) { u.prefix = "arn%3Aaws%2Fx/second" }, func(*rest.Options) {}},
		"dots separate":   {func(u *upstream) { u.separator = "%2E" }, func(*rest.Options) {}},
		"dollar separate": {func(u *upstream) { u.separator = "%24" }, func(*rest.Options) {}},
		"oauth":           {func(u *upstream) { u.secret = "s:s3cret" }, func(*rest.Options) {}},
		"fresh for":       {func(u *upstream) { u.pageSize = 2 }, func(o *rest.Options) { o.FreshFor = time.Minute }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t, c.upstream)
			var stats func() guard.Stats
			mounttest.Run(t, mounttest.Suite{
				Open: func(t *testing.T, content mounttest.Content) mounts.Mount {
					u.fill(content)
					o := rest.Options{
						Name: "legacy", URI: u.server.URL + "/iceberg/", Warehouse: "wh", Timeout: 10 * time.Second,
						Documents: rest.NewDocuments(64 << 20), Now: time.Now,
					}
					if u.secret != "" {
						o.Credential = "id:" + u.secret
					}
					c.mount(&o)
					m, err := rest.New(o)
					require.NoError(t, err)
					stats = func() guard.Stats { return m.Stats().Guard }
					return m
				},
				Nested: true, Names: slices.DeleteFunc(mounttest.AwkwardNames(), func(name string) bool {
					return strings.Contains(name, u.plainSeparator()) // see TestNamesWithTheSeparator
				}),
			})
			require.Equal(t, 1, u.count("GET config")-1, "asked once, and once by Health")
			require.Zero(t, stats().Failed)
			require.Zero(t, stats().UnderWay+stats().Waiting)
		})
	}
}

// Nothing but reads ever reaches the upstream, and requests for a token: see also ServeHTTP of
// the fake, which reports each other method.
func TestReadOnly(t *testing.T) {
	u := newUpstream(t, func(u *upstream) { u.secret = "s3cret" })
	mounttest.RunReadOnly(t, mounttest.ReadOnlySuite{
		Kind: "rest", Mutations: u.mutations,
		Open: func(t *testing.T, content mounttest.Content) mounts.Mount {
			u.fill(content)
			m, err := rest.New(rest.Options{
				Name: "far.away", URI: u.server.URL + "/iceberg/", Warehouse: "wh", Credential: "id:" + u.secret,
				Documents: rest.NewDocuments(64 << 20), Now: time.Now,
			})
			require.NoError(t, err)
			return m
		},
	})
}
