package vendtest

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/vend"
)

func (s suite) create(t *testing.T) {
	l := s.fresh(t)
	data := []byte("mine")
	s.mustCreate(t, l, data)
	copy(data, "gone")
	require.Equal(t, "mine", string(s.mustRead(t, l)), "Create kept the caller's memory")
}

func (s suite) createExisting(t *testing.T) {
	l := s.fresh(t)
	s.mustCreate(t, l, []byte("first"))
	for _, data := range []string{"second, longer", "first", ""} {
		err := s.p.Files.Create(t.Context(), l, []byte(data))
		require.ErrorIs(t, err, vend.ErrExists)
		require.True(t, oneOutcome(err))
		require.True(t, mounts.Is(err, mounts.AlreadyExists), "%v", err)
		require.Equal(t, "first", string(s.mustRead(t, l)))
	}
}

// createRace lets many create one name: one of them must succeed, no more.
func (s suite) createRace(t *testing.T) {
	const writers = 8
	for range 3 {
		l := s.fresh(t)
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				errs[i] = s.p.Files.Create(t.Context(), l, bytes.Repeat([]byte{byte('a' + i)}, 1000+i))
			})
		}
		wg.Wait()
		winner := -1
		for i, err := range errs {
			if err == nil {
				require.Equal(t, -1, winner, "two created one file")
				winner = i
				continue
			}
			require.ErrorIs(t, err, vend.ErrExists)
		}
		require.NotEqual(t, -1, winner, "nobody created the file")
		require.Equal(t, bytes.Repeat([]byte{byte('a' + winner)}, 1000+winner), s.mustRead(t, l))
	}
}

// createIsWhole reads a large file while it is being made: all of it or nothing.
func (s suite) createIsWhole(t *testing.T) {
	data := bytes.Repeat([]byte("metadata"), 1<<18)
	for range 3 {
		l := s.fresh(t)
		done := make(chan error, 1)
		go func() { done <- s.p.Files.Create(t.Context(), l, data) }()
		for created := false; !created; {
			select {
			case err := <-done:
				require.NoError(t, err)
				created = true
			default:
			}
			got, err := s.p.Files.Read(t.Context(), l, enough)
			if mounts.Is(err, mounts.NotFound) && !created {
				continue
			}
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got), "%d bytes of a half file", len(got))
		}
	}
}
