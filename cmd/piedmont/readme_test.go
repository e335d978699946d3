package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/authz"
	"piedmont/configs"
)

// readmeBlock is the first code block of that language in the README.
func readmeBlock(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatalf("the README has no %s block", language)
	}
	return string(m[1])
}

func TestReadmeConfigurationLoads(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/lake", []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LAKE_KEY", "key")
	t.Setenv("OLD", "id:secret")
	text := strings.NewReplacer("…", authz.HashSecret("x"), "/run/secrets/lake", "lake").Replace(readmeBlock(t, "yaml"))
	c, err := configs.Parse([]byte(text), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Mounts) != 2 || c.Mounts[1].REST.Credential != "id:secret" || c.Storage[0].S3.SecretAccessKey != "secret" {
		t.Errorf("read as %+v", c)
	}
}

func TestReadmePoliciesAreValid(t *testing.T) {
	_, err := authz.NewAuthorizer([]authz.PolicyFile{{Name: "README.md", Text: []byte(readmeBlock(t, "cedar"))}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDocumentedActions: the table of groups in configs/README.md is what policies know.
func TestDocumentedActions(t *testing.T) {
	text, err := os.ReadFile("../../configs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `Action::\"(\\w+)\"` \\| (.*) \\|$").FindAllStringSubmatch(string(text), -1)
	seen := 0
	for _, row := range rows {
		permit := `permit (principal, action in Action::"` + row[1] + `", resource);`
		a, err := authz.NewAuthorizer([]authz.PolicyFile{{Name: "group", Text: []byte(permit)}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[2], -1) {
			seen++
			o := authz.Object{Type: typeOf(m[1]), Path: []string{"a"}, Name: "b"}
			if o.Type == authz.Namespace {
				o.Name = ""
			}
			if !a.Allowed(authz.Identity{}, authz.Action(m[1]), o) {
				t.Errorf("%s isn't in the group %s", m[1], row[1])
			}
		}
	}
	if len(rows) != 3 || seen != 24 {
		t.Errorf("%d groups with %d actions are documented", len(rows), seen)
	}
}

func typeOf(action string) authz.Type {
	switch {
	case strings.Contains(action, "View") && action != "listViews":
		return authz.View
	case strings.Contains(action, "Table") && action != "listTables", action == "reportMetrics":
		return authz.Table
	}
	return authz.Namespace
}

// TestReadmeCommands: every command line of ours in the READMEs is one that this binary takes.
func TestReadmeCommands(t *testing.T) {
	found := 0
	for _, name := range []string{"../../README.md", "../../configs/README.md"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllSubmatch(text, -1) {
			for _, line := range strings.Split(string(block[1]), "\n") {
				line, _, _ = strings.Cut(line, "#")
				args := strings.Fields(line)
				if len(args) < 2 || args[0] != "piedmont" {
					continue
				}
				found++
				cmd, rest, err := command().Find(args[1:])
				require.NoError(t, err, line)
				require.True(t, cmd.HasParent(), line)
				require.NoError(t, cmd.ParseFlags(rest), line)
				require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), line)
			}
		}
	}
	require.GreaterOrEqual(t, found, 5)
}
