package mounts_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

func TestHolderClosesWithTheLastRequest(t *testing.T) {
	old, kept, added := reading(), reading(), reading()
	var closed []string
	h := mounts.NewHolder(tree(t, at("old", old), at("kept", kept)), func(p *mounts.Point, err error) {
		require.NoError(t, err)
		closed = append(closed, p.Name())
	})
	first, second := h.Acquire(), h.Acquire()
	h.Swap(tree(t, at("moved", kept), at("added", added)))
	third := h.Acquire()
	assert.NotNil(t, third.Point("added"))
	assert.NotNil(t, first.Point("old"), "a request keeps its tree")
	first.Release()
	assert.Empty(t, closed)
	second.Release()
	assert.Equal(t, []string{"old"}, closed, "an unchanged mount is carried over")

	h.Close()
	assert.Nil(t, h.Acquire())
	assert.Equal(t, []string{"old"}, closed)
	third.Release()
	assert.ElementsMatch(t, []string{"old", "moved", "added"}, closed)
	for _, m := range []*readable{old, kept, added} {
		assert.EqualValues(t, 1, m.closed.Load())
	}
	h.Close()
	assert.Len(t, closed, 3, "closing again does nothing")
}

func TestHolderOneMountAtTwoPaths(t *testing.T) {
	m := reading()
	h := mounts.NewHolder(tree(t, at("a", m), at("b", m)), nil)
	h.Swap(tree(t, at("a", m)))
	assert.EqualValues(t, 0, m.closed.Load())
	h.Close()
	assert.EqualValues(t, 1, m.closed.Load())
}

func TestHolderSwapAfterClose(t *testing.T) {
	kept, added := reading(), reading()
	h := mounts.NewHolder(tree(t, at("a", kept)), nil)
	request := h.Acquire()
	h.Close()
	h.Swap(tree(t, at("a", kept), at("b", added)))
	assert.Nil(t, h.Acquire())
	assert.EqualValues(t, 1, added.closed.Load())
	assert.EqualValues(t, 0, kept.closed.Load(), "a request still uses it")
	request.Release()
	assert.EqualValues(t, 1, kept.closed.Load())
}

type unclosable struct{ *readable }

func (unclosable) Close() error { return errors.New("stuck") }

func TestHolderTellsOfErrors(t *testing.T) {
	var got error
	h := mounts.NewHolder(tree(t, at("a", unclosable{reading()})), func(_ *mounts.Point, err error) { got = err })
	h.Close()
	require.EqualError(t, got, "stuck")
}

// Readers never see a mount that is closed already, however swaps and requests meet.
func TestHolderUnderLoad(t *testing.T) {
	kept := reading()
	made := []*readable{reading()}
	h := mounts.NewHolder(tree(t, at("kept", kept), at("changing", made[0])), nil)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				in := h.Acquire()
				for _, p := range in.Points() {
					assert.EqualValues(t, 0, p.Mount.(*readable).closed.Load(), "closed while in use")
				}
				in.Release()
			}
		})
	}
	for range 300 {
		next := reading()
		made = append(made, next)
		h.Swap(tree(t, at("kept", kept), at("changing", next)))
	}
	close(stop)
	readers.Wait()
	for _, m := range made[:len(made)-1] {
		assert.EqualValues(t, 1, m.closed.Load())
	}
	assert.EqualValues(t, 0, kept.closed.Load())
	h.Close()
	assert.EqualValues(t, 1, kept.closed.Load())
}
