package router

import (
	"bytes"
	"context"
	"net"
	"sync"
)

// Gather makes a listener whose connections can send an answer by one write. net/http hands
// a connection 4 KiB at a time, so an answer of 6 KiB, which is what most loads are, would take two: a
// system call more here, and a packet more for the client. ConnContext must go with it.
func Gather(l net.Listener) net.Listener { return gatherer{l} }

type gatherer struct{ net.Listener }

// Accept is that of the listener.
func (g gatherer) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		return &gathered{TCPConn: tcp}, nil
	}
	return c, err
}

// gatherBelow bounds an answer's body that is held back: behind it a write more or less
// doesn't matter.
const gatherBelow = 16 << 10

// maxHeld bounds what is held back, should a head not end.
const maxHeld = 2 * gatherBelow

var helds = sync.Pool{New: func() any { b := make([]byte, 0, maxHeld); return &b }}

// gathered is a connection that holds back an announced answer until it is whole. As with
// any connection of net/http one goroutine writes at a time.
type gathered struct {
	*net.TCPConn

	body int     // the length of the announced answer's body
	size int     // that of head and body; 0 until the head is known
	held *[]byte // what was written of it; nil while nothing is announced
}

type connKey struct{}

// ConnContext is an http.Server's: by it an answer finds its connection.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if g, ok := c.(*gathered); ok {
		return context.WithValue(ctx, connKey{}, g)
	}
	return ctx
}

// announce says that an answer with a body of that length follows, all of it.
func announce(ctx context.Context, body int) {
	g, ok := ctx.Value(connKey{}).(*gathered)
	if !ok || body == 0 || body > gatherBelow || g.held != nil {
		return
	}
	g.body, g.size = body, 0
	g.held = helds.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
	*g.held = (*g.held)[:0]
}

var endOfHead = []byte("\r\n\r\n")

// Write holds back what belongs to an announced answer, and sends it with its last byte.
func (g *gathered) Write(p []byte) (int, error) {
	if g.held == nil {
		return g.TCPConn.Write(p)
	}
	b := append(*g.held, p...)
	*g.held = b
	if g.size == 0 {
		if end := bytes.Index(b, endOfHead); end >= 0 {
			g.size = end + len(endOfHead) + g.body
		}
	}
	if len(b) < maxHeld && (g.size == 0 || len(b) < g.size) {
		return len(p), nil
	}
	_, err := g.TCPConn.Write(b)
	helds.Put(g.held)
	g.held = nil
	if err != nil {
		return 0, err
	}
	return len(p), nil
}
