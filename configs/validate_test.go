package configs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// mount is a configuration with one more mount, one line long.
func mount(entry string) string {
	return "mounts:\n  - {at: '', native: {id: main, warehouse: 'file:///w/'}, storage: [disk]}\n  - " + entry +
		"\nstorage:\n  - {name: disk, location: 'file:///w/', local: {}}\n"
}

// profile is the same with one more storage profile.
func profile(entry string) string {
	return mount("{at: r, rest: {uri: http://h}}") + "  - " + entry + "\n"
}

func key(entry string) string { return base + "auth:\n  keys:\n    - " + entry + "\n" }

func TestValidate(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	for _, c := range []struct{ text, want string }{
		{base + "listen: nowhere", "line 4: listen: want an address like 127.0.0.1:8181"},
		{base + "listen: h:http", "line 4: listen: want an address like 127.0.0.1:8181"},
		{base + "listen: h:65536", "line 4: listen: want an address like 127.0.0.1:8181"},
		{base + "operator: '8182'", "line 4: operator: want an address like 127.0.0.1:8181"},
		{base + "operator: 127.0.0.1:8181", "line 4: operator: the same address as listen: it needs no credential, so it must be another"},
		{base + "detached: [x, main]", "line 4: detached[1]: a mount names the id 'main'"},
		{base + "registry: {bolt: {path: x}, postgres: {url: postgres://h/d}}\nauth: {keys: [{id: a, sha256: " + hash + ", principal: p}]}", "line 4: registry: bolt and postgres exclude each other"},
		{base + "registry: {postgres: {url: mysql://h/d}}\nauth: {keys: [{id: a, sha256: " + hash + ", principal: p}]}", "line 4: registry.postgres.url: want postgres://user:password@host/database?options"},
		{base + "registry: {postgres: {url: postgres://h/d, min_connections: 3, max_connections: 2}}\nauth: {keys: [{id: a, sha256: " + hash + ", principal: p}]}", "line 4: registry.postgres: want 0 or more min_connections, and no more than max_connections"},
		{base + "registry: {postgres: {url: postgres://h/d}}", "auth.keys: missing; with a Postgres registry there is no generated key, since replicas couldn't share it: run piedmont keys new"},
		{"name: x\nmounts: []", "line 2: mounts: no mount: name at least one catalog"},

		{profile("{location: 'file:///x/', local: {}}"), "line 6: storage[1].name: missing"},
		{profile("{name: disk, location: 'file:///x/', local: {}}"), "line 6: storage[1].name: the profile 'disk' stands twice"},
		{profile("{name: x, local: {}}"), "line 6: storage[1].location: missing"},
		{profile("{name: x, location: 'file:///x/'}"), "line 6: storage[1]: want s3 or local"},
		{profile("{name: x, location: 's3://b/', s3: {region: r}, local: {}}"), "line 6: storage[1]: s3 and local exclude each other"},
		{profile("{name: x, location: 'file:///x/', s3: {region: r}}"), "line 6: storage[1].location: want a location that begins with s3://"},
		{profile("{name: x, location: '/x/', local: {}}"), "line 6: storage[1].location: want a location that begins with file:"},
		{profile("{name: x, location: 's3://b/', s3: {}}"), "line 6: storage[1].s3.region: missing; engines refuse tables without one, so name any for a server that has none"},
		{profile("{name: x, location: 's3://b/', s3: {region: r, access_key_id: k}}"), "line 6: storage[1].s3: access_key_id and secret_access_key need each other"},
		{profile("{name: x, location: 's3://b/', s3: {region: r, endpoint: h:9000}}"), "line 6: storage[1].s3.endpoint: want a URL like https://host/path"},
		{profile("{name: x, location: 's3://b/', s3: {region: r, path_style: yes}}"), "line 6: storage[1].s3.path_style: want true or false"},

		{mount("{at: ''}"), "line 3: mounts[1].at: a mount at '' stands twice\nline 3: mounts[1]: want native, rest, glue or hive"},
		{mount("~"), "line 3: mounts[1].at: a mount at '' stands twice\nline 3: mounts[1]: want native, rest, glue or hive"},
		{mount("{at: a..b, rest: {uri: http://h}}"), "line 3: mounts[1].at: an empty level: levels are joined by single dots"},
		{mount("{at: .a, rest: {uri: http://h}}"), "line 3: mounts[1].at: an empty level: levels are joined by single dots"},
		{mount("{at: a, rest: {uri: http://h}, storage: [none]}"), "line 3: mounts[1].storage[0]: no storage profile has the name 'none'"},
		{mount("{at: a, rest: {uri: http://h}, storage: [disk, disk]}"), "line 3: mounts[1].storage[1]: the profile 'disk' stands twice"},
		{mount("{at: a, rest: {uri: http://h}, source: [a, '']}"), "line 3: mounts[1].source[1]: an empty level"},
		{mount("{at: a, rest: {uri: http://h}, case: upper}"), "line 3: mounts[1].case: want exact or lower"},
		{mount("{at: a, rest: {uri: http://h}, native: {id: x, warehouse: w}}"), "line 3: mounts[1]: native and rest exclude each other"},

		{mount("{at: a, native: {warehouse: 'file:///w/'}, storage: [disk]}"), "line 3: mounts[1].native.id: missing; it keys the catalog's state, so never change it"},
		{mount("{at: a, native: {id: main, warehouse: 'file:///w/'}, storage: [disk]}"), "line 3: mounts[1].native.id: the id 'main' stands twice"},
		{mount("{at: a, native: {id: x}, storage: [disk]}"), "line 3: mounts[1].native.warehouse: missing; it says where tables are put that name no location"},
		{mount("{at: a, native: {id: x, warehouse: w}}"), "line 3: mounts[1].storage: missing; a native mount needs the profile that its warehouse lies in"},
		{mount("{at: a, native: {id: x, warehouse: w}, storage: [disk], fresh_for: 1s}"), "line 3: mounts[1].fresh_for: a native mount is always fresh"},
		{mount("{at: a, native: {id: x, warehouse: w, format_versions: [2, 4]}, storage: [disk]}"), "line 3: mounts[1].native.format_versions[1]: there are the format versions 1, 2 and 3"},
		{mount("{at: a, native: {id: x, warehouse: w, format_versions: [two]}, storage: [disk]}"), "line 3: mounts[1].native.format_versions[0]: want a whole number"},
		{mount("{at: a, native: {id: x, warehouse: w, format_versions: [1, 2], default_format_version: 3}, storage: [disk]}"), "line 3: mounts[1].native.default_format_version: 3 isn't among the allowed versions [1 2]"},

		{mount("{at: a, rest: {}}"), "line 3: mounts[1].rest.uri: missing"},
		{mount("{at: a, rest: {uri: h}}"), "line 3: mounts[1].rest.uri: want a URL like https://host/path"},
		{mount("{at: a, rest: {uri: 'http://u:p@h'}}"), "line 3: mounts[1].rest.uri: a URL must hold no password"},
		{mount("{at: a, rest: {uri: 'http://h?x=y'}}"), "line 3: mounts[1].rest.uri: a URL with a query or fragment can't be a base"},
		{mount("{at: a, rest: {uri: http://h, oauth2_server_uri: h}}"), "line 3: mounts[1].rest.oauth2_server_uri: want a URL like https://host/path"},
		{mount("{at: a, rest: {uri: http://h, credential: 'a:b', token: t}}"), "line 3: mounts[1].rest: credential, token and sigv4 exclude each other"},
		{mount("{at: a, rest: {uri: http://h, token: t, sigv4: {region: r, service: s}}}"), "line 3: mounts[1].rest: credential, token and sigv4 exclude each other"},
		{mount("{at: a, rest: {uri: http://h, credential: secret}}"), "line 3: mounts[1].rest.credential: want id:secret"},
		{mount("{at: a, rest: {uri: http://h, sigv4: {region: r}}}"), "line 3: mounts[1].rest.sigv4: region and service are needed"},
		{mount("{at: a, rest: {uri: http://h, sigv4: {region: r, service: s, secret_access_key: x}}}"), "line 3: mounts[1].rest.sigv4: access_key_id and secret_access_key need each other"},

		{mount("{at: a, glue: {region: r}, rest: {uri: http://h}}"), "line 3: mounts[1]: rest and glue exclude each other"},
		{mount("{at: a, glue: {}}"), "line 3: mounts[1].glue.region: missing"},
		{mount("{at: a, glue: {region: r, endpoint: h:1}}"), "line 3: mounts[1].glue.endpoint: want a URL like https://host/path"},
		{mount("{at: a, glue: {region: r, role_arn: 'arn:x', sts_endpoint: 'http://u:p@h'}}"), "line 3: mounts[1].glue.sts_endpoint: a URL must hold no password"},
		{mount("{at: a, glue: {region: r, access_key_id: k}}"), "line 3: mounts[1].glue: access_key_id and secret_access_key need each other"},
		{mount("{at: a, glue: {region: r, external_id: x}}"), "line 3: mounts[1].glue.role_arn: missing; external_id, session_name and sts_endpoint are for a role"},
		{mount("{at: a, glue: {region: r, calls_per_second: -1}}"), "line 3: mounts[1].glue.calls_per_second: want more than 0; leave it out for the default"},

		{mount("{at: a, hive: {uris: ['thrift://h:1']}, glue: {region: r}}"), "line 3: mounts[1]: glue and hive exclude each other"},
		{mount("{at: a, hive: {}}"), "line 3: mounts[1].hive.uris: missing"},
		{mount("{at: a, hive: {uris: ['thrift://h:1', 'h:9083']}}"), "line 3: mounts[1].hive.uris[1]: want thrift://host:port, or http:// or https:// for Thrift over HTTP"},
		{mount("{at: a, hive: {uris: ['thrift://h']}}"), "line 3: mounts[1].hive.uris[0]: want thrift://host:port, or http:// or https:// for Thrift over HTTP"},
		{mount("{at: a, hive: {uris: ['thrift://h:1/db']}}"), "line 3: mounts[1].hive.uris[0]: want thrift://host:port, or http:// or https:// for Thrift over HTTP"},
		{mount("{at: a, hive: {uris: ['thrift://u:p@h:1']}}"), "line 3: mounts[1].hive.uris[0]: a URL must hold no password"},
		{mount("{at: a, hive: {uris: ['https://h/x?y']}}"), "line 3: mounts[1].hive.uris[0]: a URL with a query or fragment can't be a base"},
		{mount("{at: a, hive: {uris: ['https://h'], framed: true}}"), "line 3: mounts[1].hive.uris[0]: framed and plain are for thrift:// alone"},
		{mount("{at: a, hive: {uris: ['http://h'], tls: {ca: x}}}"), "line 3: mounts[1].hive.uris[0]: tls is set: want https://"},
		{mount("{at: a, hive: {uris: ['thrift://h:1'], tls: {cert: x}}}"), "line 3: mounts[1].hive.tls: cert and key need each other"},
		{mount("{at: a, hive: {uris: ['thrift://h:1'], plain: {user: u}}}"), "line 3: mounts[1].hive.plain: user and password are needed"},
		{mount("{at: a, hive: {uris: ['thrift://h:1'], user: x, plain: {user: u, password: p}}}"), "line 3: mounts[1].hive.plain: it frames messages and says who asks, so leave out framed and user"},
		{mount("{at: a, rest: {uri: 'http://h', connections: -1}}"), "line 3: mounts[1].rest.connections: want more than 0; leave it out for the default"},
		{mount("{at: a, hive: {uris: ['thrift://h:1'], connections: -1}}"), "line 3: mounts[1].hive.connections: want more than 0; leave it out for the default"},

		{key("{sha256: " + hash + ", principal: p}"), "line 6: auth.keys[0].id: missing"},
		{key("{id: a, sha256: " + hash + "}"), "line 6: auth.keys[0].principal: missing"},
		{key("{id: a, sha256: " + hash + ", principal: " + strings.Repeat("p", 256) + "}"), "line 6: auth.keys[0].principal: longer than 255 bytes"},
		{key("{id: a, principal: p}"), "line 6: auth.keys[0].sha256: want the SHA-256 of the secret as 64 hexadecimal digits"},
		{key("{id: a, principal: p, sha256: " + hash[2:] + "}"), "line 6: auth.keys[0].sha256: want the SHA-256 of the secret as 64 hexadecimal digits"},
		{key("{id: a, principal: p, sha256: " + hash + "}\n    - {id: a, principal: q, sha256: " + hash + "}"), "line 7: auth.keys[1].id: the key 'a' stands twice"},
		{base + "auth: {admins: ['']}", "line 4: auth.admins[0]: an empty principal"},
	} {
		_, faults := parse(t, c.text)
		assert.Equal(t, c.want, strings.Join(faults, "\n"), c.text)
	}
}
