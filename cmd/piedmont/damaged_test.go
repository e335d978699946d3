package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/configs"
)

// TestDamagedPageOfTheRegistry: a table whose record lies on a page that the disk has lost is
// unavailable, never absent; the log names the file; tables on other pages are served.
func TestDamagedPageOfTheRegistry(t *testing.T) {
	const tables = 40
	config, data := localConfig(t, "")
	g := mustOpen(t, config)
	credential := g.generated
	require.Equal(t, 200, send(g.router, "POST", "/v1/namespaces", credential, `{"namespace":["ns"]}`).Code)
	name := func(i int) string { return fmt.Sprintf("table-%03d", i) }
	for i := range tables {
		body := `{"name":"` + name(i) + `","schema":{"type":"struct","fields":[{"id":1,"name":"id","required":false,"type":"long"}]}}`
		require.Equal(t, 200, send(g.router, "POST", "/v1/namespaces/ns/tables", credential, body).Code)
	}
	require.NoError(t, g.close())

	lost := losePages(t, filepath.Join(data, "registry.db"), "omain\x00ns\x00"+name(tables/2))
	require.Positive(t, lost)
	c, err := configs.Load(config)
	require.NoError(t, err)
	var log bytes.Buffer
	g, err = openGateway(t.Context(), c, filepath.Dir(config), slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = g.close() })

	unavailable, served := 0, 0
	for i := range tables {
		path := "/v1/namespaces/ns/tables/" + name(i)
		loaded := send(g.router, "GET", path, credential, "")
		committed := send(g.router, "POST", path, credential, `{"updates":[{"action":"set-properties","updates":{"a":"b"}}]}`)
		exists := send(g.router, "HEAD", path, credential, "")
		switch loaded.Code {
		case 200:
			served++
			assert.Equal(t, 200, committed.Code, "%s: %s", name(i), committed.Body)
			assert.Equal(t, 204, exists.Code)
		default:
			unavailable++
			assert.Equal(t, []int{503, 503, 503}, []int{loaded.Code, committed.Code, exists.Code}, name(i))
			assert.NotContains(t, loaded.Body.String(), data)
		}
	}
	assert.Equal(t, 503, send(g.router, "GET", "/v1/namespaces/ns/tables/"+name(tables/2), credential, "").Code)
	assert.Positive(t, served)
	t.Logf("%d pages lost: %d tables unavailable, %d served", lost, unavailable, served)
	assert.Contains(t, log.String(), filepath.Join(data, "registry.db"))
}

// losePages overwrites with zeros the leaf pages of a bbolt file that hold a key, and
// returns how many. A page's flags, where 2 is a leaf, follow its number of eight bytes.
func losePages(t *testing.T, path, key string) (lost int) {
	t.Helper()
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	size := os.Getpagesize()
	for page := range len(file) / size {
		content := file[page*size : (page+1)*size]
		if content[8] == 2 && bytes.Contains(content, []byte(key)) {
			clear(content)
			lost++
		}
	}
	require.NoError(t, os.WriteFile(path, file, 0o600))
	return lost
}
