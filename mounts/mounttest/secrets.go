package mounttest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Log is a logger for what shall be tested with secrets: the test fails with each record that
// holds one of them, in any of the spellings that NoSecrets knows.
func Log(t testing.TB, secrets ...string) *slog.Logger {
	w := &secretsWriter{t: t, secrets: secrets}
	t.Cleanup(w.end)
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))
}

// NoSecrets checks that a text holds none of the secrets: not plain, not escaped as in JSON or
// in a URL, not in base64 as in a header.
func NoSecrets(t testing.TB, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		for _, spelling := range spellings(secret) {
			if strings.Contains(text, spelling) {
				t.Errorf("the secret %q is in: %s", secret, text)
				break
			}
		}
	}
}

func spellings(secret string) []string {
	quoted, _ := json.Marshal(secret) // a string always marshals
	all := []string{secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret)}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(secret)))
	}
	return all
}

// secretsWriter takes records one at a time.
type secretsWriter struct {
	t       testing.TB
	secrets []string
	mu      sync.Mutex
	ended   bool
}

func (w *secretsWriter) Write(record []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended { // what is logged behind a test's end can't fail it
		NoSecrets(w.t, string(bytes.TrimSpace(record)), w.secrets...)
	}
	return len(record), nil
}

func (w *secretsWriter) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}
