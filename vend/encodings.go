package vend

// maxEncodings is how often a location may be percent-encoded over and over. Nobody has
// a reason for more than one; the bound keeps the check's work linear.
const maxEncodings = 4

// checkEncodings refuses a text that a reader which decodes percent-encodings, once or
// several times, would take for another place: %2e%2e, %2F, %252e, %%32e.
func checkEncodings(s string) error {
	b := []byte(s)
	for range maxEncodings {
		decoded, found, bad := decodeOnce(b)
		if bad {
			return refuse(s, "percent-encodings of dot, slash, backslash and control characters aren't allowed")
		}
		if !found {
			return nil
		}
		b = decoded
	}
	return refuse(s, "it is percent-encoded too many times")
}

// decodeOnce decodes b in place. A percent sign without two hex digits behind it stays;
// bad says that a decoded character isn't allowed.
func decodeOnce(b []byte) (decoded []byte, found, bad bool) {
	out := b[:0]
	for i := 0; i < len(b); i++ {
		if b[i] != '%' || i+2 >= len(b) {
			out = append(out, b[i])
			continue
		}
		hi, ok1 := unhex(b[i+1])
		lo, ok2 := unhex(b[i+2])
		if !ok1 || !ok2 {
			out = append(out, b[i])
			continue
		}
		c := hi<<4 | lo
		if c < 0x20 || c == 0x7f || c == '.' || c == '/' || c == '\\' {
			return nil, true, true
		}
		out = append(out, c)
		i, found = i+2, true
	}
	return out, found, false
}

func unhex(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
