package hive

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

const (
	// userHeader names the caller to a metastore over HTTP.
	userHeader = "x-actor-username"
	maxHeader  = 64 << 10
	idleHTTP   = 90 * time.Second
)

// web is a metastore that speaks Thrift over HTTP.
type web struct {
	url    string
	user   string
	client *http.Client
}

// newHTTP takes no proxy from the environment and follows no redirect: where questions
// go is for the configuration to say. HTTP/1.1 alone, so that the bound on connections
// is one on calls.
func newHTTP(u *url.URL, config *tls.Config, user string, connections int) *web {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &web{url: u.String(), user: user, client: &http.Client{
		Transport: &http.Transport{
			DialContext:     (&net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}).DialContext,
			TLSClientConfig: config.Clone(), TLSHandshakeTimeout: connectTimeout, Protocols: protocols,
			MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: idleHTTP,
			MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// dial makes a session for one call. Connections are the client's.
func (w *web) dial(context.Context) (*session, error) {
	return newSession(newTransport(w, false)), nil
}

// send posts a message and reads the answer whole, so that the connection can be used
// again.
func (w *web) send(ctx context.Context, message []byte, limit int64) (io.Reader, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(message))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-thrift")
	r.Header.Set("Accept", "application/x-thrift")
	r.Header.Set("User-Agent", "Piedmont")
	if w.user != "" {
		r.Header.Set(userHeader, w.user)
	}
	resp, err := w.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(resp.StatusCode)
	}
	var body bytes.Buffer
	n, err := body.ReadFrom(io.LimitReader(resp.Body, limit+1))
	if n > limit {
		return nil, errTooLarge
	}
	return &body, err
}

// refusal is what a status that isn't 200 means.
func refusal(status int) error {
	f := &guard.Fault{Kind: mounts.BadGateway, Text: "gave an answer that no metastore gives", Err: fmt.Errorf("HTTP status %d", status)}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.Kind, f.Text = mounts.Unavailable, "does not accept the mount's credential"
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		f.Kind, f.Text = mounts.Timeout, "did not answer in time"
	case status >= 500 || status == http.StatusTooManyRequests:
		f.Kind, f.Text = mounts.Unavailable, "failed"
	}
	return f
}
