package authz

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
)

// Key is one API key as the gateway knows it: never its secret, only that secret's
// SHA-256. The secret has 256 bits of entropy, so a slow hash would protect nothing and
// cost every request.
type Key struct {
	ID        string
	SHA256    [sha256.Size]byte
	Principal string
	Groups    []string
}

// idPattern keeps ids apart from secrets (":") and from tokens (two dots).
var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// NewSecret makes a secret of 256 random bits, in letters that need no quoting in a
// shell, a URL or a form.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// HashSecret is the hex digest of a secret that the configuration holds.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// ParseHash reads the hex digest of a secret: 64 hexadecimal digits.
func ParseHash(s string) (sum [sha256.Size]byte, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != sha256.Size {
		return sum, fmt.Errorf("want the SHA-256 of the secret as 64 hexadecimal digits")
	}
	return [sha256.Size]byte(b), nil
}

// CheckKeyID says what is wrong with a key's id: 1 to 64 letters, digits, "-" and "_".
func CheckKeyID(id string) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf("a key's id is 1 to 64 letters, digits, '-' and '_'")
	}
	return nil
}

// keyring finds keys by id.
type keyring map[string]Key

func newKeyring(keys []Key) (keyring, error) {
	ring := keyring{}
	for _, k := range keys {
		if err := CheckKeyID(k.ID); err != nil {
			return nil, fmt.Errorf("key %q: %w", k.ID, err)
		}
		if k.Principal == "" {
			return nil, fmt.Errorf("key %q: it has no principal", k.ID)
		}
		if _, taken := ring[k.ID]; taken {
			return nil, fmt.Errorf("key %q: two keys have this id", k.ID)
		}
		k.Groups = slices.Clone(k.Groups)
		ring[k.ID] = k
	}
	return ring, nil
}

// check finds the key of that id and secret. An unknown id costs the same hash and
// comparison as a wrong secret, so the time tells nobody which ids exist.
func (r keyring) check(id, secret string) (Key, bool) {
	sum := sha256.Sum256([]byte(secret))
	k, known := r[id]
	same := subtle.ConstantTimeCompare(sum[:], k.SHA256[:]) == 1
	return k, known && same
}
