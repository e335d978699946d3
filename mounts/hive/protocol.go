package hive

import (
	"context"
	"errors"

	"github.com/apache/thrift/lib/go/thrift"
)

const (
	// maxElements bounds the elements of all lists, sets and maps of one answer together.
	// Package metastore takes a million names. Generated code takes memory for as many as a
	// list says it has, up to 24 bytes each, before it reads one.
	maxElements = 1 << 20
	// maxEntries bounds one map. They are parameters; a metastore's database holds each in a
	// row of its own.
	maxEntries = 1 << 16
)

var errTooMany = thrift.NewTProtocolExceptionWithType(thrift.SIZE_LIMIT, errors.New("more elements than the bound"))

// protocol is Thrift's binary protocol with a bound on what lists, sets and maps say they
// hold: a few bytes can claim millions of elements that never come.
type protocol struct {
	*thrift.TBinaryProtocol
	left int
}

func newProtocol(t *transport, config *thrift.TConfiguration) *protocol {
	return &protocol{TBinaryProtocol: thrift.NewTBinaryProtocolConf(t, config)}
}

func (p *protocol) take(size, most int) error {
	if size > min(p.left, most) {
		return errTooMany
	}
	p.left -= size
	return nil
}

// ReadMessageBegin begins an answer.
func (p *protocol) ReadMessageBegin(ctx context.Context) (string, thrift.TMessageType, int32, error) {
	p.left = maxElements
	return p.TBinaryProtocol.ReadMessageBegin(ctx)
}

// ReadListBegin begins a list.
func (p *protocol) ReadListBegin(ctx context.Context) (thrift.TType, int, error) {
	of, size, err := p.TBinaryProtocol.ReadListBegin(ctx)
	if err == nil {
		err = p.take(size, maxElements)
	}
	return of, size, err
}

// ReadSetBegin begins a set.
func (p *protocol) ReadSetBegin(ctx context.Context) (thrift.TType, int, error) {
	of, size, err := p.TBinaryProtocol.ReadSetBegin(ctx)
	if err == nil {
		err = p.take(size, maxElements)
	}
	return of, size, err
}

// ReadMapBegin begins a map.
func (p *protocol) ReadMapBegin(ctx context.Context) (key, value thrift.TType, size int, err error) {
	key, value, size, err = p.TBinaryProtocol.ReadMapBegin(ctx)
	if err == nil {
		err = p.take(size, maxEntries)
	}
	return key, value, size, err
}
