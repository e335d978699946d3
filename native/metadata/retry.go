package metadata

import "piedmont/cache/rawjson"

// AlreadyIn says whether d shows everything the commit asks for: it is what the commit
// led to when the client, which didn't hear of it, sends it again. Then the answer is
// success, though a requirement like "main is at the parent" no longer holds.
//
// It is so if the commit adds snapshots, the table is the one it means, each snapshot
// is there with the same content, and the other updates would change nothing: the refs
// point where the commit wants them. Commits that add no snapshot can't be told from
// another client's; for these it is false.
func (c *Commit) AlreadyIn(d *Document) bool {
	for _, q := range c.Requirements {
		if q, ok := q.(assertTableUUID); ok && q.check(d) != nil {
			return false
		}
	}
	var rest []Update
	found := false
	for _, u := range c.Updates {
		s, ok := u.(addSnapshot)
		if !ok {
			rest = append(rest, u)
			continue
		}
		if !d.hasSnapshot(s) {
			return false
		}
		found = true
	}
	if !found {
		return false
	}
	_, changed, err := d.Apply(rest, Options{})
	return err == nil && !changed
}

// hasSnapshot says whether d has that snapshot, with the same content.
func (d *Document) hasSnapshot(u addSnapshot) bool {
	snaps, err := d.snapshots()
	if err != nil {
		return false
	}
	i := snaps.find(u.id)
	if i < 0 {
		return false
	}
	text, _ := d.top.Get("snapshots")
	have, err := rawjson.ParseTree(text[snaps.at[i].from:snaps.at[i].to], rawjson.MaxDepth)
	if err != nil {
		return false
	}
	want, err := rawjson.ParseTree(u.raw, rawjson.MaxDepth)
	return err == nil && identityOf(have).full == identityOf(want).full
}
