package hive

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	hms "github.com/beltran/gohive/hive_metastore"

	"piedmont/mounts/guard"
)

// The most bytes of one answer.
const (
	maxList   = 64 << 20 // all names of a database or a metastore; package metastore takes no more
	maxObject = 32 << 20 // one database or table, columns and parameters included
)

// asked is one call of a metastore's.
type asked[T any] func(context.Context, *hms.ThriftHiveMetastoreClient) (T, error)

// ask makes one call, whose answer has at most limit bytes, on a connection that nobody
// else uses meanwhile. When the context ends the connection is closed under it, so that it
// returns at once. Errors are the metastore's own exceptions, or name what went wrong.
func ask[T any](ctx context.Context, s *Source, limit int64, question asked[T]) (T, error) {
	return askOver(ctx, s.pool, limit, question)
}

// askOver is ask over the connections of a pool.
func askOver[T any](ctx context.Context, p *pool, limit int64, question asked[T]) (answer T, err error) {
	c, err := p.take(ctx)
	if err != nil {
		return answer, err
	}
	c.transport.begin(limit)
	stop := context.AfterFunc(ctx, c.close)
	answer, err = call(ctx, c, func(ctx context.Context) (T, error) { return question(ctx, c.client) })
	intact := stop()
	switch {
	case err != nil && !said(err):
		// A caller who gave up says nothing about the metastore.
		p.drop(c, !errors.Is(ctx.Err(), context.Canceled))
	case intact && c.transport.drained():
		p.give(c)
	default:
		p.drop(c, false)
	}
	return answer, err
}

// some makes an error of an answer without a result, which generated code has no error for.
func some[T any](result *T, err error) (*T, error) {
	if err == nil && result == nil {
		err = errNoResult
	}
	return result, err
}

// call asks and names what went wrong. Generated code is not made for answers that are
// wrong on purpose: where it panics the answer is to blame.
func call[T any](ctx context.Context, c *session, question func(context.Context) (T, error)) (answer T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = guard.Broken("gave an answer that no metastore gives", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	answer, err = question(ctx)
	if err != nil && !said(err) {
		err = c.ended(ctx, err)
	}
	return answer, err
}
