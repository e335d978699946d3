package historytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// client asks for one thing at a time.
type client struct {
	h      *History
	id     int
	random *rand.Rand
	seen   [names]sighting // what it last saw under each name
}

// act does one thing, or two where the second needs a fresh look.
func (c *client) act() {
	name, replica := c.name(true), c.random.IntN(c.h.o.Replicas)
	switch n := c.random.IntN(100); {
	case n < 22:
		c.read(replica, operation{kind: load, name: name})
	case n < 26:
		c.read(replica, operation{kind: exists, name: name})
	case n < 31:
		c.read(replica, operation{kind: list})
	case n < 41:
		c.change(operation{kind: change, parts: []part{{does: creates, name: c.name(false)}}})
	case n < 59:
		c.change(operation{kind: change, parts: []part{c.part(appends, name)}})
	case n < 72:
		c.change(operation{kind: change, parts: []part{c.part(sets+does(c.random.IntN(2)), name)}})
	case n < 88:
		c.change(operation{kind: change, parts: c.transaction()})
	case n < 95:
		c.change(operation{kind: rename, name: name, to: c.other(name)})
	default:
		c.change(operation{kind: drop, name: name})
	}
}

// name is one by chance, often one that stands for a table as far as the client knows, or
// for none.
func (c *client) name(table bool) int {
	n := c.random.IntN(names)
	for range 3 {
		if (c.seen[n].uuid != "") == table {
			break
		}
		n = c.random.IntN(names)
	}
	return n
}

func (c *client) other(name int) int { return (name + 1 + c.random.IntN(names-1)) % names }

// part is a change to a table as the client knows it; often it looks before.
func (c *client) part(d does, name int) part {
	if c.random.IntN(10) < 7 || c.seen[name].uuid == "" {
		c.read(c.random.IntN(c.h.o.Replicas), operation{kind: load, name: name})
	}
	if d != sets && c.seen[name].uuid == "" {
		d = creates // there was none
	}
	return part{does: d, name: name, seen: c.seen[name]}
}

// transaction changes two tables; one of them may be made by it, or may only have to stay
// as it is.
func (c *client) transaction() []part {
	first := c.name(true)
	var parts []part
	for i, name := range []int{first, c.other(first)} {
		d := []does{appends, appends, sets, setsSeen, creates, asserts}[c.random.IntN(5+i)]
		if d == creates {
			parts = append(parts, part{does: d, name: name})
			continue
		}
		parts = append(parts, c.part(d, name))
	}
	return parts
}

// read asks for something that changes nothing. Unless it is answered nothing is known.
// At the end of a history it has to be.
func (c *client) read(replica int, o operation) {
	atEnd := c.id == c.h.o.Clients
	for deadline := time.Now().Add(readFor); ; time.Sleep(20 * time.Millisecond) {
		call := c.h.now()
		status, answer, err := c.send(context.Background(), replica, o)
		switch {
		case err == nil && status < http.StatusInternalServerError:
			c.h.record(c.id, call, o, c.judge(o, status, answer))
			return
		case err == nil && status != http.StatusServiceUnavailable:
			c.h.Broken("%s was answered %d %s", o, status, answer)
			return
		case !atEnd:
			return
		case time.Now().After(deadline):
			c.h.Broken("%s isn't answered, though nothing is broken any more: %d %s %v", o, status, answer, err)
			return
		}
	}
}

// change asks for a change. Some changes are sent under an Idempotency-Key: these are sent
// again, to any replica, until it is known what became of them.
func (c *client) change(o operation) {
	o.id = c.h.newID()
	if c.random.IntN(5) < 2 {
		o.key = c.key()
	}
	var out outcome
	call, open := c.h.now(), false
	for tries := 1; ; tries++ {
		var sent bool
		out, sent = c.try(o)
		open = open || sent && out.result == unknown
		decided := out.result == done || out.result == refused || !open
		if out.tries = tries; o.key == "" || decided || c.h.now()-call > resolveFor.Nanoseconds() {
			if !sent && !open {
				return
			}
			break
		}
		time.Sleep(time.Duration(10+c.random.IntN(40)) * time.Millisecond)
	}
	if open && out.result == notApplied {
		out.result = unknown // the last try wasn't, but an earlier one may be
	}
	c.h.record(c.id, call, o, out)
	if o.key != "" && out.result == done && c.random.IntN(4) == 0 {
		c.again(o, out)
	}
}

// again sends a change that was acknowledged once more under its key: that changes
// nothing, and is answered as the first time.
func (c *client) again(o operation, first outcome) {
	out, sent := c.try(o)
	if sent && (out.result == refused || out.result == done && out.seen != first.seen) {
		c.h.Broken("%s: %s, and sent again under its key: %s", o, first, out)
	}
}

// key is a UUID that this seed makes.
func (c *client) key() string {
	var b [16]byte
	for i := range b {
		b[i] = byte(c.random.Uint32())
	}
	b[6], b[8] = 0x40|b[6]&0x0f, 0x80|b[8]&0x3f
	return uuid.UUID(b).String()
}

// try sends a change once. Some clients leave while it is under way.
func (c *client) try(o operation) (out outcome, sent bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if c.random.IntN(100) < c.h.o.Impatience {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.random.IntN(8_000))*time.Microsecond)
		defer cancel()
	}
	status, answer, err := c.send(ctx, c.random.IntN(c.h.o.Replicas), o)
	switch {
	case errors.Is(err, ErrNotSent):
		return outcome{result: notApplied}, false
	case err != nil:
		return outcome{result: unknown}, true
	case status == http.StatusServiceUnavailable:
		return outcome{result: notApplied}, true
	case status >= http.StatusInternalServerError:
		return outcome{result: unknown}, true
	}
	return c.judge(o, status, answer), true
}

func (c *client) send(ctx context.Context, replica int, o operation) (int, []byte, error) {
	method, path, body := o.request(c.h.o.Namespace)
	var encoded []byte
	if body != nil {
		var err error
		if encoded, err = json.Marshal(body); err != nil {
			return 0, nil, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
	}
	return c.h.o.Send(ctx, replica, method, path, o.key, encoded)
}

// judge reads an answer that leaves nothing open.
func (c *client) judge(o operation, status int, answer []byte) outcome {
	if status >= http.StatusBadRequest {
		why, err := refusal(status, answer)
		if err != nil {
			c.h.Broken("%s: %v", o, err)
		}
		if o.kind == load {
			c.seen[o.name] = sighting{}
		}
		return outcome{result: refused, why: why}
	}
	switch {
	case o.kind == list:
		all, err := readList(answer)
		if err != nil {
			c.h.Broken("%s: %v", o, err)
		}
		return outcome{seen: all}
	case o.kind == load, o.kind == change && len(o.parts) == 1:
		t, seen, err := readTable(answer)
		if err == nil {
			err = c.h.identify(seen)
		}
		if err != nil {
			c.h.Broken("%s: %v", o, err)
		}
		name := o.name
		if o.kind == change {
			name = o.parts[0].name
		}
		c.seen[name] = seen
		return outcome{seen: t.String()}
	}
	return outcome{blind: true}
}
