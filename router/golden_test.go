package router_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

var update = flag.Bool("update", false, "write the answers of testdata/wire anew")

// TestWire holds what goes over the wire against testdata/wire. A file is one story on a
// gateway of its own: requests as the admin, unless they carry a credential, each
// followed by its answer. A file "legacy" names the kind of error that the read-only mount
// there answers with from then on. What differs from run to run has a name like <uuid-1>, which
// a later request may use.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			var told []txtar.File
			g := newGatewayWith(t, settings{policies: policiesOf(archive)})
			names := &names{dir: g.dir}
			for i, f := range archive.Files {
				switch f.Name {
				case "policies":
					told = append(told, f)
					continue
				case "legacy":
					told = append(told, f)
					g.legacy.fail(sickness(t, strings.TrimSpace(string(f.Data))))
					continue
				case "answer":
					continue
				}
				answer := names.hide(tell(g.send(names.reveal(string(f.Data)))))
				told = append(told, f, txtar.File{Name: "answer", Data: []byte(answer)})
				if *update {
					continue
				}
				require.Less(t, i+1, len(archive.Files), "no answer to request %d", i/2+1)
				require.Equal(t, string(archive.Files[i+1].Data), answer, "request %d:\n%s", i/2+1, f.Data)
			}
			if *update {
				archive.Files = told
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o600))
			}
		})
	}
}

// sickness is the error of the kind of that name; none for "".
func sickness(t *testing.T, kind string) error {
	t.Helper()
	if kind == "" {
		return nil
	}
	for k := mounts.Kind(0); k.String() != "unknown kind"; k++ {
		if k.String() == kind {
			return &mounts.Error{Kind: k, Err: sick.Err}
		}
	}
	t.Fatalf("no kind of error is called %q", kind)
	return nil
}

func policiesOf(story *txtar.Archive) string {
	for _, f := range story.Files {
		if f.Name == "policies" {
			return string(f.Data)
		}
	}
	return ""
}

// send sends a request written as in HTTP: a line, headers, an empty line, a body.
func (g *gateway) send(text string) reply {
	g.t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	method, target, ok := strings.Cut(lines[0], " ")
	require.True(g.t, ok, "no request line: %s", text)
	credential := ops
	headers := lines[1:]
	for _, h := range headers {
		if strings.HasPrefix(h, "Authorization:") || strings.HasPrefix(h, "X-Api-Key:") {
			credential = ""
		}
	}
	return g.as(credential, method, target, strings.TrimSuffix(body, "\n"), headers...)
}

// headersThatMatter are those of an answer that clients act on.
var headersThatMatter = []string{
	"Allow", "Cache-Control", "Content-Encoding", "Content-Type", "ETag", "Retry-After", "Vary", "Www-Authenticate",
}

// tell writes an answer as in HTTP, its JSON indented.
func tell(r reply) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", r.Code)
	for _, name := range headersThatMatter {
		for _, value := range r.Header()[http.CanonicalHeaderKey(name)] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if r.Body.Len() == 0 {
		return b.String()
	}
	b.WriteByte('\n')
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, r.Body.Bytes(), "", " "); err != nil {
		b.WriteString(r.Body.String())
	}
	b.Write(pretty.Bytes())
	b.WriteByte('\n')
	return b.String()
}

// names gives what differs from run to run names, and takes them back.
type names struct {
	dir    string
	counts map[string]int
	byText map[string]string
	byName []string // name, text, …
}

var changing = []struct {
	kind string
	text *regexp.Regexp
}{
	{"jwt", regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.([\w-]+)`)},
	{"tag", regexp.MustCompile(`W/"([\w-]{22})"`)},
	{"page", regexp.MustCompile(`"next-page-token": "([\w-]+)"`)},
	{"uuid", regexp.MustCompile(`\b([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})\b`)},
	{"hex", regexp.MustCompile(`-([0-9a-f]{32})\b`)},
}

// hide puts names in place of what differs.
func (n *names) hide(s string) string {
	s = strings.ReplaceAll(s, n.dir, "/DIR")
	for _, c := range changing {
		for _, found := range c.text.FindAllStringSubmatch(s, -1) {
			text := found[1]
			if c.kind == "jwt" {
				text = found[0]
			}
			s = strings.ReplaceAll(s, text, n.name(c.kind, text))
		}
	}
	return s
}

func (n *names) name(kind, text string) string {
	if name, ok := n.byText[text]; ok {
		return name
	}
	if n.byText == nil {
		n.byText, n.counts = map[string]string{}, map[string]int{}
	}
	n.counts[kind]++
	name := fmt.Sprintf("<%s-%d>", kind, n.counts[kind])
	n.byText[text] = name
	n.byName = append(n.byName, name, text)
	return name
}

// reveal puts back what a request names.
func (n *names) reveal(s string) string {
	s = strings.ReplaceAll(s, "/DIR", n.dir)
	return strings.NewReplacer(n.byName...).Replace(s)
}
