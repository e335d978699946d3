//go:build e2e

package hive_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/hive"
	"piedmont/mounts/metastore"
)

// Every way to a metastore, each to one that takes no other.
func TestTransports(t *testing.T) {
	keys := t.TempDir()
	keytool(t, keys)
	for _, c := range []struct {
		name    string
		version string
		site    map[string]string
		set     func(*hive.Options) // on what leads to it with nothing else
		wrong   map[string]func(*hive.Options)
	}{
		{
			"framed", "3",
			map[string]string{"hive.metastore.thrift.framed.transport.enabled": "true"},
			func(o *hive.Options) { o.Framed = true },
			map[string]func(*hive.Options){"can't be reached right now": func(o *hive.Options) { o.Framed = false }},
		},
		{
			"HTTP", "4",
			map[string]string{"metastore.server.thrift.transport.mode": "http"},
			func(o *hive.Options) {
				o.URIs = []string{strings.Replace(o.URIs[0], "thrift://", "http://", 1) + "/metastore"}
				o.User = "gateway"
			},
			map[string]func(*hive.Options){
				"gave an answer that no metastore gives": func(o *hive.Options) { o.URIs[0] = strings.Replace(o.URIs[0], "/metastore", "/nosuch", 1) },
			},
		},
		{
			"PLAIN", "4",
			map[string]string{
				"metastore.authentication": "CONFIG", "metastore.authentication.config.username": "gateway",
				"metastore.authentication.config.password": "secret-word", "metastore.execute.setugi": "false",
			},
			func(o *hive.Options) { o.Plain = &hive.Plain{User: "gateway", Password: "secret-word"} },
			map[string]func(*hive.Options){
				"does not accept the mount's credential": func(o *hive.Options) { o.Plain.Password = "another" },
				"can't be reached right now":             func(o *hive.Options) { o.Plain = nil },
			},
		},
		{
			"TLS", "4",
			map[string]string{
				"hive.metastore.use.SSL": "true", "hive.metastore.keystore.path": filepath.Join(keys, "store"), "hive.metastore.keystore.password": "changeit",
			},
			func(o *hive.Options) {
				o.TLS = &hive.TLS{CA: filepath.Join(keys, "ca.pem"), ServerName: "hms.internal"}
			},
			map[string]func(*hive.Options){"can't be reached right now": func(o *hive.Options) { o.TLS.ServerName = "other.internal" }},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			uri := serve(t, c.version, c.site)
			source := func(changes ...func(*hive.Options)) *hive.Source {
				o := hive.Options{Name: "legacy", URIs: []string{uri}, Now: time.Now}
				for _, change := range changes {
					change(&o)
				}
				s, err := hive.NewSource(o)
				require.NoError(t, err)
				t.Cleanup(func() { _ = s.Close() })
				return s
			}
			s := source(c.set)
			for range 3 {
				require.NoError(t, s.Health(t.Context()))
				names, _, err := s.Databases(t.Context(), "", 0)
				require.NoError(t, err)
				require.Equal(t, []string{"default"}, names)
				names, _, err = s.Objects(t.Context(), "default", metastore.Table, "", 0)
				require.NoError(t, err)
				require.Empty(t, names)
				_, err = s.Object(t.Context(), "default", "nosuch")
				require.True(t, mounts.Is(err, mounts.NoSuchTable), "%v", err)
			}
			for text, change := range c.wrong {
				require.ErrorContains(t, source(c.set, change).Health(t.Context()), text)
			}
		})
	}
}

// serve starts a metastore of its own with settings.
func serve(t *testing.T, version string, settings map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	site := ""
	for name, value := range settings {
		site += fmt.Sprintf("<property><name>%s</name><value>%s</value></property>", name, value)
	}
	command := func(arguments ...string) {
		cmd := exec.Command("../../.ci/hive", arguments...)
		cmd.Env = append(os.Environ(), "HIVE_SITE="+site, "PIEDMONT_TEST_POSTGRES=")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	command("start", version, dir)
	t.Cleanup(func() { command("kill", dir) })
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	require.NoError(t, err)
	uri, _, _ := strings.Cut(strings.TrimPrefix(string(env), "HIVE_URI="), "\n")
	return uri
}

// keytool makes a metastore's key store, and a file with its certificate.
func keytool(t *testing.T, dir string) {
	t.Helper()
	store := filepath.Join(dir, "store")
	for _, arguments := range [][]string{
		{"-genkeypair", "-alias", "hms", "-keyalg", "EC", "-dname", "CN=hms", "-ext", "SAN=dns:hms.internal", "-validity", "2"},
		{"-exportcert", "-alias", "hms", "-rfc", "-file", filepath.Join(dir, "ca.pem")},
	} {
		out, err := exec.Command("keytool", append(arguments, "-keystore", store, "-storepass", "changeit")...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
