package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"piedmont/mounts/guard"
)

const (
	idleTimeout = 90 * time.Second
	// maxHeader bounds the header of an answer.
	maxHeader = 256 << 10
	agent     = "Piedmont"
)

// client asks one upstream. It has connections of its own, so that a slow upstream slows
// nobody else.
type client struct {
	http     *http.Client
	auth     authorizer
	limit    int64
	now      func() time.Time
	requests atomic.Uint64
}

// newClient takes no proxy from the environment: which way a credential goes is not for
// the shell that happened to start the process to say. HTTP/1.1 alone, since with one
// connection for all a single stalled stream could stop the others. How many connections
// there are the guard bounds.
func newClient(o Options) *client {
	dialer := &net.Dialer{Timeout: o.Timeout, KeepAlive: 30 * time.Second}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &client{limit: o.MaxResponseBytes, now: o.Now, http: &http.Client{
		Transport: &http.Transport{
			DialContext: wires(dialer), TLSHandshakeTimeout: o.Timeout, Protocols: protocols,
			MaxIdleConnsPerHost: o.Guard.Concurrency, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeader,
			// An upstream nearby takes longer to pack an answer than to send it plain.
			DisableCompression: true,
		},
		// A redirect could lead a credential anywhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// question is one request.
type question struct {
	method string
	url    string
	etag   string     // the tag of what is known already
	form   url.Values // the body of a request for a token, which carries no credential besides
	limit  int64      // bytes of the answer
}

// answer is what came back with 200, 204 or, where the question had a tag, 304.
type answer struct {
	unchanged bool // 304
	etag      string
	body      []byte
}

// ask sends a question and reads the answer whole. Other statuses are a *statusError,
// answers that aren't to be believed a *guard.Fault.
func (c *client) ask(ctx context.Context, q question) (*answer, error) {
	resp, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		// Its body is the bare connection, which no deadline closes: reading could last for ever.
		return nil, &statusError{status: resp.StatusCode}
	case resp.StatusCode == http.StatusNotModified && q.etag != "":
		return &answer{unchanged: true}, nil
	case q.method == http.MethodHead && (resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusNoContent):
		return &answer{}, nil // the length it announces is that of a GET's body
	case resp.StatusCode == http.StatusOK:
		body, err := read(resp, min(q.limit, c.limit))
		return &answer{etag: tag(resp), body: body}, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		body = nil // the status says enough, but an absence is believed only whole
	}
	refused := parseError(resp.StatusCode, body, c.secrets(resp.Request))
	refused.retryAfter = retryAfter(resp, c.now())
	return nil, refused
}

// maxTag bounds an upstream's tag: sent back, a long one makes a header that no server takes.
const maxTag = 4 << 10

// tag is the answer's tag, to be sent back verbatim; empty for none that could be.
// Characters that no header takes net/http refuses in answers, too.
func tag(resp *http.Response) string {
	tag := resp.Header.Get("ETag")
	if len(tag) > maxTag {
		return ""
	}
	return tag
}

// How long an upstream that asks for time is left alone, whatever it says: after a 429
// without a word for a second.
const (
	minRetryAfter = time.Second
	maxRetryAfter = time.Hour
)

// retryAfter is how long the upstream asked to be left alone (RFC 9110, 10.2.3: seconds or a
// date); 0 where it didn't.
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	limited := resp.StatusCode == http.StatusTooManyRequests
	if !limited && resp.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	var wait time.Duration
	header := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	if limited {
		wait = max(wait, minRetryAfter)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// send asks once more where the credential wasn't accepted and another can be had.
func (c *client) send(ctx context.Context, q question) (*http.Response, error) {
	for again := false; ; again = true {
		r, err := c.request(ctx, q)
		if err != nil {
			return nil, err
		}
		resp, err := c.do(r)
		if err != nil {
			return nil, err
		}
		refused := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == statusAuthTimeout
		if !refused || again || q.form != nil || c.auth == nil || !c.auth.refused(r) {
			return resp, nil
		}
		_, _ = io.CopyN(io.Discard, resp.Body, maxError) // so that the connection can be used again
		_ = resp.Body.Close()
	}
}

func (c *client) request(ctx context.Context, q question) (*http.Request, error) {
	var body io.Reader
	if q.form != nil {
		body = strings.NewReader(q.form.Encode())
	}
	r, err := http.NewRequestWithContext(ctx, q.method, q.url, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", agent)
	r.Header.Set("X-Client-Version", agent)
	if q.etag != "" {
		r.Header.Set("If-None-Match", q.etag)
	}
	if q.form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return r, nil
	}
	if c.auth == nil {
		return r, nil
	}
	return r, c.auth.authorize(ctx, r)
}

// firstRead is the most memory taken on an upstream's word alone.
const firstRead = 4 << 20

var errTooLarge = errors.New("more bytes than the bound")

// read reads a body of at most limit bytes. The memory grows with what comes, not with
// what was announced.
func read(resp *http.Response, limit int64) ([]byte, error) {
	if resp.ContentLength > limit {
		return nil, guard.Broken("gave an answer that is too large", errTooLarge)
	}
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 {
		b.Grow(int(min(n, firstRead)) + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(resp.Body, limit+1))
	switch {
	case n > limit:
		return nil, guard.Broken("gave an answer that is too large", errTooLarge)
	case err == nil:
		return b.Bytes(), nil
	}
	if timeIsOver(err) {
		return nil, fmt.Errorf("read the upstream's answer: %w", err)
	}
	return nil, guard.Broken("broke its answer off", err)
}
