package hive

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

func TestOptions(t *testing.T) {
	for text, change := range map[string]func(*Options){
		"uris: at least one is required":             func(o *Options) { o.URIs = nil },
		"a clock is required":                        func(o *Options) { o.Now = nil },
		"connections: can't be negative":             func(o *Options) { o.Connections = -1 },
		"catalog: no catalog has such a name":        func(o *Options) { o.Catalog = "a#b" },
		"plain: user and password are required":      func(o *Options) { o.Plain = &Plain{User: "u"} },
		"plain: SASL frames messages itself":         func(o *Options) { o.Plain = &Plain{User: "u", Password: "p"}; o.Framed = true },
		"plain: SASL frames messages itself and say": func(o *Options) { o.Plain = &Plain{User: "u", Password: "p"}; o.User = "x" },
		"user: it holds control characters":          func(o *Options) { o.User = "a\r\nb" },
		"uris[1]: want thrift://host:port, without":  func(o *Options) { o.URIs = append(o.URIs, "thrift://host") },
		"uris[1]: want thrift://host:port, without ": func(o *Options) { o.URIs = append(o.URIs, "thrift://host:1/x") },
		"uris[1]: want thrift://, http:// or":        func(o *Options) { o.URIs = append(o.URIs, "jdbc://host:1") },
		"uris[1]: want thrift://host:port, http":     func(o *Options) { o.URIs = append(o.URIs, "host:9083") },
		"uris[1]: it can't hold a user":              func(o *Options) { o.URIs = append(o.URIs, "thrift://u:secret-word@host:1") },
		"uris[1]: framed and plain are":              func(o *Options) { o.URIs = append(o.URIs, "http://host:1"); o.Framed = true },
		"uris[1]: tls is set, so http:// would":      func(o *Options) { o.URIs = append(o.URIs, "http://host:1"); o.TLS = &TLS{} },
	} {
		o := Options{Name: "legacy", URIs: []string{"thrift://host:9083"}, Now: time.Now}
		change(&o)
		_, err := NewSource(o)
		require.ErrorContains(t, err, "mount 'legacy' (hive): "+text)
		require.NotContains(t, err.Error(), "secret-word")
	}
	s, err := NewSource(Options{URIs: []string{"thrift://[::1]:9083", "https://h/metastore"}, Now: time.Now})
	require.NoError(t, err)
	require.Equal(t, 16, cap(s.pool.slots))
	require.NoError(t, s.Close())
}
