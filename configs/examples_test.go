package configs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/authz"
	"piedmont/configs"
	"piedmont/mounts"
)

// exampleEnvironment is what each example says that it needs.
var exampleEnvironment = map[string]map[string]string{
	"glue.yaml":                       {"GLUE_EXTERNAL_ID": "ticket"},
	"hive.yaml":                       {"HIVE_PASSWORD": "p"},
	"minimal.yaml":                    {},
	"quickstart-local.yaml":           {"PIEDMONT_HOME": "/srv/piedmont"},
	"s3-and-legacy-rest.yaml":         {"S3_ACCESS_KEY_ID": "k", "S3_SECRET_ACCESS_KEY": "s", "LEGACY_CREDENTIAL": "id:secret"},
	"three-mounts-with-policies.yaml": {"PARTNER_TOKEN": "t"},
}

// load reads an example with its environment set and with nothing else.
func load(t *testing.T, name string) configs.Config {
	t.Helper()
	for variable, value := range exampleEnvironment[name] {
		t.Setenv(variable, value)
	}
	c, err := configs.Load(filepath.Join("examples", name))
	require.NoError(t, err)
	return c
}

func policies(t *testing.T, c configs.Config) []authz.PolicyFile {
	t.Helper()
	var files []authz.PolicyFile
	for _, pattern := range c.Auth.Policies {
		names, err := filepath.Glob(filepath.Join("examples", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, names, pattern)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			files = append(files, authz.PolicyFile{Name: name, Text: text})
		}
	}
	return files
}

func TestExamples(t *testing.T) {
	found, err := filepath.Glob("examples/*.yaml")
	require.NoError(t, err)
	require.Len(t, found, len(exampleEnvironment), "each example is loaded")
	for _, path := range found {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			environment, known := exampleEnvironment[name]
			require.True(t, known)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for variable := range environment {
				assert.GreaterOrEqual(t, strings.Count(string(text), variable), 2, "the comment names %s", variable)
			}
			c := load(t, name)
			var points []mounts.Point
			for _, m := range c.Mounts {
				p := mounts.Point{Lower: m.Case == "lower"}
				if m.At != "" {
					p.At = strings.Split(m.At, ".")
				}
				points = append(points, p)
			}
			_, err = mounts.NewTree(c.Name, points)
			require.NoError(t, err)
			_, err = authz.NewAuthorizer(policies(t, c))
			require.NoError(t, err)
			for _, k := range c.Auth.Keys {
				require.NoError(t, authz.CheckKeyID(k.ID))
			}
		})
	}
}

// The example's policies do what its comments say.
func TestExamplePolicies(t *testing.T) {
	c := load(t, "three-mounts-with-policies.yaml")
	a, err := authz.NewAuthorizer(policies(t, c))
	require.NoError(t, err)
	who := map[string]authz.Identity{"payroll": {Caller: mounts.Caller{Principal: "payroll", Groups: []string{"engineers"}}}}
	for _, k := range c.Auth.Keys {
		who[k.ID] = authz.Identity{Caller: mounts.Caller{Principal: k.Principal, Groups: k.Groups}, Admin: k.Principal == c.Auth.Admins[0]}
	}
	table := func(mount string, path ...string) authz.Object {
		last := len(path) - 1
		return authz.Object{Type: authz.Table, Path: path[:last], Name: path[last], Mount: mount, InMount: true}
	}
	for _, q := range []struct {
		who    string
		action authz.Action
		object authz.Object
		want   bool
	}{
		{"ops", authz.DropTable, table("", "sales", "orders"), true},
		{"ops", authz.DropTable, table("", "finance", "ledger", "2026"), false},
		{"ops", authz.LoadTable, table("", "hr", "payroll", "salaries"), false},
		{"payroll", authz.LoadTable, table("", "hr", "payroll", "salaries"), true},
		{"etl", authz.UpdateTable, table("", "sales", "orders"), true},
		{"etl", authz.DropTable, table("", "sales", "orders"), false},
		{"etl", authz.DropTable, table("scratch", "scratch", "me", "try"), true},
		{"bi", authz.LoadTable, table("", "sales", "orders"), true},
		{"bi", authz.LoadTable, table("", "sales", "tmp_orders"), false},
		{"bi", authz.UpdateTable, table("", "sales", "orders"), false},
		{"bi", authz.LoadTable, table("scratch", "scratch", "me", "try"), false},
		{"guest", authz.LoadTable, table("partner.eu", "partner", "eu", "deals", "open"), true},
		{"guest", authz.TableExists, table("", "sales", "orders"), false},
	} {
		assert.Equal(t, q.want, a.Allowed(who[q.who], q.action, q.object), "%s %s %s", q.who, q.action, q.object.ID())
	}
}
