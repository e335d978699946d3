//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckMakesNoTables checks a configuration over an empty database, twice, and beside a
// replica that has made its tables.
func TestCheckMakesNoTables(t *testing.T) {
	dir := t.TempDir()
	_, entry := newKey(t, "ops")
	config := writeFile(t, filepath.Join(dir, "piedmont.yaml"), `
registry: {postgres: {url: "`+postgresURL(t)+`"}}
storage: [{name: disk, location: "file://`+dir+`/", local: {}}]
mounts: [{at: "", native: {id: main, warehouse: "file://`+dir+`/"}, storage: [disk]}]
auth: {admins: [ops], keys: [`+flow(entry)+`]}
`)
	check := func(want string) {
		t.Helper()
		out, err := runCommand(t, "check", "--config", config, "--deep")
		if err != nil {
			t.Fatal(err, out)
		}
		for _, line := range []string{"ok      registry       " + want + "\n", "ok      mount          (root) native main"} {
			if !strings.Contains(out, line) {
				t.Fatalf("no line %q in\n%s", line, out)
			}
		}
	}
	for range 2 {
		check("in an empty database: its tables are made at the first start")
	}
	start(t, config, filepath.Join(dir, "data"))
	check("postgres")
}
