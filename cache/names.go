package cache

// uuidLength is that of a UUID as text: 8-4-4-4-12 hexadecimal digits.
const uuidLength = 36

// Immutable says whether the metadata file at a location is never written again: its name
// carries a UUID. Others, like v1.metadata.json, may be. Every load asks, so it is no
// regular expression.
func Immutable(location string) bool {
	for i := len(location) - 1; i >= 0 && location[i] != '/'; i-- {
		if i+uuidLength <= len(location) && isUUID(location[i:i+uuidLength]) {
			return true
		}
	}
	return false
}

func isUUID(s string) bool {
	for i := range uuidLength {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if !isHex(s[i]) {
				return false
			}
		}
	}
	return true
}

func isHex(b byte) bool { return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F' }
