package configs

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// validator checks a decoded configuration and collects what is wrong.
type validator struct {
	faults Faults
	lines  map[string]int
	secret map[string]bool
	faulty map[string]bool // paths that couldn't be decoded
}

func newValidator(d *decoder) *validator {
	v := &validator{faults: d.faults, lines: d.lines, secret: d.secret, faulty: map[string]bool{}}
	for _, f := range d.faults {
		v.faulty[f.Path] = true
	}
	return v
}

// fault adds one, unless the value couldn't be decoded: "missing" would say it twice.
func (v *validator) fault(path, format string, args ...any) {
	if v.faulty[path] {
		return
	}
	v.faults = append(v.faults, Fault{Path: path, Line: v.line(path), Text: fmt.Sprintf(format, args...)})
}

// wrong says whether something at the path or inside it is wrong already.
func (v *validator) wrong(path string) bool {
	return slices.ContainsFunc(v.faults, func(f Fault) bool { return within(f.Path, path) })
}

func within(inner, outer string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// quoted is " 'name'" for a text, and nothing where the name came from ${env:} or ${file:}.
func (v *validator) quoted(path, name string) string {
	if v.secret[path] {
		return ""
	}
	return " '" + name + "'"
}

// line is that of the value, or of the nearest one around it.
func (v *validator) line(path string) int {
	for path != "" {
		if n, ok := v.lines[path]; ok {
			return n
		}
		i := strings.LastIndexAny(path, ".[")
		path = path[:max(i, 0)]
	}
	return 0
}

func (v *validator) config(c *Config) {
	v.address("listen", c.Listen)
	if c.Operator != "" {
		v.address("operator", c.Operator)
		if c.Operator == c.Listen {
			v.fault("operator", "the same address as listen: it needs no credential, so it must be another")
		}
	}
	if len(c.Mounts) == 0 {
		v.fault("mounts", "no mount: name at least one catalog")
	}
	v.registry(c)
	profiles := map[string]bool{}
	for i := range c.Storage {
		v.storage(fmt.Sprintf("storage[%d]", i), &c.Storage[i], profiles)
	}
	ats, ids := map[string]bool{}, map[string]bool{}
	for i := range c.Mounts {
		v.mount(fmt.Sprintf("mounts[%d]", i), &c.Mounts[i], profiles, ats, ids)
	}
	for i, id := range c.Detached {
		if ids[id] {
			at := fmt.Sprintf("detached[%d]", i)
			v.fault(at, "a mount names the id%s", v.quoted(at, id))
		}
	}
	v.auth(&c.Auth)
}

func (v *validator) address(path, address string) {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		v.fault(path, "want an address like 127.0.0.1:8181")
	}
}

// registry: replicas share a database but no directory, so they can't share a generated key.
func (v *validator) registry(c *Config) {
	p := c.Registry.Postgres
	if p == nil {
		return
	}
	if c.Registry.Bolt != nil {
		v.fault("registry", "bolt and postgres exclude each other")
	}
	if u, err := url.Parse(p.URL); err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		v.fault("registry.postgres.url", "want postgres://user:password@host/database?options")
	}
	v.positive("registry.postgres.max_connections", int64(p.MaxConnections))
	v.positive("registry.postgres.connect_timeout", int64(p.ConnectTimeout))
	v.positive("registry.postgres.statement_timeout", int64(p.StatementTimeout))
	if p.MinConnections < 0 || p.MaxConnections > 0 && p.MinConnections > p.MaxConnections {
		v.fault("registry.postgres", "want 0 or more min_connections, and no more than max_connections")
	}
	if len(c.Auth.Keys) == 0 {
		v.fault("auth.keys", "missing; with a Postgres registry there is no generated key, since replicas couldn't share it: run piedmont keys new")
	}
}

// positive refuses a number that stands in the file and isn't one above 0. One that doesn't stand
// there is 0, for the default: somebody who writes 0 means another thing, like no bound.
func (v *validator) positive(path string, n int64) {
	if _, given := v.secret[path]; n < 0 || n == 0 && given {
		v.fault(path, "want more than 0; leave it out for the default")
	}
}

// unique takes a name once.
func (v *validator) unique(path, what, name string, taken map[string]bool) {
	if taken[name] {
		v.fault(path, "%s%s stands twice", what, v.quoted(path, name))
	}
	taken[name] = true
}

func (v *validator) storage(path string, s *Storage, profiles map[string]bool) {
	if s.Name == "" {
		v.fault(path+".name", "missing")
	} else {
		v.unique(path+".name", "the profile", s.Name, profiles)
	}
	if s.Location == "" {
		v.fault(path+".location", "missing")
	}
	switch {
	case s.S3 == nil && s.Local == nil:
		v.fault(path, "want s3 or local")
	case s.S3 != nil && s.Local != nil:
		v.fault(path, "s3 and local exclude each other")
	case s.S3 != nil:
		v.s3(path+".s3", s.S3)
		v.scheme(path+".location", s.Location, "s3://", "s3a://", "s3n://")
	default:
		v.scheme(path+".location", s.Location, "file:")
	}
}

func (v *validator) scheme(path, location string, schemes ...string) {
	for _, scheme := range schemes {
		if location == "" || strings.HasPrefix(location, scheme) {
			return
		}
	}
	v.fault(path, "want a location that begins with %s", schemes[0])
}

func (v *validator) s3(path string, s *S3) {
	if s.Endpoint != "" {
		v.url(path+".endpoint", s.Endpoint)
	}
	if s.Region == "" {
		v.fault(path+".region", "missing; engines refuse tables without one, so name any for a server that has none")
	}
	v.pair(path, s.AccessKeyID, s.SecretAccessKey)
}

func (v *validator) pair(path, id, secret string) {
	if (id == "") != (secret == "") && !v.faultInside(path) {
		v.fault(path, "access_key_id and secret_access_key need each other")
	}
}

// faultInside says whether something inside the value is wrong already.
func (v *validator) faultInside(path string) bool {
	for _, f := range v.faults {
		if strings.HasPrefix(f.Path, path+".") {
			return true
		}
	}
	return false
}

func (v *validator) url(path, s string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		v.fault(path, "want a URL like https://host/path")
	case u.User != nil:
		v.fault(path, "a URL must hold no password")
	case u.RawQuery != "" || u.Fragment != "":
		v.fault(path, "a URL with a query or fragment can't be a base")
	}
}

// maxPrincipal bounds a principal's name: receipts are keyed by it.
const maxPrincipal = 255

func (v *validator) auth(a *Auth) {
	ids := map[string]bool{}
	for i, k := range a.Keys {
		path := fmt.Sprintf("auth.keys[%d]", i)
		if k.ID == "" {
			v.fault(path+".id", "missing")
		} else {
			v.unique(path+".id", "the key", k.ID, ids)
		}
		switch {
		case k.Principal == "":
			v.fault(path+".principal", "missing")
		case len(k.Principal) > maxPrincipal:
			v.fault(path+".principal", "longer than %d bytes", maxPrincipal)
		}
		if b, err := hex.DecodeString(k.SHA256); err != nil || len(b) != 32 {
			v.fault(path+".sha256", "want the SHA-256 of the secret as 64 hexadecimal digits")
		}
	}
	for i, p := range a.Admins {
		if p == "" {
			v.fault(fmt.Sprintf("auth.admins[%d]", i), "an empty principal")
		}
	}
}
