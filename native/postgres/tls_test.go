//go:build e2e && unix

package postgres

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"piedmont/native"
)

// certify writes a certificate for loopback that vouches for itself, and its key.
func certify(t *testing.T, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTLS speaks to a server whose certificate is checked, also when it is asked about a
// commit beside the pool.
func TestTLS(t *testing.T) {
	s := server{t, t.TempDir()}
	s.do("start")
	defer s.do("remove")
	data := filepath.Join(s.said("HOME_DIR"), "data")
	cert, key := filepath.Join(data, "server.crt"), filepath.Join(data, "server.key")
	certify(t, cert, key)
	owner, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{cert, key} {
		if stat := owner.Sys().(*syscall.Stat_t); os.Chown(file, int(stat.Uid), int(stat.Gid)) != nil {
			t.Fatal("the server can't be given its key")
		}
	}
	execute(t, s.url(), "ALTER SYSTEM SET ssl = on")
	execute(t, s.url(), "SELECT pg_reload_conf()")
	strict := withOption(t, s.url(), "sslmode", "verify-full")
	trusting := withOption(t, strict, "sslrootcert", cert)
	r, err := Open(t.Context(), trusting, Options{})
	for try := 0; err != nil && try < 50; try++ { // the server reads its files again when it gets to it
		time.Sleep(50 * time.Millisecond)
		r, err = Open(t.Context(), trusting, Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := count(t, r, "SELECT count(*) FROM pg_stat_ssl WHERE ssl AND pid = pg_backend_pid()"); n != 1 {
		t.Fatal("the connection isn't encrypted")
	}
	if err := r.Commit(t.Context(), nil, []native.Change{put("a", "")}); err != nil {
		t.Fatal(err)
	}
	if never, err := r.fence(t.Context(), r.newReceipt()); !never || err != nil {
		t.Fatal(never, err)
	}
	other := filepath.Join(t.TempDir(), "other.crt")
	certify(t, other, other+".key")
	if _, err := Open(t.Context(), withOption(t, strict, "sslrootcert", other), Options{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Fatalf("error is %v, want a certificate refused", err)
	}
}
