package rest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/mounttest"
	"piedmont/mounts/rest"
)

// However an upstream spells a credential that it repeats, our log doesn't get it.
func TestCredentialInOtherSpellings(t *testing.T) {
	const odd = `s3/c=r+e t"&\<%41é;` + "tail"
	hex := func(format string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			for _, r := range s {
				fmt.Fprintf(&b, format, r)
			}
			return b.String()
		}
	}
	asJSON := func(s string) string {
		quoted, err := json.Marshal(s)
		require.NoError(t, err)
		return string(quoted[1 : len(quoted)-1])
	}
	slashes := func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(asJSON(s), "/", `\/`), "=", `\u003d`)
	}
	for name, spell := range map[string]func(string) string{
		"plain":     func(s string) string { return s },
		"query":     url.QueryEscape,
		"path":      url.PathEscape,
		"lowercase": func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "%2F", "%2f") },
		"twice":     func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
		"JSON":      asJSON,
		"slashes":   slashes,
		"in JSON":   func(s string) string { return strings.ReplaceAll(slashes(s), `\u003d`, `\\u003d`) },
		"all":       hex(`\u%04x`),
		"Basic":     func(s string) string { return base64.StdEncoding.EncodeToString([]byte("id:" + s)) },
		"Basic, escaped": func(s string) string {
			return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("id:" + url.QueryEscape(s))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := withTable(t, func(u *upstream) { u.secret = odd })
			c := u.mount()
			said := spell(odd)
			for _, before := range []int{0, 280, 295} { // there it is cut
				u.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
					body, err := json.Marshal(map[string]any{"error": map[string]any{
						"message": strings.Repeat("x", before) + said + strings.Repeat(" and more", 50), "type": "Bad" + said, "code": 401,
					}})
					if err != nil {
						t.Error(err)
					}
					says(401, string(body))(w, nil)
					return true
				})
				err := c.Health(t.Context())
				require.ErrorContains(t, err, "[credential]")
				require.NotContains(t, err.Error(), `x`+said[:3])
				require.NotContains(t, err.Error(), "tail")
				require.Less(t, len(err.Error()), 1500)
			}
		})
	}
}

// A bearer token, too, and a body that repeats it at the bound of what is read.
func TestTokenInOtherSpellings(t *testing.T) {
	const token = "abc/def+ghi==s3cret"
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.Token = token })
	for name, body := range map[string]string{
		"escaped in JSON": `{"error":{"message":"no: abc\/def+ghi\u003d\u003ds3cret","type":"t","code":401}}`,
		"a form":          `{"error":{"message":"no: token=` + url.QueryEscape(token) + `","type":"t","code":401}}`,
		"cut":             `{"error":{"type":"t","code":401,"message":"` + strings.Repeat("x", 64<<10-50) + token + `"}}`,
	} {
		u.intercept(func(w http.ResponseWriter, r *http.Request) bool { says(401, body)(w, r); return true })
		err := c.Health(t.Context())
		require.Error(t, err)
		for _, part := range []string{"abc", "def", "ghi", "s3cret"} {
			require.NotContains(t, err.Error(), part, name)
		}
		mounttest.NoSecrets(t, err.Error(), secret)
	}
}

// What net/http can't read it quotes.
func TestCredentialInABadHeader(t *testing.T) {
	const token = "abc/def+ghi==s3cret"
	u := withTable(t)
	c := u.mount(func(o *rest.Options) { o.Token = token })
	for _, spell := range []func(string) string{func(s string) string { return s }, url.QueryEscape} {
		for _, answer := range []string{"HTTP/1.1 200 OK\r\nno header %s\r\n\r\n", "HTTP/1.1 %s no\r\n\r\n"} {
			u.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return true
				}
				_, _ = fmt.Fprintf(conn, answer, spell(token))
				_ = conn.Close()
				return true
			})
			err := c.Health(t.Context())
			require.ErrorContains(t, err, "malformed")
			require.ErrorContains(t, err, "[credential]")
			require.NotContains(t, err.Error(), "ghi")
		}
	}
}

// A word of the protocol that is a secret as well still means what it means.
func TestSecretInAType(t *testing.T) {
	u := withTable(t)
	u.drop(table)
	c := u.mount(func(o *rest.Options) { o.Token = "Table" })
	_, err := c.LoadTable(t.Context(), mounttest.Caller, table, mounts.LoadOptions{})
	require.Equal(t, mounts.NoSuchTable, checkError(t, err))
}
