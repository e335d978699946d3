// Package rawjson splits JSON text (RFC 8259) into members and elements without
// decoding it. What isn't touched stays the very bytes that came in: unknown members,
// the order of members, integers beyond 2^53 and numbers like 1.10 all survive.
//
// Everything here checks what it walks over, so that text accepted once can be pasted
// into an answer without an attacker's bytes closing the answer's own brackets: valid
// UTF-8, one value, nothing behind it, nesting no deeper than a bound.
//
// Values handed out are sub-slices of the text handed in. Neither may be modified.
package rawjson
