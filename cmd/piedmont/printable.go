package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// printable is a text that others wrote as it may be shown: on one line, and without what a
// terminal obeys or nobody sees. That is written as in a Go string: \n, \x1b, \u202e.
func printable(text string) string {
	return escaped(text, func(raw string) string {
		quoted := strconv.Quote(raw)
		return quoted[1 : len(quoted)-1]
	})
}

// printableLines is printable for a text whose lines are ours.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n")
}

// printableName is a name as commands take it, with what isn't printable in percent signs and
// hexadecimal digits as well.
func printableName(name string) string {
	return escaped(name, func(raw string) string {
		var b strings.Builder
		for i := range len(raw) {
			fmt.Fprintf(&b, "%%%02X", raw[i])
		}
		return b.String()
	})
}

// escaped writes what isn't printable in another way.
func escaped(text string, escape func(raw string) string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		raw := text[i : i+size]
		if i += size; strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(raw)
		} else {
			b.WriteString(escape(raw))
		}
	}
	return b.String()
}

// levelsOf are those of a name as commands take it.
func levelsOf(name string) ([]string, error) {
	levels := strings.Split(name, ".")
	for i, level := range levels {
		var err error
		if levels[i], err = url.PathUnescape(level); err != nil {
			return nil, fmt.Errorf("the name %q: a percent sign is written %%25: %w", name, err)
		}
	}
	return levels, nil
}
