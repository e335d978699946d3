package configs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxSecretBytes bounds what a ${file:} may hold.
const maxSecretBytes = 64 << 10

// interpolate replaces each ${env:NAME} and ${file:PATH} by what it stands for. An unset
// variable or a missing file is an error: an empty secret would be worse. A newline at
// the end of a file doesn't count. What was put in is not looked at again.
func interpolate(s, dir string) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		reference, after, closed := strings.Cut(rest, "}")
		kind, name, ok := strings.Cut(reference, ":")
		if !closed || !ok || name == "" {
			return "", errors.New("want ${env:NAME} or ${file:PATH}")
		}
		value, err := lookUp(kind, name, dir)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		s = after
	}
}

func lookUp(kind, name, dir string) (string, error) {
	switch kind {
	case "env":
		value, ok := os.LookupEnv(name)
		if !ok {
			return "", fmt.Errorf("the environment variable %s isn't set", name)
		}
		return value, nil
	case "file":
		return readSecret(name, dir)
	}
	return "", fmt.Errorf("unknown ${%s:…}: want ${env:NAME} or ${file:PATH}", kind)
}

func readSecret(name, dir string) (string, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("the file %s can't be read", name)
	case !info.Mode().IsRegular() || info.Size() > maxSecretBytes:
		return "", fmt.Errorf("the file %s is no regular file of at most 64 KiB", name)
	}
	value, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the file %s can't be read", name)
	}
	return strings.TrimRight(string(value), "\r\n"), nil
}
