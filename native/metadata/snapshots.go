package metadata

import (
	"encoding/json"

	"piedmont/cache/rawjson"
)

// unindexed is how many snapshots may follow those in the index before a new index is
// made. Looking through a few is cheap, an index of 10,000 for each commit isn't.
const unindexed = 256

// snapshots says where in the text of a document's snapshots array each one lies. The
// offsets count from the array's start, so that a document whose array starts with the
// same bytes, as after adding snapshots, shares them. It never changes.
type snapshots struct {
	at    []span
	ids   []int64
	index map[int64]int // of the first len(index) snapshots
}

type span struct{ from, to int }

// snapshots finds the snapshots of d, once. The error is a BadRequest *mounts.Error.
func (d *Document) snapshots() (*snapshots, error) {
	if s := d.snaps.Load(); s != nil {
		return s, nil
	}
	text, _ := d.top.Get("snapshots")
	s, err := findSnapshots(text)
	if err != nil {
		return nil, err
	}
	d.snaps.Store(s) // whoever came second stores the same
	return s, nil
}

func findSnapshots(text json.RawMessage) (*snapshots, error) {
	s := &snapshots{}
	if rawjson.IsNull(text) {
		return s, nil
	}
	r := &reader{what: "table metadata"}
	offset := 1
	for i, e := range r.elements(text, "snapshots") {
		raw, _, err := rawjson.Member(e, "snapshot-id")
		id, ok := rawjson.Int(raw)
		if err != nil || !ok {
			r.fail("snapshots["+itoa(i)+"].snapshot-id", "expected an integer of 64 bits")
			break
		}
		offset = elementOffset(text, e, offset)
		s.at = append(s.at, span{offset, offset + len(e)})
		s.ids = append(s.ids, id)
		offset += len(e)
	}
	if r.err != nil {
		return nil, r.err
	}
	s.reindex()
	if len(s.index) != len(s.ids) {
		r.fail("snapshots", "two snapshots of the same id")
		return nil, r.err
	}
	return s, nil
}

// elementOffset is where e, the next element after offset, lies in text: behind white
// space and a comma.
func elementOffset(text, e json.RawMessage, offset int) int {
	for text[offset] != e[0] {
		offset++
	}
	return offset
}

func (s *snapshots) reindex() {
	s.index = make(map[int64]int, len(s.ids)+unindexed)
	for i, id := range s.ids {
		s.index[id] = i
	}
}

// find is the position of a snapshot, -1 where there is none.
func (s *snapshots) find(id int64) int {
	if i, ok := s.index[id]; ok {
		return i
	}
	for i := len(s.index); i < len(s.ids); i++ {
		if s.ids[i] == id {
			return i
		}
	}
	return -1
}

// snapshotEdit is the snapshots of a document and what a commit did to them.
type snapshotEdit struct {
	text    json.RawMessage // of the base
	base    *snapshots
	removed map[int64]bool // of the base
	added   []addedSnapshot
	at      map[int64]int // where in added
}

// addedSnapshot is a snapshot that a commit adds; raw is nil if it removed it again.
type addedSnapshot struct {
	id        int64
	timestamp int64
	raw       json.RawMessage
}

func (e *snapshotEdit) changed() bool { return len(e.removed)+len(e.added) > 0 }

func (e *snapshotEdit) add(s addedSnapshot) {
	e.at[s.id] = len(e.added)
	e.added = append(e.added, s)
}

func (e *snapshotEdit) findAdded(id int64) *addedSnapshot {
	if i, ok := e.at[id]; ok {
		return &e.added[i]
	}
	return nil
}

func (e *snapshotEdit) exists(id int64) bool {
	return e.findAdded(id) != nil || !e.removed[id] && e.base.find(id) >= 0
}

// remove takes a snapshot out and says whether it was there.
func (e *snapshotEdit) remove(id int64) bool {
	if s := e.findAdded(id); s != nil {
		s.raw = nil
		delete(e.at, id)
		return true
	}
	if e.removed[id] || e.base.find(id) < 0 {
		return false
	}
	e.removed[id] = true
	return true
}

// size is about how many bytes appendTo appends.
func (e *snapshotEdit) size() int {
	n := len(e.text) + 2
	for i := range e.added {
		n += len(e.added[i].raw) + 1
	}
	return n
}

// appendTo appends the array as it is after the commit, and says where in it the
// snapshots lie. What is kept is copied in one piece where nothing was removed.
func (e *snapshotEdit) appendTo(dst []byte) ([]byte, *snapshots) {
	start := len(dst)
	next := &snapshots{index: e.base.index}
	if len(e.removed) == 0 && len(e.base.at) > 0 {
		dst = append(dst, e.text[:e.base.at[len(e.base.at)-1].to]...)
		next.at = append(make([]span, 0, len(e.base.at)+len(e.added)), e.base.at...)
		next.ids = append(make([]int64, 0, len(e.base.ids)+len(e.added)), e.base.ids...)
	} else {
		dst = append(dst, '[')
		for i, id := range e.base.ids {
			if !e.removed[id] {
				dst = next.push(dst, start, id, e.text[e.base.at[i].from:e.base.at[i].to])
			}
		}
	}
	for i := range e.added {
		if e.added[i].raw != nil {
			dst = next.push(dst, start, e.added[i].id, e.added[i].raw)
		}
	}
	if len(e.removed) > 0 || len(next.ids)-len(next.index) > unindexed {
		next.reindex()
	}
	return append(dst, ']'), next
}

func (s *snapshots) push(dst []byte, start int, id int64, raw json.RawMessage) []byte {
	if len(s.ids) > 0 {
		dst = append(dst, ',')
	}
	from := len(dst) - start
	s.at = append(s.at, span{from, from + len(raw)})
	s.ids = append(s.ids, id)
	return append(dst, raw...)
}
