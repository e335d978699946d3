package metastore

import (
	"strconv"
	"strings"

	"piedmont/mounts"
)

// position is where a list goes on: behind a name, or where the source's token leads. The zero
// position is the beginning, or the end.
type position struct {
	after string
	token string
	empty int // pages without a name before it, in a row
	names int // that were listed before it
}

// What page tokens begin with.
const (
	afterToken  = "n" // and a name
	sourceToken = "s" // and two numbers and the source's token, with dots between
)

// String is the position as a page token.
func (p position) String() string {
	switch {
	case p.after != "":
		return afterToken + p.after
	case p.token != "":
		return sourceToken + strconv.Itoa(p.empty) + "." + strconv.Itoa(p.names) + "." + p.token
	}
	return ""
}

// parsePosition reads a page token. One that String didn't make is a BadRequest.
func parsePosition(op, s string) (position, error) {
	if s == "" {
		return position{}, nil
	}
	invalid := &mounts.Error{Kind: mounts.BadRequest, Op: op, Detail: "Invalid pageToken"}
	if after, ok := strings.CutPrefix(s, afterToken); ok {
		if (mounts.Namespace{after}).Validate() != nil {
			return position{}, invalid
		}
		return position{after: after}, nil
	}
	rest, ok := strings.CutPrefix(s, sourceToken)
	parts := strings.SplitN(rest, ".", 3)
	if !ok || len(parts) != 3 || parts[2] == "" || len(parts[2]) > maxToken {
		return position{}, invalid
	}
	empty, err := strconv.ParseUint(parts[0], 10, 31)
	if err != nil {
		return position{}, invalid
	}
	names, err := strconv.ParseUint(parts[1], 10, 31)
	if err != nil {
		return position{}, invalid
	}
	return position{token: parts[2], empty: int(empty), names: int(names)}, nil
}
