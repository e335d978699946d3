package hive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/thrift/lib/go/thrift"
)

// readSize is what is read from a connection at once.
const readSize = 16 << 10

var errTooLarge = errors.New("more bytes than the bound")

// carrier takes messages to a metastore.
type carrier interface {
	// send delivers one message whole, and says where its answer is to be read, of at most
	// limit bytes.
	send(ctx context.Context, message []byte, limit int64) (io.Reader, error)
}

// transport is what Thrift writes one call's message to and reads its answer from. In
// place of Thrift's own ones it bounds an answer's bytes (theirs bound single strings),
// remembers what went wrong below, which tells a broken connection from a broken answer,
// and knows whether more came than was asked for. Deadlines are not its concern: whoever
// gives up closes the connection.
type transport struct {
	to     carrier
	framed bool // each message is preceded by its length, which may be in several parts

	out   bytes.Buffer
	from  io.Reader // where the answer comes from
	in    *bufio.Reader
	frame uint32 // bytes left of the part that is being read
	limit int64  // of the answer
	left  int64  // bytes that may still come of it
	fault error  // the first failure of the carrier
}

var (
	_ thrift.TTransport     = (*transport)(nil)
	_ thrift.TRichTransport = (*transport)(nil)
)

func newTransport(to carrier, framed bool) *transport {
	t := &transport{to: to, framed: framed}
	t.in = bufio.NewReaderSize(limited{t}, readSize)
	return t
}

// begin makes ready for one call, whose answer has at most limit bytes.
func (t *transport) begin(limit int64) {
	t.out.Reset()
	t.frame, t.fault = 0, nil
	t.limit, t.left = limit, limit
}

// drained says whether nothing came behind the answer. If it did, the next call would take
// it for its own.
func (t *transport) drained() bool { return t.frame == 0 && t.in.Buffered() == 0 }

// Flush sends what was written.
func (t *transport) Flush(ctx context.Context) error {
	message := t.out.Bytes()
	if t.framed {
		if len(message) > math.MaxInt32 {
			return errTooLarge
		}
		message = append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(message)), uint32(len(message))), message...)
	}
	from, err := t.to.send(ctx, message, t.limit)
	t.out.Reset()
	if err != nil {
		t.fault = err
		return fmt.Errorf("send a message: %w", err)
	}
	t.from = from
	t.in.Reset(limited{t})
	return nil
}

// limited reads from the carrier, within what is left.
type limited struct{ t *transport }

func (l limited) Read(p []byte) (int, error) {
	t := l.t
	if t.left <= 0 {
		t.failed(errTooLarge)
		return 0, errTooLarge
	}
	p = p[:min(int64(len(p)), t.left)]
	n, err := t.from.Read(p)
	t.left -= int64(n)
	if err != nil {
		t.failed(err)
	}
	return n, err
}

func (t *transport) failed(err error) {
	if t.fault == nil {
		t.fault = err
	}
}

// next begins a part of a framed message where the one before has ended.
func (t *transport) next() error {
	for t.framed && t.frame == 0 {
		var head [4]byte
		if _, err := io.ReadFull(t.in, head[:]); err != nil {
			return err
		}
		t.frame = binary.BigEndian.Uint32(head[:])
		if int64(t.frame) > t.left+int64(t.in.Buffered()) {
			t.failed(errTooLarge)
			return errTooLarge
		}
	}
	return nil
}

// Read reads what is left of the answer.
func (t *transport) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := t.next(); err != nil {
		return 0, err
	}
	if t.framed {
		p = p[:min(uint32(len(p)), t.frame)]
	}
	n, err := t.in.Read(p)
	if t.framed {
		t.frame -= uint32(n)
	}
	return n, err
}

// ReadByte reads one byte of the answer.
func (t *transport) ReadByte() (byte, error) {
	if err := t.next(); err != nil {
		return 0, err
	}
	b, err := t.in.ReadByte()
	if err == nil && t.framed {
		t.frame--
	}
	return b, err
}

// Write adds to the message.
func (t *transport) Write(p []byte) (int, error) { return t.out.Write(p) }

// WriteByte adds to the message.
func (t *transport) WriteByte(b byte) error { return t.out.WriteByte(b) }

// WriteString adds to the message.
func (t *transport) WriteString(s string) (int, error) { return t.out.WriteString(s) }

// RemainingBytes is at most what may still come.
func (t *transport) RemainingBytes() uint64 { return uint64(t.left) + uint64(t.in.Buffered()) }

// Open does nothing: a transport is made of a connection.
func (t *transport) Open() error { return nil }

// IsOpen is true: what became of the connection shows when it is used.
func (t *transport) IsOpen() bool { return true }

// Close does nothing: the connection is its owner's.
func (t *transport) Close() error { return nil }
