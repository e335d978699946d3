package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/configs"
	"piedmont/native"
	"piedmont/native/bolt"
)

// servedRegistry serves a registry at a socket, and is what asks there.
func servedRegistry(t *testing.T, r native.Registry) *serversRegistry {
	t.Helper()
	data := t.TempDir()
	c := newControl(&gateway{log: quiet(), registry: r})
	controlled(t, data, c, map[string]func(http.ResponseWriter, *http.Request) error{
		"GET " + recordPath: c.readRecord, "GET " + recordsPath: c.readRecords,
	})
	return openServersRegistry(configs.Config{Data: data})
}

// TestRegistryOfAServer: what is asked through the socket is what there is, byte for byte.
func TestRegistryOfAServer(t *testing.T) {
	file, err := bolt.Open(filepath.Join(t.TempDir(), "registry.db"), bolt.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	var changes []native.Change
	for _, key := range []native.Key{"a", "a\x00b", "a\x00b&c=d%20+e", "a\xff\xfe\x00", "b\x1f\n\"ü", native.Key(bytes.Repeat([]byte{0xff}, native.MaxKeyBytes))} {
		changes = append(changes, native.Change{Key: key, Value: []byte("value of " + key), Version: native.NewVersion()})
	}
	for i := range 30 {
		changes = append(changes, native.Change{Key: native.Key(fmt.Sprintf("large%02d", i)), Value: bytes.Repeat([]byte{0, 0xff}, 100_000), Version: native.NewVersion()})
	}
	changes = append(changes, native.Change{Key: "nothing", Version: native.NewVersion()})
	require.NoError(t, file.Commit(t.Context(), nil, changes))

	asked := servedRegistry(t, file)
	for _, change := range append(changes, native.Change{Key: "none"}) {
		want, there, err := file.Get(t.Context(), change.Key)
		require.NoError(t, err)
		got, ok, err := asked.Get(t.Context(), change.Key)
		require.NoError(t, err)
		require.Equal(t, there, ok, "%q", change.Key)
		assert.Equal(t, want.Key, got.Key)
		assert.Equal(t, want.Version, got.Version)
		assert.True(t, bytes.Equal(want.Value, got.Value), "the value of %q", change.Key)
	}
	for _, s := range []struct {
		prefix, after native.Key
		limit         int
	}{{"", "", 0}, {"a", "", 10}, {"a", "a\x00b", 2}, {"large", "large03", 7}, {"\xff", "", 1}, {"none", "", 5}} {
		want, err := file.Scan(t.Context(), s.prefix, s.after, s.limit)
		require.NoError(t, err)
		got, err := asked.Scan(t.Context(), s.prefix, s.after, s.limit)
		require.NoError(t, err)
		require.Len(t, got, len(want), "%+v", s)
		for i := range want {
			assert.Equal(t, want[i].Key, got[i].Key)
			assert.Equal(t, want[i].Version, got[i].Version)
			assert.True(t, bytes.Equal(want[i].Value, got[i].Value))
		}
	}
	require.ErrorIs(t, asked.Commit(t.Context(), nil, []native.Change{{Key: "a", Delete: true}}), native.ErrNotApplied)
	_, ok, err := file.Get(t.Context(), "a")
	require.NoError(t, err)
	assert.True(t, ok)
	require.NoError(t, asked.Close())
}

// sick is a registry that fails, or says nothing until it isn't asked any more.
type sick struct {
	native.Registry
	err   error
	asked chan struct{}
	left  chan struct{}
}

func (s *sick) wait(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	close(s.asked)
	<-ctx.Done()
	close(s.left)
	return ctx.Err()
}

func (s *sick) Get(ctx context.Context, _ native.Key) (native.Record, bool, error) {
	return native.Record{}, false, s.wait(ctx)
}

func (s *sick) Scan(ctx context.Context, _, _ native.Key, _ int) ([]native.Record, error) {
	return nil, s.wait(ctx)
}

// TestSickRegistryOfAServer: an error is none of nothing, and who leaves isn't waited for.
func TestSickRegistryOfAServer(t *testing.T) {
	r := servedRegistry(t, &sick{err: errors.New("the disk is gone")})
	_, _, err := r.Get(t.Context(), "a")
	require.EqualError(t, err, "the disk is gone")
	_, err = r.Scan(t.Context(), "a", "", 1)
	require.EqualError(t, err, "the disk is gone")

	for name, ask := range map[string]func(context.Context, native.Registry) error{
		"get": func(ctx context.Context, r native.Registry) error {
			_, _, err := r.Get(ctx, "a")
			return err
		},
		"scan": func(ctx context.Context, r native.Registry) error {
			_, err := r.Scan(ctx, "a", "", 1)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			slow := &sick{asked: make(chan struct{}), left: make(chan struct{})}
			r := servedRegistry(t, slow)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-slow.asked
				cancel()
			}()
			require.ErrorIs(t, ask(ctx, r), context.Canceled)
			<-slow.left
		})
	}
}

// TestAnswerThatWasNotAskedFor: a record too many, of another key, before or below another place, out
// of order, twice, or none at all is believed as little as the others beside it.
func TestAnswerThatWasNotAskedFor(t *testing.T) {
	get := func(r native.Registry) error {
		_, _, err := r.Get(t.Context(), "a1")
		return err
	}
	scan := func(after native.Key, limit int) func(native.Registry) error {
		return func(r native.Registry) error {
			_, err := r.Scan(t.Context(), "a", after, limit)
			return err
		}
	}
	for name, c := range map[string]struct {
		ask    func(native.Registry) error
		format string
		keys   string
		want   error
	}{
		"one":                   {get, "1", "a1", nil},
		"none":                  {get, "1", "", nil},
		"another":               {get, "1", "a2", errNotAsked},
		"two":                   {get, "1", "a1 a2", errNotAsked},
		"a page":                {scan("", 2), "1", "a1 a2", nil},
		"the rest of one":       {scan("a1", 2), "1", "a2", nil},
		"without a limit":       {scan("", 0), "1", "a a1 a2 a3", nil},
		"over the limit":        {scan("", 2), "1", "a1 a2 a3", errNotAsked},
		"over all limits":       {scan("", 0), "1", strings.Repeat("a", native.MaxScan+1), errNotAsked},
		"of another prefix":     {scan("", 2), "1", "a1 b1", errNotAsked},
		"before the place":      {scan("a2", 2), "1", "a1", errNotAsked},
		"at the place":          {scan("a2", 2), "1", "a2", errNotAsked},
		"out of order":          {scan("", 5), "1", "a2 a1", errNotAsked},
		"twice":                 {scan("", 5), "1", "a1 a1", errNotAsked},
		"nothing of a record's": {scan("", 5), "1", "{}", errNotAsked},
		"of no version":         {scan("", 5), "1", `{"key":"YTE="}`, errNotAsked},
		"of a newer format":     {scan("", 5), "2", "a1", errOtherFormat},
		"of no format":          {get, "", "", errOtherFormat},
	} {
		t.Run(name, func(t *testing.T) {
			client := answeredBy(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(formatHeader, c.format)
				keys := strings.Fields(c.keys)
				if len(c.keys) > native.MaxScan {
					keys = nil
					for i := range c.keys {
						keys = append(keys, fmt.Sprintf("a%05d", i))
					}
				}
				lines := json.NewEncoder(w)
				for _, key := range keys {
					if strings.HasPrefix(key, "{") {
						_, _ = io.WriteString(w, key)
						continue
					}
					_ = lines.Encode(recordLine{[]byte(key), []byte("v"), native.NewVersion()}) // who asked may have heard enough
				}
			})
			err := c.ask(&serversRegistry{client})
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
		})
	}
}

// TestRegistryAnswerBreaksOff: what comes before isn't taken for all there is.
func TestRegistryAnswerBreaksOff(t *testing.T) {
	data := t.TempDir()
	c := newControl(&gateway{log: quiet()})
	record := native.Record{Key: "a", Value: []byte("b"), Version: native.NewVersion()}
	half := func(then func() error) func(http.ResponseWriter, *http.Request) error {
		return func(w http.ResponseWriter, _ *http.Request) error {
			return errors.Join(writeRecords(w, record), http.NewResponseController(w).Flush(), then())
		}
	}
	controlled(t, data, c, map[string]func(http.ResponseWriter, *http.Request) error{
		"GET " + recordPath:  half(func() error { panic(http.ErrAbortHandler) }), // as if the server were killed
		"GET " + recordsPath: half(func() error { return errors.New("the rest is gone") }),
	})
	r := openServersRegistry(configs.Config{Data: data})
	_, _, err := r.Get(t.Context(), "a")
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = r.Scan(t.Context(), "a", "", 5)
	require.EqualError(t, err, "the rest is gone")
	_, _, err = openServersRegistry(configs.Config{Data: t.TempDir()}).Get(t.Context(), "a")
	require.ErrorContains(t, err, "a server has the registry, or had it until it was stopped: that process takes no admin commands")
}
