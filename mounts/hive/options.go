package hive

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	// defaultConnections is how many calls of one mount run at once by default.
	defaultConnections = 16
	// defaultCatalog is the one catalog of metastores that have none, and of others the one
	// that calls without a catalog mean.
	defaultCatalog = "hive"
)

// Options are what a Source needs. URIs and Now are required.
type Options struct {
	// Name is the mount point's path as messages show it; empty for the root.
	Name string
	// URIs are metastores over the same database, tried in this order:
	// thrift://host:port, or http://host:port/path and https:// for one that speaks Thrift
	// over HTTP. They hold no user.
	URIs []string
	// Catalog is a catalog of a metastore of version 3 or newer; empty means "hive".
	Catalog string
	// User is whom the metastore is told that it is asked by (set_ugi, or the header
	// x-actor-username over HTTP); empty tells it nothing. It is no credential.
	User string
	// Framed says that thrift:// metastores want framed messages.
	Framed bool
	// TLS makes thrift:// connections by TLS, and says how those of https:// are made.
	TLS *TLS
	// Plain authenticates thrift:// connections by SASL PLAIN, as metastores with LDAP,
	// PAM, CUSTOM or CONFIG authentication want.
	Plain *Plain
	// Connections bounds the calls and connections under way; 0 means 16.
	Connections int
	// Now is the clock.
	Now func() time.Time
}

// TLS is how a metastore and we know each other.
type TLS struct {
	// CA is a file of PEM certificates that sign the metastore's; empty for the system's.
	CA string
	// Cert and Key are files with our own certificate, for a metastore that asks for one.
	Cert, Key string
	// ServerName is the name in the metastore's certificate; empty for the URI's host.
	ServerName string
}

// Plain is a user with a password.
type Plain struct {
	User, Password string
}

// check names what is wrong, and fills in what was left out. Its errors hold no secret.
func (o *Options) check() ([]*url.URL, error) {
	if len(o.URIs) == 0 {
		return nil, errors.New("uris: at least one is required")
	}
	if o.Now == nil {
		return nil, errors.New("a clock is required")
	}
	if o.Connections < 0 {
		return nil, errors.New("connections: can't be negative")
	}
	if o.Connections == 0 {
		o.Connections = defaultConnections
	}
	o.Catalog = strings.ToLower(o.Catalog)
	if o.Catalog == defaultCatalog {
		o.Catalog = "" // unnamed, so that a metastore without catalogs understands it
	}
	if strings.ContainsAny(o.Catalog, "@#! ") {
		return nil, errors.New("catalog: no catalog has such a name")
	}
	if p := o.Plain; p != nil && (p.User == "" || p.Password == "" || strings.ContainsRune(p.User+p.Password, 0)) {
		return nil, errors.New("plain: user and password are required")
	}
	if o.Plain != nil && (o.Framed || o.User != "") {
		return nil, errors.New("plain: SASL frames messages itself and says who asks, so framed and user contradict it")
	}
	if strings.ContainsFunc(o.User, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("user: it holds control characters")
	}
	urls := make([]*url.URL, len(o.URIs))
	for i, uri := range o.URIs {
		u, err := o.parse(uri)
		if err != nil {
			return nil, fmt.Errorf("uris[%d]: %w", i, err)
		}
		urls[i] = u
	}
	return urls, nil
}

// parse reads one URI. The errors don't repeat it: it may hold a secret where none belongs.
func (o *Options) parse(uri string) (*url.URL, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil || u.Host == "":
		return nil, errors.New("want thrift://host:port, http://host:port/path or https://host:port/path")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("it can't hold a user, a query or a fragment")
	case u.Scheme == "thrift" && (u.Hostname() == "" || u.Port() == "" || u.Path != ""):
		return nil, errors.New("want thrift://host:port, without a path")
	case u.Scheme == "thrift":
		return u, nil
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("want thrift://, http:// or https://")
	case o.Framed || o.Plain != nil:
		return nil, errors.New("framed and plain are for thrift:// alone")
	case u.Scheme == "http" && o.TLS != nil:
		return nil, errors.New("tls is set, so http:// would be a mistake: want https://")
	}
	return u, nil
}

// config reads the files. Nil is TLS as the system has it.
func (t *TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t == nil {
		return c, nil
	}
	c.ServerName = t.ServerName
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("tls.ca: the file holds no PEM certificate")
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, errors.New("tls: cert and key need each other")
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
