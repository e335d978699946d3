//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestDroppedTables: what a real client wrote to a real S3 comes back whole, and goes whole.
func TestDroppedTables(t *testing.T) {
	w := weed(t)
	config, data := twoCatalogs(t, w, freeAddress(t)), t.TempDir()
	p := start(t, config, data)
	step := func(name string, env ...string) string {
		return python(t, "dropped.py", append(env, "STEP="+name, "S3_ENDPOINT="+w.S3, "PIEDMONT_URI="+p.URI, "PIEDMONT_KEY="+p.key())...)
	}
	step("drop")
	for _, name := range []string{"ns.gone", "ns.stays"} {
		command(t, "tables", "restore", name, "--config", config, "--data", data)
	}
	p.stop()
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	config = writeFile(t, config, strings.Replace(string(text), "{id: main,", "{id: main, undrop_window: 0s,", 1))
	p = start(t, config, data)
	location := strings.TrimSpace(step("restored"))
	step("purged", "LOCATION="+location)
	list := command(t, "tables", "dropped", "--config", config, "--data", data)
	if !strings.Contains(list, "purged, files removed: ") || strings.Contains(list, "outside") || strings.Contains(list, "unreadable") {
		t.Errorf("what became of the table:\n%s", list)
	}
	t.Log(list)
}
