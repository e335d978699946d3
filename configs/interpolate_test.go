package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInterpolate(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	absolute := write("secret", " a secret \r\n")
	write("two", "one\ntwo\n\n")
	write("big", strings.Repeat("x", maxSecretBytes+1))
	t.Setenv("PIEDMONT_TEST", "value")
	t.Setenv("PIEDMONT_EMPTY", "")
	t.Setenv("PIEDMONT_NESTED", "${env:PIEDMONT_TEST} ${file:secret} ${")
	for _, c := range []struct{ in, want, fault string }{
		{"plain", "plain", ""},
		{"$5 $env {x} }", "$5 $env {x} }", ""},
		{"${env:PIEDMONT_TEST}", "value", ""},
		{"a${env:PIEDMONT_TEST}b${env:PIEDMONT_TEST}c", "avaluebvaluec", ""},
		{"$${env:PIEDMONT_TEST}", "$value", ""},
		{"${env:PIEDMONT_EMPTY}", "", ""},
		{"${env:PIEDMONT_NESTED}", "${env:PIEDMONT_TEST} ${file:secret} ${", ""},
		{"${file:secret}", " a secret ", ""},
		{"${file:" + absolute + "}", " a secret ", ""},
		{"${file:two}", "one\ntwo", ""},
		{"${env:PIEDMONT_UNSET}", "", "the environment variable PIEDMONT_UNSET isn't set"},
		{"${file:none}", "", "the file none can't be read"},
		{"${file:.}", "", "the file . is no regular file of at most 64 KiB"},
		{"${file:big}", "", "the file big is no regular file of at most 64 KiB"},
		{"${vault:x}", "", "unknown ${vault:…}"},
		{"${env:PIEDMONT_TEST", "", "want ${env:NAME} or ${file:PATH}"},
		{"${PIEDMONT_TEST}", "", "want ${env:NAME} or ${file:PATH}"},
		{"${env:}", "", "want ${env:NAME} or ${file:PATH}"},
		{"${}", "", "want ${env:NAME} or ${file:PATH}"},
		{"${env:PIEDMONT_TEST}${", "", "want ${env:NAME} or ${file:PATH}"},
	} {
		got, err := interpolate(c.in, dir)
		if c.fault != "" {
			require.ErrorContains(t, err, c.fault, c.in)
			continue
		}
		require.NoError(t, err, c.in)
		assert.Equal(t, c.want, got, c.in)
	}
}

func TestInterpolateInEveryKindOfValue(t *testing.T) {
	t.Setenv("PIEDMONT_BOOL", "true")
	t.Setenv("PIEDMONT_TIME", "5m")
	t.Setenv("PIEDMONT_SIZE", "7MiB")
	c, faults := parse(t, profile("{name: x, location: 's3://b/', s3: {region: r, path_style: '${env:PIEDMONT_BOOL}'}}")+
		"cache: {documents: '${env:PIEDMONT_SIZE}'}\n")
	require.Empty(t, faults)
	assert.True(t, c.Storage[1].S3.PathStyle)
	assert.Equal(t, Bytes(7<<20), c.Cache.Documents)
	c, faults = parse(t, mount("{at: a, rest: {uri: http://h, timeout: '${env:PIEDMONT_TIME}'}}"))
	require.Empty(t, faults)
	assert.EqualValues(t, 300, c.Mounts[1].REST.Timeout.Seconds())
}

func TestUnsetIsReportedOnce(t *testing.T) {
	_, faults := parse(t, mount("{at: a, rest: {uri: '${env:PIEDMONT_UNSET}'}}"))
	assert.Equal(t, []string{"line 3: mounts[1].rest.uri: the environment variable PIEDMONT_UNSET isn't set"}, faults)
}

// A secret in a wrong place must not be printed, whatever is wrong with it.
func TestSecretsStayOutOfFaults(t *testing.T) {
	const secret = "hunter2"
	t.Setenv("PIEDMONT_SECRET", secret)
	value := "'${env:PIEDMONT_SECRET}'"
	for _, text := range []string{
		base + "listen: " + value, base + "operator: " + value, base + "cache: {documents: " + value + "}", base + "detached: [" + value + "]",
		profile("{name: x, location: " + value + ", local: {}}"),
		profile("{name: " + value + ", location: 'file:///x/', local: {}}\n  - {name: " + value + ", location: 'file:///y/', local: {}}"),
		profile("{name: x, location: 's3://b/', s3: {region: r, endpoint: " + value + ", path_style: " + value + ", access_key_id: " + value + "}}"),
		mount("{at: " + value + ", rest: {uri: " + value + ", credential: " + value + ", timeout: " + value + "}, storage: [" + value + ", " + value + "]}"),
		mount("{at: a, rest: {uri: 'http://${env:PIEDMONT_SECRET}@h', token: x, credential: " + value + "}, case: " + value + "}\n  - {at: " + value + "}\n  - {at: " + value + "}"),
		mount("{at: a, native: {id: "+value+", warehouse: w}}\n  - {at: b, native: {id: "+value+", warehouse: w}}") + "detached: [" + value + "]",
		key("{id: " + value + ", sha256: " + value + "}\n    - {id: " + value + ", sha256: " + value + "}"),
	} {
		c, err := Parse([]byte(text), t.TempDir())
		if err == nil {
			require.Equal(t, []string{secret}, c.Detached, "only this one is no fault")
			continue
		}
		assert.NotContains(t, err.Error(), secret, text)
	}
}
