package router_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"piedmont/native/metadata"
)

// recorded is a request that a client once sent, to a table or view that is here now.
type recorded struct {
	folder, name string // "/v1/namespaces/ns/tables", "table-03"
	create       bool
	body         string
	base         string // the metadata file before it, empty where it is the first
	content      []byte // of that file: tables delete their old ones
}

// replay sends all that is recorded in native/metadata/testdata/requests. Each must be
// accepted, as it was then; uuids and locations are those that the tables get here.
func replay(f *testing.F, g *gateway) []recorded {
	f.Helper()
	archives, err := filepath.Glob("../native/metadata/testdata/requests/*.txtar")
	require.NoError(f, err)
	require.GreaterOrEqual(f, len(archives), 3)
	var all []recorded
	for _, archive := range archives {
		a, err := txtar.ParseFile(archive)
		require.NoError(f, err)
		client := strings.TrimSuffix(filepath.Base(archive), ".txtar")
		var here *strings.Replacer
		base, story := "", ""
		for _, file := range a.Files {
			folder, step, _ := strings.Cut(file.Name, "/")
			if folder != story {
				base, story = "", folder
				here = replacer(uuid.NewString(), "file://"+g.dir+"/"+client+"/"+folder)
			}
			kind, _, _ := strings.Cut(folder, "-")
			r := recorded{
				folder: "/v1/namespaces/ns/" + kind + "s", name: client + "-" + folder, create: strings.HasSuffix(step, "create"),
				body: here.Replace(string(file.Data)), base: base,
			}
			if base != "" {
				r.content, err = os.ReadFile(strings.TrimPrefix(base, "file://"))
				require.NoError(f, err)
			}
			if r.create {
				r.body = strings.Replace(r.body, `"name":"t"`, `"name":`+quoted(r.name), 1)
			}
			answer := g.do("POST", r.target(), r.body).ok()
			all = append(all, r)
			if strings.Contains(r.body, `"stage-create":true`) {
				continue
			}
			base = answer.text("metadata-location")
			here = replacer(identity(answer), answer.text("metadata", "location"))
		}
	}
	return all
}

// replacer puts a uuid and a location in the place of the recorded ones.
func replacer(id, location string) *strings.Replacer {
	return strings.NewReplacer("9c12d441-03fe-4693-9a96-a0705ddf69c1", id, "s3://bucket/t", location)
}

// identity is the uuid of an answer's table or view.
func identity(r reply) string {
	r.t.Helper()
	m, ok := r.member("metadata").(map[string]any)
	require.True(r.t, ok)
	for _, key := range []string{"table-uuid", "view-uuid"} {
		if id, ok := m[key].(string); ok {
			return id
		}
	}
	r.t.Fatalf("no uuid in %s", r.Body)
	return ""
}

func (r recorded) target() string {
	if r.create {
		return r.folder
	}
	return r.folder + "/" + r.name
}

// rewind puts the table or view back to where it was before the request.
func (r recorded) rewind(g *gateway) {
	g.t.Helper()
	if r.base != "" {
		require.NoError(g.t, os.WriteFile(strings.TrimPrefix(r.base, "file://"), r.content, 0o600))
	}
	switch {
	case r.base == "" || strings.HasSuffix(r.folder, "views"): // a view can't be registered over another
		g.do("DELETE", r.folder+"/"+r.name, "")
		if r.base != "" {
			g.do("POST", "/v1/namespaces/ns/register-view", `{"name":`+quoted(r.name)+`,"metadata-location":`+quoted(r.base)+`}`).ok()
		}
	default:
		g.do("POST", "/v1/namespaces/ns/register", register(r.name, r.base, true)).ok()
	}
}

// FuzzRequestsOfClients sends mutated requests of real clients to the tables and views that
// they were sent to: never a fault of ours, and what was accepted can be loaded and is valid.
func FuzzRequestsOfClients(f *testing.F) {
	g := newGateway(f)
	g.namespace("ns")
	all := replay(f, g)
	for i, r := range all {
		f.Add(uint16(i), r.body)
	}
	f.Fuzz(func(t *testing.T, which uint16, body string) {
		g.t = t
		r := all[int(which)%len(all)]
		r.rewind(g)
		answer := g.do("POST", r.target(), body)
		if answer.Code != http.StatusOK {
			if answer.Code < 400 || answer.Code > 499 || answer.member("error", "type") == nil {
				t.Fatalf("%s: %d %s\n%s", r.name, answer.Code, answer.Body, body)
			}
			return
		}
		var made struct {
			Location *string         `json:"metadata-location"`
			Metadata json.RawMessage `json:"metadata"`
		}
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &made))
		var err error
		if strings.HasSuffix(r.folder, "views") {
			var d *metadata.ViewDocument
			if d, err = metadata.ParseView(made.Metadata); err == nil {
				err = d.Validate()
			}
		} else {
			var d *metadata.Document
			if d, err = metadata.Parse(made.Metadata); err == nil {
				err = d.Validate()
			}
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s\nmade\n%s", r.name, err, body, made.Metadata)
		}
		if !r.create {
			require.Equal(t, *made.Location, g.do("GET", r.target(), "").ok().text("metadata-location"))
		}
	})
}
