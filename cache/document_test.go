package cache_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/cache"
)

// tableMetadata is a document as Java writes it, of n snapshots and some refs.
func tableMetadata(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"format-version":2,"table-uuid":"0b0b1d9e-52f3-4b1c-9f3e-6b8a6a1e3c4d","location":"s3://bucket/wh/db/t","current-snapshot-id":`)
	fmt.Fprintf(&b, `%d,"refs":{"main":{"snapshot-id":%d,"type":"branch"}},"snapshots":[`, snapshot(n-1), snapshot(n-1))
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		x := snapshot(i)
		fmt.Fprintf(&b, `{"sequence-number":%d,"snapshot-id":%d,"timestamp-ms":%d,"summary":{"operation":"append","added-data-files":"%d","total-records":"%d"},`+
			`"manifest-list":"s3://bucket/wh/db/t/metadata/snap-%d-1-%x.avro","schema-id":0}`, i, x, 1700000000000+i*777, i%7, i*31, x, x/3)
	}
	b.WriteString(`],"metadata-log":[]}`)
	return b.Bytes()
}

func snapshot(i int) int64 { return int64(uint64(i+1) * 0x9e3779b97f4a7c15 >> 1) }

// noise is JSON that doesn't shrink.
func noise(t *testing.T, n int) []byte {
	b := make([]byte, n/2)
	_, err := rand.Read(b)
	require.NoError(t, err)
	h := []byte(hex.EncodeToString(b))
	for i := range h { // hexadecimal digits alone would shrink to half
		h[i] = " !#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~"[(int(h[i])*i*i+int(b[i/2]))%92]
	}
	return []byte(`{"a":"` + string(h) + `"}`)
}

func document(t testing.TB, raw string) *cache.Document {
	d, err := cache.NewDocument([]byte(raw))
	require.NoError(t, err, raw)
	return d
}

func TestNewDocument(t *testing.T) {
	for _, raw := range []string{`{}`, " {\"a\": 1}\n", `{"a":[{}]}`} {
		require.Equal(t, raw, string(document(t, raw).Raw()))
	}
	for _, raw := range []string{``, `[]`, `null`, `{`, `{}{}`, `{},"config":{}`, `{"a":1}}`, `{"a":"` + "\xff" + `"}`, `{} x`, `{"a":01}`} {
		_, err := cache.NewDocument([]byte(raw))
		require.Error(t, err, raw)
	}
	require.Equal(t, "{}", string(cache.TrustedDocument([]byte("{}")).Raw()))
}

func TestDeflated(t *testing.T) {
	for _, raw := range [][]byte{[]byte(`{}`), tableMetadata(1), tableMetadata(500), noise(t, 10_000), noise(t, 200_000)} {
		d := document(t, string(raw))
		blocks, crc := d.Deflated()
		require.Equal(t, crc32.ChecksumIEEE(raw), crc)
		require.NotEmpty(t, blocks)
		// Without a final block a reader gets everything, and then misses the end.
		got, err := io.ReadAll(flate.NewReader(bytes.NewReader(blocks)))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.True(t, bytes.Equal(raw, got))
		// At a byte border another block can follow.
		got, err = io.ReadAll(flate.NewReader(bytes.NewReader(append(bytes.Clone(blocks), 3, 0))))
		require.NoError(t, err)
		require.True(t, bytes.Equal(raw, got))
	}
}

func TestDeflatedIsMadeOnce(t *testing.T) {
	d := document(t, string(tableMetadata(200)))
	all := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i], _ = d.Deflated() })
	}
	wg.Wait()
	for _, blocks := range all {
		require.Same(t, &all[0][0], &blocks[0])
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { d.Deflated() }))
}

// Size must cover what is kept later, however badly it shrinks.
func TestSizeCoversAllForms(t *testing.T) {
	for _, raw := range [][]byte{[]byte(`{}`), tableMetadata(1), tableMetadata(500), noise(t, 100), noise(t, 1000), noise(t, 200_000)} {
		d := document(t, string(raw))
		size := d.Size()
		kept := 0
		refs, err := d.Refs()
		require.NoError(t, err)
		for _, form := range []*cache.Document{d, refs} {
			kept += len(form.Raw())
			if blocks, _ := form.Deflated(); testing.AllocsPerRun(10, func() { form.Deflated() }) == 0 {
				kept += len(blocks)
			}
		}
		require.LessOrEqual(t, int64(kept), size)
		require.Equal(t, size, d.Size())
	}
}

// one decodes exactly one gzip member and wants nothing behind it: readers of Python and
// Java that stop behind the first member have everything then.
func one(t *testing.T, packed []byte) []byte {
	t.Helper()
	in := bytes.NewReader(packed)
	r, err := gzip.NewReader(in)
	require.NoError(t, err)
	r.Multistream(false)
	plain, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Zero(t, in.Len(), "more than one member")
	return plain
}

func TestGzipMember(t *testing.T) {
	small, large, odd := document(t, `{}`), document(t, string(tableMetadata(300))), document(t, string(noise(t, 150_000)))
	long := bytes.Repeat([]byte("plain "), 40_000)
	for _, parts := range [][]any{
		{},
		{[]byte{}},
		{[]byte("x")},
		{large},
		{[]byte(`{"metadata":`), large, []byte(`,"config":{}}`)},
		{small, small, large, odd, small},
		{[]byte("["), odd, []byte(","), large, []byte(","), long, []byte("]")},
		{long, large, long},
	} {
		var want []byte
		var in []cache.Part
		for _, p := range parts {
			switch p := p.(type) {
			case []byte:
				want = append(want, p...)
				in = append(in, cache.Plain(p))
			case *cache.Document:
				want = append(want, p.Raw()...)
				in = append(in, cache.Packed(p))
			}
		}
		require.True(t, bytes.Equal(want, one(t, bytes.Join(cache.GzipMember(in...), nil))))
	}
	packed := bytes.Join(cache.GzipMember(cache.Plain([]byte(`{"metadata":`)), cache.Packed(large), cache.Plain([]byte(`}`))), nil)
	require.Less(t, len(packed), len(large.Raw())/3)
}

func TestRefsKeepsTheRest(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                           `{"a":1}`,
		`{"snapshots":null}`:                `{"snapshots":null}`,
		`{"snapshots":[]}`:                  `{"snapshots":[]}`,
		`{"snapshots":[{"snapshot-id":1}]}`: `{"snapshots":[]}`,
		"\n{ \"a\" : [] ,\t\"\\\"s}\": \"[{\\\\\", \"snapshots\" : [ {\"snapshot-id\": 1}, { \"snapshot-id\":2,\"x\":1.10 } ,{\"snapshot-id\":3}\n] , \"current-snapshot-id\":2}\n ": "\n{ \"a\" : [] ,\t\"\\\"s}\": \"[{\\\\\", \"snapshots\" : [{ \"snapshot-id\":2,\"x\":1.10 }] , \"current-snapshot-id\":2}\n ",
		`{"x":[{"snapshot-id":1}],"snapshots":[{"snapshot-id":1}],"refs":{}}`:                                                                                                        `{"x":[{"snapshot-id":1}],"snapshots":[],"refs":{}}`,
		`{"\u0073napshots":[{"snapshot-id":1},{"snapshot-id":2}],"refs":{"t":{"snapshot-id":2,"type":"tag"}}}`:                                                                       `{"\u0073napshots":[{"snapshot-id":2}],"refs":{"t":{"snapshot-id":2,"type":"tag"}}}`,
		// No float tells these two apart.
		`{"snapshots":[{"snapshot-id":9007199254740993},{"snapshot-id":9007199254740992}],"current-snapshot-id":9007199254740992}`:                            `{"snapshots":[{"snapshot-id":9007199254740992}],"current-snapshot-id":9007199254740992}`,
		`{"snapshots":[{"snapshot-id":1},{"snapshot-id":2},{"snapshot-id":3}],"current-snapshot-id":-1,"refs":{"b":{"snapshot-id":1},"c":{"snapshot-id":3}}}`: `{"snapshots":[{"snapshot-id":1},{"snapshot-id":3}],"current-snapshot-id":-1,"refs":{"b":{"snapshot-id":1},"c":{"snapshot-id":3}}}`,
		`{"snapshots":[{"snapshot-id":1},{"snapshot-id":2}],"current-snapshot-id":null,"refs":null}`:                                                          `{"snapshots":[],"current-snapshot-id":null,"refs":null}`,
	} {
		d := document(t, in)
		refs, err := d.Refs()
		require.NoError(t, err, in)
		require.Equal(t, want, string(refs.Raw()))
		require.Equal(t, in, string(d.Raw()), "the whole document stays")
		require.Equal(t, in == want, refs == d, "no second copy of the same")
		again, err := d.Refs()
		require.NoError(t, err)
		require.Same(t, refs, again)
		twice, err := refs.Refs()
		require.NoError(t, err)
		require.Same(t, refs, twice)
	}
}

func TestRefsRefuses(t *testing.T) {
	for _, bad := range []string{
		`{"snapshots":{}}`, `{"snapshots":[1]}`, `{"snapshots":[{}]}`, `{"snapshots":[{"snapshot-id":1.0}]}`, `{"snapshots":[{"snapshot-id":"1"}]}`,
		`{"snapshots":[{"snapshot-id":1}],"refs":[]}`, `{"snapshots":[{"snapshot-id":1}],"refs":{"a":{}}}`, `{"snapshots":[{"snapshot-id":1}],"refs":{"a":1}}`,
		`{"snapshots":[],"current-snapshot-id":1e3}`, `{"snapshots":[],"snapshots":[]}`, `{"snapshots":[{"snapshot-id":99999999999999999999}]}`,
	} {
		d := document(t, bad)
		_, err := d.Refs()
		require.Error(t, err, bad)
		require.True(t, strings.HasPrefix(err.Error(), "reduce snapshots to refs: "), err)
		_, again := d.Refs()
		require.Equal(t, err, again)
	}
}
