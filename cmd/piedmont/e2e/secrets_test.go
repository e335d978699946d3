//go:build e2e

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"piedmont/configs"
)

// secretBook knows every secret of a run, and every server that clients mustn't hear of. What
// any process of Piedmont tells is searched for all of them: see watch.
type secretBook struct {
	mu      sync.Mutex
	secrets map[string]string // what they are, by each way to write them
	servers map[string]string // what they are, by host and port

	watched, searched, bytes, pages, answers int
}

var book = newSecretBook()

func newSecretBook() *secretBook {
	return &secretBook{secrets: map[string]string{}, servers: map[string]string{}}
}

// shortestSecret is what still isn't found by chance.
const shortestSecret = 10

// keep adds a secret, as it is and as it may be written.
func (b *secretBook) keep(what, secret string) error {
	if len(secret) < shortestSecret {
		return fmt.Errorf("%s is a secret of %d letters: too few to look for", what, len(secret))
	}
	quoted, err := json.Marshal(secret)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, written := range []string{
		secret, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
	} {
		b.secrets[written] = what
	}
	return nil
}

// keepCredential adds an id:secret, of which the second half is one, also as basic
// authentication writes it.
func (b *secretBook) keepCredential(what, credential string) error {
	_, secret, ok := strings.Cut(credential, ":")
	if !ok {
		return fmt.Errorf("%s isn't id:secret", what)
	}
	return errors.Join(b.keep(what, secret), b.keep(what, base64.StdEncoding.EncodeToString([]byte(credential))))
}

// keepAdminKey adds the key that a process made in its data directory, if it made one.
func (b *secretBook) keepAdminKey(data string) error {
	key, err := os.ReadFile(filepath.Join(data, "admin.key"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return b.keepCredential("admin.key", strings.TrimSpace(string(key)))
}

// keepConfig adds the secrets and servers of a configuration, of whatever kinds of catalogs and
// storages they are.
func (b *secretBook) keepConfig(path string) (configs.Config, error) {
	c, err := configs.Load(path)
	if err != nil {
		return c, err
	}
	return c, b.keepFields(filepath.Base(path), "", reflect.ValueOf(c))
}

// secretField knows a secret of the configuration by its name.
var secretField = regexp.MustCompile(`Secret|Password|Token$`)

func (b *secretBook) keepFields(at, name string, v reflect.Value) (err error) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			err = b.keepFields(at, name, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			err = errors.Join(err, b.keepFields(at+"."+field, field, v.Field(i)))
		}
	case reflect.Slice:
		for i := range v.Len() {
			err = errors.Join(err, b.keepFields(fmt.Sprintf("%s[%d]", at, i), name, v.Index(i)))
		}
	case reflect.String:
		switch text := v.String(); {
		case text == "":
		case name == "Credential":
			err = b.keepCredential(at, text)
		case secretField.MatchString(name):
			err = b.keep(at, text)
		default:
			err = b.keepURL(at, text)
		}
	default: // numbers and durations
	}
	return err
}

// keepURL adds a server, and the password for it. A bucket is none.
func (b *secretBook) keepURL(at, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme == "s3" {
		return nil //nolint:nilerr // it isn't a URL
	}
	b.mu.Lock()
	b.servers[u.Host] = at
	b.mu.Unlock()
	if password, ok := u.User.Password(); ok {
		return b.keep(at, password)
	}
	return nil
}

// leaks are the lines of a text that tell a secret, or also a server, with what stands for it.
func (b *secretBook) leaks(text string, servers bool) (lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines = hiddenIn(text, b.secrets)
	if servers {
		lines = append(lines, hiddenIn(text, b.servers)...)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func hiddenIn(text string, hidden map[string]string) (lines []string) {
	for value := range hidden {
		if !strings.Contains(text, value) {
			continue
		}
		for line := range strings.Lines(text) {
			if !strings.Contains(line, value) {
				continue
			}
			for other, what := range hidden {
				line = strings.ReplaceAll(line, other, "‹"+what+"›")
			}
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// report says how much was searched. A search that looks at nothing finds nothing, so it fails
// unless it saw all that every process told.
func (b *secretBook) report() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watched == 0 { // no test ran that starts one
		return nil
	}
	fmt.Printf("looked for %d spellings of secrets in what %d processes told: %d bytes of output, %d pages for operators, %d error answers\n",
		len(b.secrets), b.searched, b.bytes, b.pages, b.answers)
	if b.searched != b.watched || b.bytes == 0 || len(b.secrets) == 0 {
		return fmt.Errorf("the search for secrets is incomplete: %d of %d processes, %d bytes, %d secrets", b.searched, b.watched, b.bytes, len(b.secrets))
	}
	return nil
}
