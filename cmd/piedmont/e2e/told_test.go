//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"piedmont/configs"
)

// told is what a process of Piedmont tells the world: its output, the pages for operators,
// and the errors that clients get.
type told struct {
	name     string
	data     string // the data directory; empty for none
	operator string // the operator's address; empty for none
	out      *lockedBuffer
	book     *secretBook
	unread   error // why its configuration couldn't be read; then it can't serve either

	mu     sync.Mutex
	faults []string
}

// watch is for a process about to start, which is to write to the buffer. When the test ends,
// all that it told has been searched for every secret there is. config and data may be empty.
func watch(t *testing.T, name, config, data string) *told {
	t.Helper()
	w := &told{name: name, data: data, out: &lockedBuffer{}, book: book}
	if config != "" {
		var c configs.Config
		c, w.unread = book.keepConfig(config)
		w.operator = c.Operator
	}
	book.count(func() { book.watched++ })
	t.Cleanup(func() {
		for _, fault := range w.searched() {
			t.Error(fault)
		}
	})
	return w
}

func (b *secretBook) count(more func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	more()
}

// search looks at a part of what was told. Only clients mustn't hear of servers.
func (w *told) search(where, text string, toClient bool) {
	for _, leak := range w.book.leaks(text, toClient) {
		w.fault(fmt.Sprintf("%s tells what it mustn't, in %s: %s", w.name, where, leak))
	}
}

// maxFaults is how many of a process are told.
const maxFaults = 20

func (w *told) fault(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, text)
	}
}

// serves says where clients reach the process. It is ready: an admin key that it made is there.
func (w *told) serves(address string) error {
	if w.unread != nil {
		return w.unread
	}
	listening.Store(address, w)
	return w.book.keepAdminKey(w.data)
}

// showOperator looks at the pages of a process that runs.
func (w *told) showOperator() {
	if w.operator == "" {
		return
	}
	for _, path := range []string{"/metrics", "/mounts"} {
		r, err := try("GET", "http://"+w.operator+path, "", nil)
		if err != nil || r.status != http.StatusOK {
			w.fault(fmt.Sprintf("%s: the operator's %s: %v %d", w.name, path, err, r.status))
			continue
		}
		w.search("the operator's "+path, string(r.body), false)
		w.book.count(func() { w.book.pages++ })
	}
}

// searched searches the output as well, and returns all that is wrong.
func (w *told) searched() []string {
	if err := w.book.keepAdminKey(w.data); err != nil {
		w.fault(err.Error())
	}
	text := w.out.String()
	w.search("its output", text, false)
	w.book.count(func() {
		w.book.searched++
		w.book.bytes += len(text)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults
}

// listening are watched processes by the address that clients reach them at.
var listening sync.Map

// overheard is a transport that looks at what watched processes answer with an error. Every
// client of the tests has one.
type overheard struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (o overheard) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := o.Transport.RoundTrip(q)
	if err != nil || r.StatusCode < http.StatusBadRequest {
		return r, err
	}
	w, ok := listening.Load(q.URL.Host)
	if !ok {
		return r, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
	w.(*told).answered(q, r, body)
	return r, nil
}

// failing is the end of a body that may have broken off.
type failing struct{ error }

func (f failing) Read([]byte) (int, error) {
	if f.error == nil {
		return 0, io.EOF
	}
	return 0, f.error
}

func (w *told) answered(q *http.Request, r *http.Response, body []byte) {
	var head strings.Builder
	_ = r.Header.Write(&head) // a Builder takes everything
	w.search(fmt.Sprintf("its answer %d to %s %s", r.StatusCode, q.Method, q.URL.EscapedPath()), head.String()+string(body), true)
	w.book.count(func() { w.book.answers++ })
}
