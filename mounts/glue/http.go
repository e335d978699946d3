package glue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"piedmont/cache/rawjson"
	"piedmont/mounts/guard"
)

const (
	connectTimeout = 3 * time.Second
	keepAlive      = 30 * time.Second
	idle           = 60 * time.Second
	connections    = 32

	// The most bytes of one answer.
	maxAnswer = 64 << 20
	maxError  = 64 << 10
	maxHeader = 64 << 10
)

// newPool takes no proxy from the environment: where questions go is for the configuration
// to say. Answers aren't unpacked, so that their bytes are what is bounded.
func newPool() *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}).DialContext,
		TLSHandshakeTimeout: connectTimeout, MaxIdleConns: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: idle,
		MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
	}
}

// refuseRedirects hands the redirect itself to the SDK: followed, it would take a signed
// request to a host that nobody configured.
func refuseRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// web is the HTTP client under the SDK. It looks at answers before the SDK believes them,
// which takes an empty body and any JSON object for an empty list.
type web struct {
	http.Client
	limit int64 // of bytes of one answer
}

func newWeb(pool *http.Transport, timeout time.Duration) *web {
	return &web{Client: http.Client{Transport: pool, CheckRedirect: refuseRedirects, Timeout: timeout}, limit: maxAnswer}
}

// Do implements the SDK's HTTPClient.
func (w *web) Do(r *http.Request) (*http.Response, error) {
	// The SDK closes the body as soon as an answer begins. Its WriteTo then fails, for which
	// the transport would drop the connection before the answer is read; its Read just ends.
	if r.Body != nil {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	resp, err := w.Client.Do(r)
	if err != nil {
		return nil, err
	}
	target := r.Header.Get("X-Amz-Target") // STS has none, and answers by little XML
	if resp.StatusCode < http.StatusOK {
		_ = resp.Body.Close() // unread: it is the connection itself, which no deadline ends
		return nil, switched(target)
	}
	if target == "" || resp.StatusCode != http.StatusOK {
		resp.Body = limited{io.LimitReader(resp.Body, maxError), resp.Body}
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	body, err := checked(target, resp.Body, w.limit)
	if err != nil {
		return nil, err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

var errSwitched = errors.New("the server switches to another protocol")

// switched is the error of an answer that ends HTTP. What STS says is explained with all
// else about credentials.
func switched(target string) error {
	if target == "" {
		return errSwitched
	}
	return guard.Broken(notGlue, errSwitched)
}

// limited is a body of which only the beginning is read.
type limited struct {
	io.Reader
	io.Closer
}

var errTooLarge = errors.New("it is larger than the bound")

// checked reads an answer that says it is well. Pages of tables are reduced on the way: most
// of them are columns.
func checked(target string, r io.Reader, limit int64) ([]byte, error) {
	bounded := &io.LimitedReader{R: r, N: limit + 1}
	if strings.HasSuffix(target, ".GetTables") {
		body, err := reduce(bounded)
		return body, unread(bounded, err)
	}
	body, err := io.ReadAll(bounded)
	if err == nil && bounded.N > 0 {
		err = notJSON(rawjson.CheckUnique(body, rawjson.MaxDepth))
	}
	return body, unread(bounded, err)
}

func notJSON(err error) error {
	if err != nil {
		return guard.Broken(notGlue, err)
	}
	return nil
}

// unread explains an answer that was not read to its end.
func unread(r *io.LimitedReader, err error) error {
	switch {
	case r.N <= 0:
		return guard.Broken("gave an answer that is too large", errTooLarge)
	case err != nil:
		return fmt.Errorf("read an answer: %w", err)
	}
	return nil
}
