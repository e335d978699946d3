package rest

import (
	"sync"
	"time"
)

// underWay is the questions for tables and views that aren't answered yet, so that one that is
// answered late doesn't bring back what a later one has overtaken. What is in the cache doesn't
// tell: the later answer may have been an absence, or too large to be kept. It holds as many
// names as there are questions, which the guard bounds.
type underWay struct {
	mu      sync.Mutex // guards what is kept, too; never held while anybody is asked
	objects map[DocumentKey]*questions
}

// questions are those for one object that are under way.
type questions struct {
	count  int
	newest time.Time // when the question was sent, of those answered meanwhile the last
}

// object is the key of what is asked for in any form: a table that is absent is so in each.
func (k DocumentKey) object() DocumentKey {
	if k.form == refs {
		k.form = whole
	}
	return k
}

// begin is called before a question is sent, and what it returns once its answer is kept.
func (u *underWay) begin(key DocumentKey) (end func()) {
	key = key.object()
	u.mu.Lock()
	defer u.mu.Unlock()
	a := u.objects[key]
	if a == nil {
		if u.objects == nil {
			u.objects = map[DocumentKey]*questions{}
		}
		a = &questions{}
		u.objects[key] = a
	}
	a.count++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if a.count--; a.count == 0 {
			delete(u.objects, key)
		}
	}
}

// overtaken says whether a question for the object that was sent later is answered already. Else
// one that was sent at that time is the last that is.
func (u *underWay) overtaken(key DocumentKey, asked time.Time) bool {
	a := u.objects[key.object()]
	if a.newest.After(asked) {
		return true
	}
	a.newest = asked
	return false
}

// answered is when the question was sent that is the last to be answered while others for the
// object are under way; zero for none.
func (u *underWay) answered(key DocumentKey) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a := u.objects[key.object()]; a != nil {
		return a.newest
	}
	return time.Time{}
}

// keep keeps the answer to a question that is under way.
func (c *Catalog) keep(key DocumentKey, e *Entry) {
	c.underWay.mu.Lock()
	defer c.underWay.mu.Unlock()
	if !c.underWay.overtaken(key, e.asked) {
		c.documents.Add(key, e)
	}
}

// forget is keep for the answer that there is no such object.
func (c *Catalog) forget(key DocumentKey, asked time.Time) {
	c.underWay.mu.Lock()
	defer c.underWay.mu.Unlock()
	if c.underWay.overtaken(key, asked) {
		return
	}
	forms := []form{view}
	if key.form != view {
		forms = []form{whole, refs}
	}
	for _, key.form = range forms {
		c.documents.Remove(key)
	}
}
