package hive

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// authority signs certificates in a folder of the test's.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("ca", nil)
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// sign makes name.pem and name.key, signed by the authority or by themselves.
func (a *authority) sign(name string, hosts []string) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: a.cert == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: keyDER}} {
		require.NoError(a.t, os.WriteFile(a.path(file), pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}

func (a *authority) server(name string) *tls.Config {
	pair, err := tls.LoadX509KeyPair(a.path(name+".pem"), a.path(name+".key"))
	require.NoError(a.t, err)
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
}

func TestTLS(t *testing.T) {
	a := newAuthority(t)
	a.sign("metastore", []string{"hms.internal"})
	a.sign("gateway", nil)
	f := filled(t, 3)
	l, err := tls.Listen("tcp", "127.0.0.1:0", a.server("metastore"))
	require.NoError(t, err)
	f.serve(l)
	good := TLS{CA: a.path("ca.pem"), Cert: a.path("gateway.pem"), Key: a.path("gateway.key"), ServerName: "hms.internal"}
	s := f.source(func(o *Options) { o.TLS = &good })
	for range 5 {
		require.NoError(t, s.Health(t.Context()))
	}
	_, accepted, _ := f.connections()
	require.Equal(t, 1, accepted, "it is used again, although it was watched")

	for name, change := range map[string]func(*TLS){
		"another name":       func(c *TLS) { c.ServerName = "other.internal" },
		"no name":            func(c *TLS) { c.ServerName = "" },
		"another CA":         func(c *TLS) { c.CA = "" },
		"no certificate":     func(c *TLS) { c.Cert, c.Key = "", "" },
		"a foreign one":      func(c *TLS) { b := newAuthority(t); b.sign("x", nil); c.Cert, c.Key = b.path("x.pem"), b.path("x.key") },
		"no TLS at all":      nil,
		"TLS to a plain one": func(*TLS) {},
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			s := f.source(func(o *Options) {
				if change != nil {
					change(&bad)
					o.TLS = &bad
				}
				if name == "TLS to a plain one" {
					o.URIs = []string{filled(t, 3).start().uri()}
				}
			})
			ctx, cancel := contextFor(t, 300*time.Millisecond)
			defer cancel()
			err := s.Health(ctx)
			require.Contains(t, []mounts.Kind{mounts.Unavailable, mounts.Timeout, mounts.BadGateway}, mounts.KindOf(err), "%v", err)
		})
	}

	// a metastore that takes the connection and doesn't shake hands
	hung, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer hung.Close()
	s = f.source(func(o *Options) { o.TLS = &good; o.URIs = []string{"thrift://" + hung.Addr().String()} })
	began := time.Now()
	ctx, cancel := contextFor(t, 50*time.Millisecond)
	defer cancel()
	wantError(t, s.Health(ctx), mounts.Timeout, late)
	require.Less(t, time.Since(began), 3*time.Second)
}

func TestTLSFiles(t *testing.T) {
	a := newAuthority(t)
	for text, c := range map[string]TLS{
		"tls.ca: open":                          {CA: a.path("nosuch")},
		"tls.ca: the file holds no PEM":         {CA: a.path("ca.key")},
		"tls: cert and key need each other":     {Cert: a.path("ca.pem")},
		"tls.cert and tls.key: open":            {Cert: a.path("nosuch"), Key: a.path("ca.key")},
		"tls.cert and tls.key: tls: failed to ": {Cert: a.path("ca.key"), Key: a.path("ca.pem")},
	} {
		_, err := NewSource(Options{Name: "legacy", URIs: []string{"thrift://h:1"}, Now: time.Now, TLS: &c})
		require.ErrorContains(t, err, "mount 'legacy' (hive): "+text)
	}
}

// serveHTTP is a fake over HTTP.
func (f *fake) serveHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-thrift" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	f.users = append(f.users, r.Header.Get("x-actor-username"))
	f.mu.Unlock()
	in := newTransport(recorded{}, false)
	in.begin(1 << 20)
	in.from = bytes.NewReader(body)
	_, answer, err := f.answer(in)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(answer)
}

func TestHTTP(t *testing.T) {
	f := filled(t, 3)
	conns := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(f.serveHTTP))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns++
		}
	}
	server.Start()
	defer server.Close()
	s := f.source(func(o *Options) { o.URIs = []string{server.URL + "/metastore"}; o.User = "gateway" })
	for name, call := range everyCall(s) {
		require.NoError(t, call(t.Context()), name)
	}
	_, err := s.Object(t.Context(), "sales", "nosuch")
	require.True(t, mounts.Is(err, mounts.NoSuchTable), "%v", err)
	require.Equal(t, 1, conns)
	require.Zero(t, f.counted("set_ugi"))
	for _, user := range f.users {
		require.Equal(t, "gateway", user)
	}
}

func TestHTTPS(t *testing.T) {
	a := newAuthority(t)
	a.sign("metastore", []string{"hms.internal"})
	a.sign("gateway", nil)
	f := filled(t, 3)
	server := httptest.NewUnstartedServer(http.HandlerFunc(f.serveHTTP))
	server.TLS = a.server("metastore")
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of each failed handshake
	server.StartTLS()
	defer server.Close()
	good := TLS{CA: a.path("ca.pem"), Cert: a.path("gateway.pem"), Key: a.path("gateway.key"), ServerName: "hms.internal"}
	s := f.source(func(o *Options) { o.URIs = []string{server.URL}; o.TLS = &good })
	require.NoError(t, s.Health(t.Context()))
	s = f.source(func(o *Options) { o.URIs = []string{server.URL} })
	wantError(t, s.Health(t.Context()), mounts.Unavailable, unreachable)
}

func TestHTTPFaults(t *testing.T) {
	const refused = "The catalog behind mount 'legacy' (hive) does not accept the mount's credential"
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); _, _ = io.WriteString(w, "secrets") }
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		kind    mounts.Kind
		detail  string
	}{
		{"401", status(401), mounts.Unavailable, refused},
		{"403", status(403), mounts.Unavailable, refused},
		{"404", status(404), mounts.BadGateway, nonsense},
		{"408", status(408), mounts.Timeout, late},
		{"429", status(429), mounts.Unavailable, failed},
		{"500", status(500), mounts.Unavailable, failed},
		{"503", status(503), mounts.Unavailable, failed},
		{"504", status(504), mounts.Timeout, late},
		{"a redirect", http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect).ServeHTTP, mounts.BadGateway, nonsense},
		{"a page", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, mounts.BadGateway, nonsense},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, mounts.Unavailable, unreachable},
		{"broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "x")
		}, mounts.Unavailable, unreachable},
		{"too large", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", maxObject+1))
		}, mounts.BadGateway, tooLarge},
		{"silence", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, mounts.Timeout, late},
		{"silence in the answer", func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte{0x80})
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, mounts.Timeout, late},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // else the server doesn't notice who leaves
				c.handler(w, r)
			}))
			defer server.Close()
			s := filled(t, 3).start().source(func(o *Options) { o.URIs = []string{server.URL} })
			timeout := 5 * time.Second
			if strings.HasPrefix(c.name, "silence") {
				timeout = 50 * time.Millisecond
			}
			ctx, cancel := contextFor(t, timeout)
			defer cancel()
			wantError(t, s.Health(ctx), c.kind, c.detail)
			require.Empty(t, s.pool.slots)
		})
	}
}

// saslServer takes one connection at a time, negotiates by what it is told and hands the rest to
// a framed fake.
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
