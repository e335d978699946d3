package rest

import (
	"errors"
	"hash/fnv"
	"math/bits"
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
}

// next is the page token behind a page whose upstream gave that one; empty for none.
func (p position) next(token string) (string, error) {
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
	return strconv.FormatUint(n.pages, 36) + "." + strconv.FormatUint(n.mark, 36) + "." + n.token, nil
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
	if p.mark, err = strconv.ParseUint(parts[1], 36, 64); err != nil {
		return p, invalid
	}
	return p, nil
}
