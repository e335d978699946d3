package rest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"piedmont/mounts"
)

// maxToken bounds an upstream's page token, which goes to clients sealed and comes back in a
// URL.
const maxToken = 4 << 10

// position is where a list goes on. A client that follows tokens for ever would never know
// that they lead in a circle, so each carries what it takes to see that (Brent's algorithm):
// whatever the circle's length, it is seen within three times around.
type position struct {
	token string // the upstream's
	pages uint64 // that lead here
	mark  uint64 // the hash of the token behind the last number of pages that is a power of two

	last []uint64 // the hashes of the names that were listed last, at most maxLast
}

// maxLast is how many names a position remembers. An upstream whose pages begin at a number of
// entries repeats as many of a page on the next as came in before them meanwhile.
const maxLast = 8

// once leaves out what was listed last already, or stands before it on the same page.
func (p position) once(names []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		again := seen[name] || len(p.last) > 0 && slices.Contains(p.last, nameHash(name))
		seen[name] = true
		return again
	})
}

// nameHash stands for a name in tokens. Who may create a table could make one that hides another
// behind a weaker hash.
func nameHash(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.BigEndian.Uint64(sum[:])
}

// next is the page token behind a page of these names, once each, whose upstream gave that one;
// empty for none.
func (p position) next(token string, names []string) (string, error) {
	if token == "" {
		return "", nil
	}
	if len(token) > maxToken {
		return "", errors.New("the token of the next page is too long")
	}
	n := position{token: token, pages: p.pages + 1, mark: p.mark}
	h := fnv.New64a()
	_, _ = h.Write([]byte(token)) // never fails
	switch sum := h.Sum64(); {
	case token == p.token || p.pages > 0 && sum == p.mark:
		return "", errors.New("the tokens of its pages lead in a circle")
	case bits.OnesCount64(n.pages) == 1:
		n.mark = sum
	}
	n.last = slices.Clone(p.last)
	for _, name := range names[max(0, len(names)-maxLast):] {
		n.last = append(n.last, nameHash(name))
	}
	n.last = n.last[max(0, len(n.last)-maxLast):]
	return n.String(), nil
}

// String is the page token.
func (p position) String() string {
	numbers := strconv.FormatUint(p.mark, 36)
	for _, hash := range p.last {
		numbers += "-" + strconv.FormatUint(hash, 36)
	}
	return strconv.FormatUint(p.pages, 36) + "." + numbers + "." + p.token
}

// parsePosition reads a page token. One that next didn't make is a BadRequest.
func parsePosition(op, s string) (p position, err error) {
	if s == "" {
		return p, nil
	}
	invalid := &mounts.Error{Kind: mounts.BadRequest, Op: op, Detail: "Invalid pageToken"}
	parts := strings.SplitN(s, ".", 3)
	if len(parts) != 3 || parts[2] == "" || len(parts[2]) > maxToken {
		return p, invalid
	}
	p.token = parts[2]
	if p.pages, err = strconv.ParseUint(parts[0], 36, 63); err != nil || p.pages == 0 {
		return p, invalid
	}
	mark, last, more := strings.Cut(parts[1], "-")
	if p.mark, err = strconv.ParseUint(mark, 36, 64); err != nil {
		return p, invalid
	}
	for more {
		var hash string
		hash, last, more = strings.Cut(last, "-")
		n, err := strconv.ParseUint(hash, 36, 64)
		if err != nil || len(p.last) == maxLast {
			return p, invalid
		}
		p.last = append(p.last, n)
	}
	return p, nil
}
