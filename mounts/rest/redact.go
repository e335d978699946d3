package rest

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxWords bounds what is logged of an upstream's words.
const maxWords = 300

// secrets is what must not get into our log, each in plain. Some servers repeat what they
// didn't like.
type secrets []string

// secrets is what r carried, or its answer may repeat of the request for its token.
func (c *client) secrets(r *http.Request) secrets {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	_, signature, _ := strings.Cut(token, "Signature=")
	all := []string{token, signature, r.Header.Get("X-Amz-Security-Token")}
	if a, ok := c.auth.(*oauth); ok {
		all = append(all, a.secret, basic(a.id, a.secret), basic(url.QueryEscape(a.id), url.QueryEscape(a.secret)))
	}
	var s secrets
	for _, secret := range all {
		if secret != "" {
			s = append(s, secret)
			if escaped := url.QueryEscape(secret); escaped != secret {
				s = append(s, escaped) // which may be escaped once more
			}
		}
	}
	return s
}

// basic is how RFC 7617 has id and secret, without padding.
func basic(id, secret string) string {
	return base64.RawStdEncoding.EncodeToString([]byte(id + ":" + secret))
}

// redact gives the beginning of a text without the secrets in it, however they are spelled. It
// is cut only afterwards, so that no part of one stays.
func (s secrets) redact(text string) string {
	var b strings.Builder
	for text != "" {
		if b.Len() >= maxWords {
			return b.String() + "…"
		}
		n := 0
		for _, secret := range s {
			n = max(n, spelled(text, secret))
		}
		if n > 0 {
			b.WriteString("[credential]")
			text = text[n:]
			continue
		}
		b.WriteByte(text[0])
		text = text[1:]
	}
	return b.String()
}

// spelled is the length of a secret that a text begins with: in plain, or with any of its
// characters escaped as in URLs, forms or JSON. 0 where it begins with none.
func spelled(text, secret string) int {
	if strings.HasPrefix(text, secret) {
		return len(secret)
	}
	rest := text
	for secret != "" {
		unit, n := unescape(rest)
		switch {
		case n > 0 && strings.HasPrefix(secret, unit):
			secret, rest = secret[len(unit):], rest[n:]
		case rest != "" && rest[0] == secret[0]:
			secret, rest = secret[1:], rest[1:]
		case strings.HasPrefix(rest, `\\`):
			rest = rest[1:] // JSON in JSON
		default:
			return 0
		}
	}
	return len(text) - len(rest)
}

// unescape reads the escaped character that a text begins with, and its length there; 0 where
// it begins with none.
func unescape(text string) (unit string, n int) {
	switch {
	case strings.HasPrefix(text, "+"):
		return " ", 1
	case strings.HasPrefix(text, "%") && len(text) >= 3:
		if b, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
			return string([]byte{byte(b)}), 3
		}
	case strings.HasPrefix(text, `\u`) && len(text) >= 6:
		if r, err := strconv.ParseUint(text[2:6], 16, 16); err == nil {
			return string(rune(r)), 6
		}
	case strings.HasPrefix(text, `\`) && len(text) >= 2:
		if i := strings.IndexByte("bfnrt", text[1]); i >= 0 {
			return "\b\f\n\r\t"[i : i+1], 2
		}
		return text[1:2], 2
	}
	return "", 0
}
