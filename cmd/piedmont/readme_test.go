package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

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
