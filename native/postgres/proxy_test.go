//go:build e2e

package postgres

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// network is what lies between a registry and the database.
type network struct {
	t     *testing.T
	proxy *toxiproxy.Proxy
}

// newNetwork makes one, and the URL that leads through it.
func newNetwork(t *testing.T, server string) (*network, string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	n := &network{t: t, proxy: toxiproxy.NewProxy(api, "database", "127.0.0.1:0", u.Host)}
	if err := n.proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.proxy.Stop)
	u.Host = n.proxy.Listen
	return n, u.String()
}

// ails makes it do harm in one direction until the returned function is called.
func (n *network) ails(kind, stream string, attributes map[string]int) (heal func()) {
	n.t.Helper()
	b, err := json.Marshal(map[string]any{"name": kind + stream, "type": kind, "stream": stream, "attributes": attributes})
	if err == nil {
		_, err = n.proxy.Toxics.AddToxicJson(strings.NewReader(string(b)))
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return func() { _ = n.proxy.Toxics.RemoveToxic(n.t.Context(), kind+stream) }
}

// cut breaks every connection, and refuses new ones until the returned function is called.
func (n *network) cut() (heal func()) {
	n.proxy.Stop()
	return func() {
		if err := n.proxy.Start(); err != nil {
			n.t.Error(err)
		}
	}
}
