package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxFileBytes bounds a configuration file.
const MaxFileBytes = 4 << 20

// Fault is one thing that is wrong, at a path like mounts[2].rest.uri.
type Fault struct {
	Path string
	Line int // 0 where none is known
	Text string
}

// Faults is everything that is wrong with a configuration. No text holds a value that came
// from ${env:} or ${file:}.
type Faults []Fault

// Error lists the faults, one a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		at := fault.Path
		if fault.Line > 0 {
			at = fmt.Sprintf("line %d: %s", fault.Line, at)
		}
		lines[i] = strings.TrimSuffix(at, ": ") + ": " + fault.Text
	}
	return strings.Join(lines, "\n")
}

// Load reads a configuration file. What is wrong in it comes as Faults; a file that can't
// be read as another error.
func Load(path string) (Config, error) { return Rules{}.Load(path) }

// Load is the function of that name, and asks the rules too.
func (r Rules) Load(path string) (Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	if info.Size() > MaxFileBytes {
		return Config{}, fmt.Errorf("read the configuration: %s is larger than 4 MiB", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	return r.Parse(text, filepath.Dir(path))
}

// Parse reads the text of a configuration. Relative ${file:} paths are below dir. The
// error is Faults.
func Parse(text []byte, dir string) (Config, error) { return Rules{}.Parse(text, dir) }

// Parse is the function of that name, and asks the rules too.
func (r Rules) Parse(text []byte, dir string) (Config, error) {
	doc, err := document(text)
	if err != nil {
		return Config{}, Faults{{Path: "the file", Text: err.Error()}}
	}
	var c Config
	d := decoder{dir: dir, lines: map[string]int{}, secret: map[string]bool{}}
	if len(doc.Content) > 0 {
		d.decode(doc.Content[0], &c)
	}
	c.fill()
	v := newValidator(&d)
	v.config(&c)
	v.obey(r, &c)
	if len(v.faults) == 0 {
		return c, nil
	}
	// Both passes report in their own order; readers go by lines.
	sort.SliceStable(v.faults, func(i, j int) bool { return v.faults[i].Line < v.faults[j].Line })
	return Config{}, v.faults
}

// document reads the one YAML document of the text; none at all is an empty one.
func document(text []byte) (doc yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return doc, fmt.Errorf("not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return doc, errors.New("more than one YAML document: what follows the second --- would be ignored")
	}
	return doc, nil
}
