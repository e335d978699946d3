package mounts_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"piedmont/mounts"
)

func TestEveryKindHasAName(t *testing.T) {
	seen := map[string]bool{}
	for k := mounts.Internal; k <= mounts.Replayed; k++ {
		assert.NotEmpty(t, k.String(), "kind %d", k)
		assert.NotEqual(t, "unknown kind", k.String(), "kind %d", k)
		assert.False(t, seen[k.String()], "%s stands twice", k)
		seen[k.String()] = true
		assert.NotEmpty(t, (&mounts.Error{Kind: k}).Message())
	}
	assert.Equal(t, "unknown kind", (mounts.Replayed + 1).String(), "the last kind")
}

func TestMessage(t *testing.T) {
	for _, c := range []struct {
		e    mounts.Error
		want string
	}{
		{mounts.Error{}, "Internal error"},
		{mounts.Error{Kind: mounts.NoSuchNamespace, Name: "a.b"}, "Namespace does not exist: a.b"},
		{mounts.Error{Kind: mounts.NoSuchTable, Name: "a.t"}, "Table does not exist: a.t"},
		{mounts.Error{Kind: mounts.NoSuchView, Name: "a.v"}, "View does not exist: a.v"},
		{mounts.Error{Kind: mounts.NoSuchWarehouse, Name: "w"}, "Warehouse does not exist: w"},
		{mounts.Error{Kind: mounts.NamespaceNotEmpty, Name: "a"}, "Namespace a is not empty"},
		{mounts.Error{Kind: mounts.Unavailable, Name: "a", Other: "b"}, "Unavailable: a (b)"},
		{mounts.Error{Kind: mounts.Forbidden, Name: "{other}", Other: "o", Detail: "{name} and {other}"}, "{other} and o"},
		{mounts.Error{Kind: mounts.BadGateway, Err: errors.New("secret host")}, "Bad gateway"},
	} {
		assert.Equal(t, c.want, c.e.Message())
	}
}

func TestErrorIsForTheLog(t *testing.T) {
	cause := errors.New("connect to host")
	e := &mounts.Error{Kind: mounts.Unavailable, Op: "loadTable", Name: "a.t", Other: "m", Detail: "{name} is down", Err: cause}
	assert.Equal(t, "loadTable a.t m: unavailable: a.t is down: connect to host", e.Error())
	assert.Equal(t, "internal error", (&mounts.Error{}).Error())
	assert.ErrorIs(t, e, cause)
}

func TestKindOf(t *testing.T) {
	inner := &mounts.Error{Kind: mounts.NoSuchTable}
	wrapped := fmt.Errorf("load: %w", inner)
	outer := &mounts.Error{Kind: mounts.Unavailable, Err: wrapped}
	assert.Equal(t, mounts.NoSuchTable, mounts.KindOf(wrapped))
	assert.Equal(t, mounts.Unavailable, mounts.KindOf(outer), "the outermost counts")
	assert.Equal(t, mounts.Internal, mounts.KindOf(errors.New("plain")))
	assert.True(t, mounts.Is(wrapped, mounts.NoSuchTable))
	assert.False(t, mounts.Is(outer, mounts.NoSuchTable))
	assert.False(t, mounts.Is(errors.New("plain"), mounts.Internal), "no *Error")
	assert.False(t, mounts.Is(nil, mounts.Internal))
}
