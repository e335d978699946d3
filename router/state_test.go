package router_test

import (
	"io/fs"
	"path/filepath"

	"github.com/stretchr/testify/require"
)

// state is everything that a request could have changed: the registry's records with
// their versions, and the files.
func (g *gateway) state() map[string]string {
	g.t.Helper()
	all := map[string]string{}
	records, err := g.registry.Scan(g.t.Context(), "", "", 0)
	require.NoError(g.t, err)
	for _, r := range records {
		all["record "+string(r.Key)] = string(r.Version[:]) + string(r.Value)
	}
	require.NotEmpty(g.t, all)
	for _, name := range g.files() {
		all["file "+name] = ""
	}
	return all
}

// files are the paths of all files of the warehouses.
func (g *gateway) files() []string {
	g.t.Helper()
	var names []string
	require.NoError(g.t, filepath.WalkDir(g.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}
