package native

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"time"

	"piedmont/mounts"
	"piedmont/vend"
)

// What a key says, in its first byte. Everything of a mount is keyed by the mount's id,
// so moving a mount point moves no data.
//
//	n id NUL parent NUL level            a namespace
//	o id NUL namespace NUL name          a table or view: its pointer; one name for both
//	t id NUL namespace NUL name          the index of tables
//	v id NUL namespace NUL name          the index of views
//	l location / NUL id NUL object       where tables lie, of all mounts
//	k name                               token signing keys
//	r principal NUL key                  receipts of mutations
//	x expiry receipt                     when receipts may go, eight bytes, big-endian seconds
//	b                                    a restore of a backup that hasn't ended
//	d id NUL namespace NUL name NUL object   what became of a dropped table
//	e location / NUL id NUL object       where dropped tables lie, while they can be restored
//	u uuid                               tables whose files may be another's too
//	q id NUL time dropped                when something is to be done about a dropped table
//
// A namespace is its levels joined by 0x1F. Names hold no control characters, so no part
// can be taken for another, and the children of a namespace sort next to each other.
const (
	kindNamespace  = "n"
	kindObject     = "o"
	kindTable      = "t"
	kindView       = "v"
	kindLocation   = "l"
	kindSigningKey = "k"
	kindReceipt    = "r"
	kindExpiry     = "x"
	kindRestore    = "b"
	kindDropped    = "d"
	kindLeft       = "e"
	kindDue        = "q"
	kindAdopted    = "u"
)

const nul = "\x00"

var idPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// CheckID says what is wrong with a native mount's id: 1 to 63 small letters, digits,
// "_" and "-", the first a letter or digit.
func CheckID(id string) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf("a native mount's id is 1 to 63 letters a-z, digits, '_' and '-', the first a letter or digit")
	}
	return nil
}

// children is the prefix of all keys of a kind directly in a namespace.
func children(kind, id string, n mounts.Namespace) Key {
	return Key(kind + id + nul + n.Encode() + nul)
}

func namespaceKey(id string, n mounts.Namespace) Key {
	return children(kindNamespace, id, n.Parent()) + Key(n.Last())
}

func objectKey(id string, i mounts.Identifier) Key {
	return children(kindObject, id, i.Namespace) + Key(i.Name)
}

// listKey is the index entry of a table or view.
func listKey(t objectType, id string, i mounts.Identifier) Key {
	kind := kindTable
	if t == typeView {
		kind = kindView
	}
	return children(kind, id, i.Namespace) + Key(i.Name)
}

// droppedAs is the prefix of the records of tables dropped under a name.
func droppedAs(id string, i mounts.Identifier) Key {
	return children(kindDropped, id, i.Namespace) + Key(i.Name+nul)
}

// adoptedKey says of a table's uuid that the table was registered from a file. Its files are
// another's too: of the catalog it came from, of another name, of whoever unregistered it.
func adoptedKey(uuid string) Key { return Key(kindAdopted + strings.ToLower(uuid)) }

// dueKey is when something is to be done about a dropped table.
func dueKey(id string, at time.Time, dropped Key) Key {
	return dueOf(id) + Key(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()))) + dropped
}

// dueOf is the prefix of all that is to be done in a mount.
func dueOf(id string) Key { return Key(kindDue + id + nul) }

// inOrBelow is the prefix of the location keys of a kind of every table in or below a location.
func inOrBelow(kind string, l vend.Location) Key { return Key(kind + l.String() + "/") }

// at is the prefix of the location keys of a kind of the tables at exactly that location.
func at(kind, location string) Key { return Key(kind + location + "/" + nul) }

func locationKey(kind string, l vend.Location, id, object string) Key {
	return at(kind, l.String()) + Key(id+nul+object)
}

// above lists the locations around l, outermost first.
func above(l vend.Location) []string {
	s := l.String()
	start := strings.Index(s, "://") + len("://")
	var list []string
	for i := start; i < len(s); i++ {
		if s[i] == '/' && i > start && s[i-1] != '/' {
			list = append(list, s[:i])
		}
	}
	return list
}
