// Package vendtest is the conformance suite of vend.Files. Each backend runs it.
package vendtest

import (
	"context"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/vend"
)

// Run checks everything that vend.Files promises. setup gives a profile whose prefix is
// empty and may be filled; it is called once.
func Run(t *testing.T, setup func(*testing.T) *vend.Profile) {
	s := suite{setup(t)}
	t.Run("Read", s.read)
	t.Run("ReadLimit", s.readLimit)
	t.Run("Absent", s.absent)
	t.Run("Names", s.names)
	t.Run("Create", s.create)
	t.Run("CreateExisting", s.createExisting)
	t.Run("CreateRace", s.createRace)
	t.Run("CreateIsWhole", s.createIsWhole)
	t.Run("Delete", s.delete)
	t.Run("BadLocations", s.badLocations)
	t.Run("EndedContext", s.endedContext)
	if st, ok := s.p.Files.(vend.Stater); ok {
		t.Run("Stat", func(t *testing.T) { s.stat(t, st) })
	}
	t.Run("Check", func(t *testing.T) { require.NoError(t, vend.Check(t.Context(), s.p)) })
}

const enough = 64 << 20

type suite struct{ p *vend.Profile }

// at is a location below the prefix.
func (s suite) at(t *testing.T, rel string) vend.Location {
	l, err := vend.ParseLocation(s.p.Prefix.String() + "/" + rel)
	require.NoError(t, err)
	return l
}

// fresh is a location that no other test uses.
func (s suite) fresh(t *testing.T) vend.Location {
	return s.at(t, "db/"+rand.Text()+"/metadata/00000-x.metadata.json")
}

func (s suite) mustCreate(t *testing.T, l vend.Location, data []byte) {
	require.NoError(t, s.p.Files.Create(t.Context(), l, data))
}

func (s suite) mustRead(t *testing.T, l vend.Location) []byte {
	data, err := s.p.Files.Read(t.Context(), l, enough)
	require.NoError(t, err)
	return data
}

func (s suite) isAbsent(t *testing.T, l vend.Location) {
	_, err := s.p.Files.Read(t.Context(), l, enough)
	require.True(t, mounts.Is(err, mounts.NotFound), "%v", err)
}

func (s suite) endedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := s.fresh(t)
	err := s.p.Files.Create(ctx, l, []byte("x"))
	require.ErrorIs(t, err, vend.ErrNotWritten)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
	s.isAbsent(t, l)

	s.mustCreate(t, l, []byte("x"))
	_, err = s.p.Files.Read(ctx, l, enough)
	require.True(t, mounts.Is(err, mounts.Unavailable), "%v", err)
	require.True(t, mounts.Is(s.p.Files.Delete(ctx, l), mounts.Unavailable))
	require.Equal(t, "x", string(s.mustRead(t, l)))
}

func (s suite) stat(t *testing.T, st vend.Stater) {
	l := s.fresh(t)
	require.True(t, mounts.Is(st.Stat(t.Context(), l), mounts.NotFound))
	s.mustCreate(t, l, nil)
	require.NoError(t, st.Stat(t.Context(), l))
	require.NoError(t, s.p.Files.Delete(t.Context(), l))
	require.True(t, mounts.Is(st.Stat(t.Context(), l), mounts.NotFound))
}
