package mounttest

import (
	"encoding/base64"
	"errors"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// failing counts failures instead of failing.
type failing struct {
	testing.TB
	failures int
	cleanup  func()
}

func (f *failing) Helper()               {}
func (f *failing) Errorf(string, ...any) { f.failures++ }
func (f *failing) Cleanup(done func())   { f.cleanup = done }

func TestNoSecrets(t *testing.T) {
	const secret = `pass"wörd+/`
	for text, want := range map[string]int{
		"nothing of it": 0, `pass"w`: 0, secret: 1, "a" + secret + "b": 1,
		`"pass\"wörd+/"`: 1, "x=" + url.QueryEscape(secret): 1, "Basic " + base64.StdEncoding.EncodeToString([]byte(secret)): 1,
	} {
		f := &failing{TB: t}
		NoSecrets(f, text, "another", secret)
		require.Equal(t, want, f.failures, text)
	}
}

func TestLog(t *testing.T) {
	f := &failing{TB: t}
	log := Log(f, "s3cret")
	log.Info("all is well", "key", "id")
	require.Zero(t, f.failures)
	log.Debug("failed", "error", errors.New("token s3cret"))
	log.With("credential", "s3cret").WithGroup("g").Warn("x")
	require.Equal(t, 2, f.failures)
	f.cleanup()
	log.Info("s3cret")
	require.Equal(t, 2, f.failures)
}
