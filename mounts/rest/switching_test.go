package rest_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// After a 101 the connection is nobody's, and no deadline ends what is read of it.
func TestSwitchingProtocols(t *testing.T) {
	u := withTable(t, func(u *upstream) { u.secret = secret })
	m := u.mount()
	require.NoError(t, m.Health(t.Context()))
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	u.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return true
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		go func() {
			<-over
			_ = conn.Close()
		}()
		return true
	})
	answered := func(ask func() map[string]error) {
		done := make(chan map[string]error, 1)
		go func() { done <- ask() }()
		select {
		case errs := <-done:
			for op, err := range errs {
				require.Equal(t, mounts.BadGateway, checkError(t, err), op)
			}
		case <-time.After(30 * time.Second):
			require.Fail(t, "it hangs")
		}
	}
	answered(func() map[string]error { return reading(t.Context(), m) })
	require.Zero(t, m.Stats().Guard.UnderWay)
	asksToken := u.mount()
	answered(func() map[string]error { return reading(t.Context(), asksToken) })
	require.Zero(t, u.mutations())
}
