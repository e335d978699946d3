package hive

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
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
