package vendtest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/vend"
)

func (s suite) read(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 5<<16)
	for _, data := range [][]byte{nil, {0}, []byte("{}\n"), big} {
		l := s.fresh(t)
		s.mustCreate(t, l, data)
		require.True(t, bytes.Equal(data, s.mustRead(t, l)), "%d bytes", len(data))
	}
}

func (s suite) readLimit(t *testing.T) {
	l := s.fresh(t)
	s.mustCreate(t, l, []byte("12345"))
	for limit, fits := range map[int64]bool{0: false, 4: false, 5: true, 6: true} {
		data, err := s.p.Files.Read(t.Context(), l, limit)
		if fits {
			require.NoError(t, err, limit)
			require.Equal(t, "12345", string(data))
			continue
		}
		require.ErrorIs(t, err, vend.ErrTooLarge, limit)
		require.False(t, mounts.Is(err, mounts.NotFound))
	}
}

func (s suite) absent(t *testing.T) {
	l := s.fresh(t)
	// Engines write other spellings of one location; messages repeat what was asked.
	other := strings.Replace(strings.Replace(l.String(), "s3://", "s3a://", 1), "file:///", "file:/", 1)
	spelled, err := vend.ParseLocation(other)
	require.NoError(t, err)
	_, err = s.p.Files.Read(t.Context(), spelled, enough)
	var e *mounts.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, mounts.NotFound, e.Kind)
	require.Equal(t, "Failed to open input stream for file: "+other, e.Message())

	s.mustCreate(t, l, []byte("x"))
	require.Equal(t, "x", string(s.mustRead(t, spelled)))
	s.isAbsent(t, s.at(t, strings.TrimPrefix(l.String(), s.p.Prefix.String()+"/")+"/below-a-file"))
	dir, _ := strings.CutSuffix(l.String(), "/00000-x.metadata.json")
	s.isAbsent(t, s.at(t, strings.TrimPrefix(dir, s.p.Prefix.String()+"/")))
}

func (s suite) names(t *testing.T) {
	names := []string{
		"plain", "with space", "é", "e\u0301", "日本", "🗻", "a+b", "a=b&c", "100%", "%41", "A", "a'b\"c", "a;b,c@d:e!$(f)[g]{h}|~^`",
		".hidden", "...", "trailing ", "-dash", strings.Repeat("long", 50),
	}
	base := strings.TrimPrefix(s.fresh(t).String(), s.p.Prefix.String()+"/")
	for _, name := range names {
		s.mustCreate(t, s.at(t, base+"-d/"+name), []byte(name))
	}
	for _, name := range names {
		require.Equal(t, name, string(s.mustRead(t, s.at(t, base+"-d/"+name))))
	}
	for _, name := range names {
		require.NoError(t, s.p.Files.Delete(t.Context(), s.at(t, base+"-d/"+name)))
		s.isAbsent(t, s.at(t, base+"-d/"+name))
	}
}

func (s suite) delete(t *testing.T) {
	l, neighbour := s.fresh(t), s.fresh(t)
	s.mustCreate(t, neighbour, []byte("stays"))
	require.NoError(t, s.p.Files.Delete(t.Context(), l), "deleting what never was")
	s.mustCreate(t, l, []byte("one"))
	require.NoError(t, s.p.Files.Delete(t.Context(), l))
	s.isAbsent(t, l)
	require.NoError(t, s.p.Files.Delete(t.Context(), l))
	s.mustCreate(t, l, []byte("two"))
	require.Equal(t, "two", string(s.mustRead(t, l)))

	dir, _ := strings.CutSuffix(l.String(), "/00000-x.metadata.json")
	require.NoError(t, s.p.Files.Delete(t.Context(), s.at(t, strings.TrimPrefix(dir, s.p.Prefix.String()+"/"))))
	require.Equal(t, "two", string(s.mustRead(t, l)), "deleting a directory deletes nothing")
	require.Equal(t, "stays", string(s.mustRead(t, neighbour)))
}

func (s suite) badLocations(t *testing.T) {
	prefix := s.p.Prefix.String()
	for _, bad := range []string{prefix, prefix + "/", prefix + "/t/", prefix + "x/t", prefix[:len(prefix)-1], "s3://elsewhere/t", "file:///elsewhere/t"} {
		l, err := vend.ParseLocation(bad)
		require.NoError(t, err, bad)
		_, readErr := s.p.Files.Read(t.Context(), l, enough)
		createErr := s.p.Files.Create(t.Context(), l, []byte("x"))
		require.ErrorIs(t, createErr, vend.ErrNotWritten)
		for _, err := range []error{readErr, createErr, s.p.Files.Delete(t.Context(), l)} {
			require.True(t, mounts.Is(err, mounts.BadRequest), "%s: %v", bad, err)
		}
		if st, ok := s.p.Files.(vend.Stater); ok {
			require.True(t, mounts.Is(st.Stat(t.Context(), l), mounts.BadRequest))
		}
	}
}

// oneOutcome says whether err wraps exactly one of what a Create can come to.
func oneOutcome(err error) bool {
	n := 0
	for _, outcome := range []error{vend.ErrExists, vend.ErrNotWritten, vend.ErrUnknown} {
		if errors.Is(err, outcome) {
			n++
		}
	}
	return n == 1
}
