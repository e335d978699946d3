package rest_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts/rest"
)

func TestOverridesToTheSameOrigin(t *testing.T) {
	u := withTable(t)
	u.overrides = map[string]string{"uri": strings.ToUpper(u.server.URL[:4]) + u.server.URL[4:] + "/iceberg/"}
	load(t, u.mount(), table)

	var logged bytes.Buffer
	u.overrides = map[string]string{"uri": "https" + u.server.URL[4:] + "/iceberg", "oauth2-server-uri": "http://evil.example/s3cret"}
	load(t, u.mount(func(o *rest.Options) { o.Logger = slog.New(slog.NewTextHandler(&logged, nil)) }), table)
	require.Equal(t, 2, strings.Count(logged.String(), "leads to another host"), logged.String())
	require.NotContains(t, logged.String(), "s3cret")
}

// What leads elsewhere is told of once, however often the configuration is asked for, and again
// where it leads to yet another place; not for ever where that is another each time.
func TestOverridesToElsewhereAreLoggedOnce(t *testing.T) {
	var logged bytes.Buffer
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	told := func(uri, tokens string) int {
		t.Helper()
		logged.Reset()
		u.overrides = map[string]string{"uri": uri, "oauth2-server-uri": tokens}
		require.NoError(t, c.Health(t.Context()))
		return strings.Count(logged.String(), "leads to another host")
	}
	require.Equal(t, 2, told("http://a.example/", "http://a.example/"))
	require.Zero(t, told("http://a.example/", "http://a.example/"))
	require.Equal(t, 1, told("http://b.example/", "http://a.example/"))
	require.Contains(t, logged.String(), "key=uri")
	require.Zero(t, told("http://a.example/", "http://a.example/"), "one of many behind a balancer")
	require.Zero(t, told("", ""))
	lines := 0
	for i := range 100 {
		lines += told(fmt.Sprintf("http://%d.example/", i), "")
	}
	require.Equal(t, 13, lines)
}
