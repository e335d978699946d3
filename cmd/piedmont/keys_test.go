package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/authz"
	"piedmont/configs"
)

func TestKeysNew(t *testing.T) {
	code, out, _ := piedmont(t, "keys", "new", "--id", "etl", "--principal", "jobs: 'x'", "--group", "writers", "--group", "a, b")
	require.Zero(t, code)
	credential, rest, _ := strings.Cut(out, "\n")
	id, secret, ok := strings.Cut(credential, ":")
	require.True(t, ok)
	assert.Equal(t, "etl", id)
	assert.Equal(t, 1, strings.Count(out, secret), "the secret is printed once")

	_, entry, _ := strings.Cut(rest, "auth.keys:\n")
	config, _ := localConfig(t, "auth:\n  keys:\n"+entry)
	c, err := configs.Load(config)
	require.NoError(t, err)
	assert.Equal(t, []configs.Key{{ID: "etl", SHA256: authz.HashSecret(secret), Principal: "jobs: 'x'", Groups: []string{"writers", "a, b"}}}, c.Auth.Keys)
	g := mustOpen(t, config)
	assert.Equal(t, 200, send(g.router, "GET", "/v1/config", credential, "").Code, "and lets in")
	assert.Equal(t, 401, send(g.router, "GET", "/v1/config", credential+"x", "").Code)

	_, again, _ := piedmont(t, "keys", "new", "--id", "etl")
	assert.NotContains(t, again, secret)
	assert.Contains(t, again, "principal: etl\n")
	assert.NotContains(t, again, "groups")
}

func TestKeysNewRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"keys", "new"}, {"keys", "new", "--id", "a:b"}, {"keys", "new", "--id", ""}, {"keys", "new", "--id", "a", "more"}, {"keys", "old"},
	} {
		code, out, errs := piedmont(t, args...)
		assert.Equal(t, 1, code, args)
		assert.Empty(t, out)
		assert.True(t, strings.HasPrefix(errs, "piedmont: "), errs)
	}
}

func TestAdminKeyIsMadeOnce(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o777} {
		dir := t.TempDir()
		path := filepath.Join(dir, adminKeyFile)
		require.NoError(t, os.WriteFile(path+".new", []byte("half"), 0o644))
		old := syscall.Umask(umask)
		first, credential, err := adminKey(dir)
		syscall.Umask(old)
		require.NoError(t, err)
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode(), "umask %04o", umask)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, credential+"\n", string(text), "one line")
		assert.NoFileExists(t, path+".new")

		second, again, err := adminKey(dir)
		require.NoError(t, err)
		assert.Equal(t, first, second)
		assert.Equal(t, credential, again)
		assert.Equal(t, "admin", first.Principal)
	}
}

func TestAdminKeyRefuses(t *testing.T) {
	good := "admin:" + authz.NewSecret()
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"readable by a group", good, 0o640, "may be read by others (mode 0640)"},
		{"readable by all", good, 0o604, "may be read by others (mode 0604)"},
		{"empty", "", 0o600, "doesn't hold one line id:secret"},
		{"no colon", "secretsecretsecretsecretsecretsecret", 0o600, "doesn't hold one line"},
		{"no id", ":secretsecretsecretsecretsecretsecret", 0o600, "doesn't hold one line"},
		{"a bad id", "a b:secretsecretsecretsecretsecretsecret", 0o600, "doesn't hold one line"},
		{"cut off", good[:20], 0o600, "doesn't hold one line"},
		{"two lines", good + "\n" + good, 0o600, "doesn't hold one line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := write(t, dir, adminKeyFile, c.text)
			require.NoError(t, os.Chmod(path, c.mode))
			_, _, err := adminKey(dir)
			require.ErrorContains(t, err, c.want)
			if c.text != "" {
				assert.NotContains(t, err.Error(), strings.Split(good, ":")[1])
			}
			left, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, c.text, string(left), "it is left as it was")
		})
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, adminKeyFile), 0o700))
	_, _, err := adminKey(dir)
	require.ErrorContains(t, err, "read the admin key")
	_, _, err = adminKey(filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "write the admin key")
}
