package hive

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// saslListener negotiates by what it is told, one connection at a time, before a fake has it.
type saslListener struct {
	net.Listener
	negotiate func(net.Conn) error
}

func (l saslListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.negotiate(conn) == nil {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// plainServer does what Hive's server does with PLAIN.
func plainServer(user, password string) func(net.Conn) error {
	return func(conn net.Conn) error {
		state, body, err := readSASL(conn)
		if err != nil || state != saslStart || string(body) != "PLAIN" {
			return errors.New("no start")
		}
		state, body, err = readSASL(conn)
		if err != nil || state != saslComplete && state != saslOK {
			return errors.New("no response")
		}
		if string(body) != "\x00"+user+"\x00"+password {
			_, _ = conn.Write(saslMessage(saslBad, []byte("Error validating the login for "+user)))
			return errors.New("no")
		}
		_, err = conn.Write(saslMessage(saslComplete, nil))
		return err
	}
}

func TestPlain(t *testing.T) {
	with := func(negotiate func(net.Conn) error, change func(*Options)) *Source {
		f := filled(t, 3)
		f.framed = true
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		f.serve(saslListener{l, negotiate})
		return f.source(func(o *Options) {
			o.Framed, o.Plain = false, &Plain{User: "gateway", Password: "secret-word"}
			if change != nil {
				change(o)
			}
		})
	}
	s := with(plainServer("gateway", "secret-word"), nil)
	for name, call := range everyCall(s) {
		require.NoError(t, call(t.Context()), name)
	}
	s = with(plainServer("gateway", "another"), nil)
	err := s.Health(t.Context())
	wantError(t, err, mounts.Unavailable, "The catalog behind mount 'legacy' (hive) does not accept the mount's credential")
	require.NotContains(t, err.Error(), "secret-word")

	s = with(plainServer("gateway", "secret-word"), func(o *Options) { o.Plain = nil })
	wantError(t, s.Health(t.Context()), mounts.Unavailable, unreachable)

	reply := func(bytes ...byte) func(net.Conn) error {
		return func(c net.Conn) error {
			_, _, _ = readSASL(c)
			_, _, _ = readSASL(c)
			_, _ = c.Write(bytes)
			return errors.New("enough")
		}
	}
	for name, c := range map[string]struct {
		reply  []byte
		kind   mounts.Kind
		detail string
	}{
		"another way":         {[]byte{saslError, 0, 0, 0, 0}, mounts.Unavailable, "The catalog behind mount 'legacy' (hive) does not authenticate in the way that the mount does"},
		"an unknown state":    {[]byte{9, 0, 0, 0, 0}, mounts.BadGateway, nonsense},
		"a huge message":      {[]byte{saslOK, 0x7f, 0xff, 0xff, 0xff}, mounts.BadGateway, nonsense},
		"cut off":             {[]byte{saslComplete, 0}, mounts.Unavailable, unreachable},
		"cut off in the text": {[]byte{saslBad, 0, 0, 0, 9, 'x'}, mounts.Unavailable, unreachable},
		"a challenge":         {[]byte{saslOK, 0, 0, 0, 1, 'x'}, mounts.Unavailable, unreachable},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, with(reply(c.reply...), nil).Health(t.Context()), c.kind, c.detail)
		})
	}
	// a metastore without SASL that waits for the rest of what it takes for a message
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	s = with(plainServer("", ""), func(o *Options) { o.URIs = []string{"thrift://" + l.Addr().String()} })
	ctx, cancel := contextFor(t, 50*time.Millisecond)
	defer cancel()
	wantError(t, s.Health(ctx), mounts.Timeout, late)
}

// challenging is a mechanism of several steps, as Kerberos is.
type challenging struct{ steps int }

func (*challenging) name() string { return "TWOSTEP" }

func (*challenging) start() ([]byte, bool, error) { return []byte("hello"), false, nil }

func (c *challenging) step(challenge []byte) ([]byte, bool, error) {
	c.steps++
	return append([]byte("re:"), challenge...), c.steps == 2, nil
}

func TestMechanismWithSteps(t *testing.T) {
	for name, early := range map[string]bool{"to its end": false, "ended early": true} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			done := make(chan []string, 1)
			go func() {
				var heard []string
				defer func() { done <- heard }()
				for i := range 4 {
					state, body, err := readSASL(theirs)
					if err != nil {
						return
					}
					heard = append(heard, string([]byte{'0' + state})+string(body))
					switch {
					case i == 0: // the start wants no answer
					case i < 3 && !early:
						_, _ = theirs.Write(saslMessage(saslOK, []byte{'a' + byte(i)}))
					default:
						_, _ = theirs.Write(saslMessage(saslComplete, nil))
						return
					}
				}
			}()
			err := negotiate(ours, &challenging{})
			heard := <-done
			if early {
				kind, text := classify(err)
				require.Equal(t, mounts.BadGateway, kind)
				require.Equal(t, "ended the authentication before its time", text)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"1TWOSTEP", "2hello", "2re:b", "5re:c"}, heard)
		})
	}
}
