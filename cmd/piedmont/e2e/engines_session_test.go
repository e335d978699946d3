//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// session is a running engine.
type session interface {
	// ask runs a text in the engine's language. An error is the engine's refusal.
	ask(text string) ([][]any, error)
}

// engine asks a session on behalf of tests.
type engine struct {
	session
	name string
}

// rows asserts what a query answers: a row is its values joined by "|".
func (e engine) rows(t *testing.T, text string, want ...string) {
	t.Helper()
	if got := e.query(t, text); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s answered to\n%s\n%s\nwant\n%s", e.name, text, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// query answers the rows of a text that has to succeed.
func (e engine) query(t *testing.T, text string) []string {
	t.Helper()
	rows, err := e.ask(text)
	if err != nil {
		t.Fatalf("%s refused\n%s\n%v", e.name, text, err)
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for j, v := range row {
			cells[j] = cell(v)
		}
		lines[i] = strings.Join(cells, "|")
	}
	return lines
}

// do runs texts that have to succeed.
func (e engine) do(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		e.query(t, text)
	}
}

// one answers the only value of a query.
func (e engine) one(t *testing.T, text string) string {
	t.Helper()
	rows := e.query(t, text)
	if len(rows) != 1 {
		t.Fatalf("%s answered to\n%s\n%q\nwant one row", e.name, text, rows)
	}
	return rows[0]
}

// refuses asserts that the engine fails, and how.
func (e engine) refuses(t *testing.T, text, because string) {
	t.Helper()
	rows, err := e.ask(text)
	if err == nil {
		t.Errorf("%s did what it should refuse:\n%s\n%v", e.name, text, rows)
	} else if !strings.Contains(err.Error(), because) {
		t.Errorf("%s refused\n%s\nfor another reason than %q:\n%v", e.name, text, because, err)
	}
}

func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case []any, map[string]any:
		b, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(b)
	default:
		return fmt.Sprint(v)
	}
}

// lazy is a session that starts when it is first asked, so that part of the scenario can
// run without engines it doesn't need.
type lazy struct {
	start func() (session, error)
	once  sync.Once
	s     session
	err   error
}

func (l *lazy) ask(text string) ([][]any, error) {
	l.once.Do(func() { l.s, l.err = l.start() })
	if l.err != nil {
		return nil, fmt.Errorf("the engine doesn't start: %w", l.err)
	}
	return l.s.ask(text)
}

// driver is an engine in a process of its own, that answers lines of JSON: see
// testdata/engines/driver.py.
type driver struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	printed string // the file with what it prints
}

// askedFor bounds one statement.
const askedFor = 3 * time.Minute

// startDriver runs a driver with the Python of a virtual environment until the test ends.
func startDriver(t *testing.T, venv, script string, env ...string) (session, error) {
	d := &driver{printed: filepath.Join(t.TempDir(), "printed")}
	d.cmd = exec.Command(filepath.Join(os.Getenv("PIEDMONT_TEST_CACHE"), "venv", venv, "bin", "python"), filepath.Join("testdata", "engines", script))
	d.cmd.Env = append(append(os.Environ(), "TZ=UTC", "PYTHONDONTWRITEBYTECODE=1"), env...)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	printed, err := os.Create(d.printed)
	if err != nil {
		return nil, err
	}
	defer printed.Close()
	d.cmd.Stderr = printed
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.out = bufio.NewReader(out)
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	t.Cleanup(d.stop)
	return d, nil
}

// stop lets it end by itself, which closes what it started, and kills it otherwise.
func (d *driver) stop() {
	_ = d.in.Close()
	late := time.AfterFunc(20*time.Second, func() { _ = d.cmd.Process.Kill() })
	defer late.Stop()
	_ = d.cmd.Wait()
}

func (d *driver) ask(text string) ([][]any, error) {
	line, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	late := time.AfterFunc(askedFor, func() { _ = d.cmd.Process.Kill() })
	defer late.Stop()
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		return nil, d.ended(err)
	}
	if line, err = d.out.ReadBytes('\n'); err != nil {
		return nil, d.ended(err)
	}
	var answer struct {
		Rows  [][]any
		Error string
	}
	in := json.NewDecoder(bytes.NewReader(line))
	in.UseNumber()
	if err := in.Decode(&answer); err != nil {
		return nil, fmt.Errorf("%w: %s", err, line)
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Rows, nil
}

func (d *driver) ended(err error) error {
	text, _ := os.ReadFile(d.printed)
	return fmt.Errorf("the engine ended: %w\n%s", err, text[max(0, len(text)-4000):])
}
