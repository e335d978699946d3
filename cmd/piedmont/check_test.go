package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	config, _ := localConfig(t, "")
	code, out, errs := piedmont(t, "check", "--config", config)
	assert.Zero(t, code)
	assert.Equal(t, "ok      configuration  piedmont\nok      storage        disk\nok      mount          (root) native\n", out)
	assert.Empty(t, errs)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(config), "warehouse", "*"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing stays behind")
}

func TestCheckFindsWhatFails(t *testing.T) {
	upstream := httptest.NewServer(http.NotFoundHandler())
	defer upstream.Close()
	config, _ := localConfig(t, "  - {at: legacy.eu, rest: {uri: '"+upstream.URL+"', timeout: 1s}}\n")
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(config), "warehouse")))
	write(t, filepath.Dir(config), "warehouse", "a file where the directory should be")
	code, out, errs := piedmont(t, "check", "--config", config)
	assert.Equal(t, 1, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 4, "everything is probed, whatever fails: %s", out)
	assert.Equal(t, "ok      configuration  piedmont", lines[0])
	assert.True(t, strings.HasPrefix(lines[1], "failed  storage        disk: "), lines[1])
	assert.Equal(t, "ok      mount          (root) native", lines[2])
	assert.True(t, strings.HasPrefix(lines[3], "failed  mount          legacy.eu rest: "), lines[3])
	assert.Equal(t, "piedmont: some checks failed\n", errs)
}

func TestCheckOfFaults(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := piedmont(t, "check", "--config", write(t, dir, "c.yaml", "nam: x\nmounts: [{at: a, rest: {uri: h}}]"))
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "c.yaml can't be used:\nline 1: nam: unknown key; did you mean name?\nline 2: mounts[0].rest.uri: want a URL like https://host/path\n")
	code, _, errs = piedmont(t, "check", "--config", filepath.Join(dir, "none.yaml"))
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "read the configuration")
}
