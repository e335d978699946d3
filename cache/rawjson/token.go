package rawjson

// plain marks the bytes that a string can hold as they are.
func plain(c byte) bool { return c >= 0x20 && c != '"' && c != '\\' }

// str reads a string, from its opening quote on.
func (s *scanner) str(i int) (int, error) {
	b := s.b
	for i++; i < len(b); i++ {
		c := b[i]
		if plain(c) {
			continue
		}
		switch c {
		case '"':
			return i + 1, nil
		case '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return i, s.fail(i, "bad escape in a string")
			}
			i += n - 1
		default:
			return i, s.fail(i, "control character in a string")
		}
	}
	return i, s.fail(i, "")
}

// escapeLen is the length of the escape at the start of b, 0 if it is none. Lone
// surrogates pass: the grammar allows them.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !isHex(c) {
				return 0
			}
		}
		return 6
	}
	return 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// number reads -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scanner) number(i int) (int, error) {
	if s.b[i] == '-' {
		i++
	}
	start := i
	if i = s.digits(i); i == start || s.b[start] == '0' && i-start > 1 {
		return i, s.fail(start, "bad number")
	}
	if i < len(s.b) && s.b[i] == '.' {
		start = i + 1
		if i = s.digits(start); i == start {
			return i, s.fail(i, "bad number")
		}
	}
	if i < len(s.b) && (s.b[i] == 'e' || s.b[i] == 'E') {
		if i++; i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
			i++
		}
		start = i
		if i = s.digits(start); i == start {
			return i, s.fail(i, "bad number")
		}
	}
	return i, nil
}

func (s *scanner) digits(i int) int {
	for i < len(s.b) && s.b[i] >= '0' && s.b[i] <= '9' {
		i++
	}
	return i
}

func (s *scanner) word(i int, w string) (int, error) {
	if len(s.b)-i < len(w) || string(s.b[i:i+len(w)]) != w {
		return i, s.fail(i, "expected a value")
	}
	return i + len(w), nil
}
