package router

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"fmt"

	"piedmont/mounts"
)

// maxTokenBytes bounds a page token. It holds one name at most.
const maxTokenBytes = 8 << 10

// pageTokens seals the tokens of lists: opaque, unforgeable, and good only for the
// principal and the list they were made for.
type pageTokens struct{ aead cipher.AEAD }

// newPageTokens takes a key of 32 bytes, which replicas share.
func newPageTokens(key []byte) (*pageTokens, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("page tokens: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("page tokens: %w", err)
	}
	return &pageTokens{aead: aead}, nil
}

// listing is what a token is bound to.
func listing(c *call, of mounts.Namespace) []byte {
	return []byte(c.operation + "\x00" + c.identity.Caller.Principal + "\x00" + of.Encode())
}

// seal makes a client's token of a tree's; empty stays empty.
func (p *pageTokens) seal(token string, bound []byte) string {
	if token == "" {
		return ""
	}
	nonce := make([]byte, p.aead.NonceSize(), p.aead.NonceSize()+len(token)+p.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(p.aead.Seal(nonce, nonce, []byte(token), bound))
}

// open is the tree's token in a client's. A token that was changed, or made for another
// list or principal, is a BadRequest.
func (p *pageTokens) open(sealed string, bound []byte) (string, error) {
	if sealed == "" {
		return "", nil
	}
	invalid := &mounts.Error{Kind: mounts.BadRequest, Op: "read page token", Detail: "Invalid pageToken: it wasn't given out for this list"}
	if len(sealed) > maxTokenBytes {
		return "", invalid
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(raw) < p.aead.NonceSize() {
		return "", invalid
	}
	token, err := p.aead.Open(nil, raw[:p.aead.NonceSize()], raw[p.aead.NonceSize():], bound)
	if err != nil {
		return "", invalid
	}
	return string(token), nil
}
