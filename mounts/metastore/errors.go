package metastore

import (
	"context"
	"errors"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

// fail is the error of an operation on an object: nil stays nil, an error of the source or the
// guard keeps its kind and words. The detail names the mount and the object, never the source's
// host or words.
func (c *Catalog) fail(op, name string, err error) error {
	var e *mounts.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		named := *e
		named.Op, named.Name, named.Detail = op, name, guard.About(e.Detail, name)
		if named.Kind == mounts.Forbidden { // the guard has judged it: the source is well
			named.Kind = mounts.Unavailable // whether the object is there isn't known
		}
		if err != error(e) { //nolint:errorlint // whether something is wrapped around it
			named.Err = err
		}
		return &named
	case errors.Is(err, context.Canceled):
		return c.error(mounts.Unavailable, op, name, "was not waited for: the request was given up", err)
	case errors.Is(err, context.DeadlineExceeded):
		return c.error(mounts.Timeout, op, name, "did not answer in time", err)
	}
	return c.error(mounts.Internal, op, name, "could not be asked: a fault in this server", err)
}

// broken is an answer that no metastore should give.
func (c *Catalog) broken(op, name, text string) error {
	return c.error(mounts.BadGateway, op, name, text, nil)
}

func (c *Catalog) error(kind mounts.Kind, op, name, text string, cause error) error {
	return &mounts.Error{Kind: kind, Op: op, Name: name, Detail: guard.About("The catalog behind "+c.mount+" "+text, name), Err: cause}
}
