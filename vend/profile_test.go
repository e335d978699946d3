package vend_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/vend"
)

// memory is Files in a map, with a fault of choice.
type memory struct {
	mu     sync.Mutex
	files  map[string][]byte
	ignore bool  // overwrites instead of refusing
	spoil  bool  // reads back something else
	err    error // fails every Create
	unread error // answers every Read
	always bool  // has every file
	wrote  int   // counts what changes files
}

func (m *memory) Read(_ context.Context, l vend.Location, _ int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[l.String()]
	switch {
	case m.unread != nil:
		return nil, m.unread
	case m.always:
		return []byte("a page that says so"), nil
	case !ok:
		return nil, vend.NotFound(l, nil)
	}
	if m.spoil {
		return []byte("spoilt"), nil
	}
	return data, nil
}

func (m *memory) Create(_ context.Context, l vend.Location, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrote++
	if m.err != nil {
		return m.err
	}
	if _, ok := m.files[l.String()]; ok && !m.ignore {
		return vend.Exists(l, nil)
	}
	m.files[l.String()] = data
	return nil
}

func (m *memory) Delete(_ context.Context, l vend.Location) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrote++
	delete(m.files, l.String())
	return nil
}

func profile(t *testing.T, name, prefix string) *vend.Profile {
	t.Helper()
	return &vend.Profile{Name: name, Prefix: parse(t, prefix), Files: &memory{files: map[string][]byte{}}}
}

func TestSetFind(t *testing.T) {
	set, err := vend.NewSet("lake", profile(t, "all", "s3://b"), profile(t, "deep", "s3://b/x/y"), profile(t, "mid", "s3a://b/x/"), profile(t, "disk", "file:/wh"))
	require.NoError(t, err)
	for in, want := range map[string]string{
		"s3://b": "all", "s3://b/xy": "all", "s3a://b/x": "mid", "s3://b/x/z": "mid", "s3://b/x/yy": "mid",
		"s3://b/x/y/": "deep", "s3n://b/x/y/z": "deep", "file:///wh/t": "disk", "s3://b/x//y": "mid",
	} {
		p, l, err := set.Find(in)
		require.NoError(t, err, in)
		require.Equal(t, want, p.Name, in)
		require.Equal(t, in, l.Verbatim())
	}
	for _, in := range []string{"s3://c/t", "s3://bb", "file:///w", "file:///whx"} {
		_, _, err := set.Find(in)
		var e *mounts.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mounts.BadRequest, e.Kind)
		require.Equal(t, "Invalid location: "+in+" lies under no storage profile of mount 'lake'", e.Message())
	}
	_, _, err = set.Find("/wh/ch/")
	require.ErrorContains(t, err, "no scheme")
	require.Equal(t, "deep, disk, mid, all", set.String())
	set.Profiles()[0] = nil
	require.NotNil(t, set.Profiles()[0], "a set never changes")
}

func TestNewSetRefuses(t *testing.T) {
	a := profile(t, "a", "s3://b/x")
	for _, bad := range []*vend.Profile{
		profile(t, "", "s3://c"), profile(t, "a", "s3://c"), profile(t, "c", "s3a://b/x/"),
		{Name: "c", Files: a.Files},
		{Name: "c", Prefix: a.Prefix},
	} {
		_, err := vend.NewSet("lake", a, bad)
		require.ErrorContains(t, err, "mount lake")
	}
	empty, err := vend.NewSet("lake")
	require.NoError(t, err)
	_, _, err = empty.Find("s3://b/x")
	require.Equal(t, mounts.BadRequest, mounts.KindOf(err))
}

func TestCheck(t *testing.T) {
	p := profile(t, "p", "s3://b")
	m := p.Files.(*memory)
	require.NoError(t, vend.Check(t.Context(), p))
	require.Empty(t, m.files)

	m.ignore = true
	require.ErrorContains(t, vend.Check(t.Context(), p), "creating a file that exists should be refused")
	require.Empty(t, m.files, "the file of the check is gone")

	m.ignore, m.spoil = false, true
	require.ErrorContains(t, vend.Check(t.Context(), p), "reads back as something else")
	require.Empty(t, m.files)

	m.err = vend.Unavailable("create file", "p", "was refused access", errors.New("403"))
	err := vend.Check(t.Context(), p)
	require.ErrorContains(t, err, "create a file in storage profile p")
	require.True(t, mounts.Is(err, mounts.Unavailable))
}

func TestCheckRead(t *testing.T) {
	refused := vend.Refused("read file", "p", errors.New("403"))
	for _, c := range []struct {
		name, prefix string
		files        *memory
		want         string // empty: it passes
	}{
		{"an empty bucket", "s3://b", &memory{}, ""},
		{"a bucket that refuses", "s3://b", &memory{unread: refused}, "s3:ListBucket"},
		{"a disk that refuses", "file:///d", &memory{unread: refused}, "was refused access"},
		{"one that is down", "s3://b", &memory{unread: vend.Unavailable("read file", "p", "failed", nil)}, "'p' failed"},
		{"one that has every file", "s3://b", &memory{always: true}, "should answer that it is gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := vend.CheckRead(t.Context(), &vend.Profile{Name: "p", Prefix: parse(t, c.prefix), Files: c.files})
			require.Zero(t, c.files.wrote, "it only reads")
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			if c.want != "s3:ListBucket" {
				require.NotContains(t, err.Error(), "ListBucket", "no advice that doesn't help")
			}
		})
	}
}

func TestErrors(t *testing.T) {
	l, cause := parse(t, "s3a://b/t"), errors.New("host 10.0.0.1 said no")
	for _, c := range []struct {
		err     error
		kind    mounts.Kind
		message string
	}{
		{vend.NotFound(l, cause), mounts.NotFound, "Failed to open input stream for file: s3a://b/t"},
		{vend.Exists(l, cause), mounts.AlreadyExists, "File already exists: s3a://b/t"},
		{vend.Unavailable("read file", "lake", "failed", cause), mounts.Unavailable, "storage profile 'lake' failed"},
		{vend.Refused("read file", "lake", cause), mounts.Unavailable, "storage profile 'lake' was refused access"},
	} {
		var e *mounts.Error
		require.ErrorAs(t, c.err, &e)
		require.Equal(t, c.kind, e.Kind)
		require.Equal(t, c.message, e.Message())
		require.ErrorIs(t, c.err, cause)
	}
	require.ErrorIs(t, vend.TooLarge(l, 5), vend.ErrTooLarge)
	require.Equal(t, vend.ErrUnknown, vend.Outcome(vend.ErrUnknown, nil))
}
