package cache

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCombine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 4, 7, 8, 9, 255, 256, 65535, 65536, 1_000_003} {
		for _, m := range []int{0, 1, 5, 64, 100_000} {
			b := make([]byte, m+n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			first, second := crc32.ChecksumIEEE(b[:m]), crc32.ChecksumIEEE(b[m:])
			require.Equal(t, crc32.ChecksumIEEE(b), combine(first, second, n), "%d and %d bytes", m, n)
		}
	}
}

// Lengths that no test can fill: appending n zeros in two steps is the same as in one.
func TestPowerOfLongTexts(t *testing.T) {
	for _, n := range []int{1 << 31, 1<<32 + 1, 1<<40 - 3} {
		require.Equal(t, power(n), multiply(power(n/3), power(n-n/3)))
	}
}

func TestStoredSize(t *testing.T) {
	for _, n := range []int{0, 1, maxStored - 1, maxStored, maxStored + 1, 2 * maxStored, 2*maxStored + 1} {
		require.Len(t, appendStored(nil, make([]byte, n)), storedSize(n))
	}
}

func FuzzRefs(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"snapshots":[{"snapshot-id":1}],"refs":{"main":{"snapshot-id":1}}}`, ` { "snapshots" : [ {"snapshot-id":1} , {"snapshot-id":2} ] , "current-snapshot-id" : 2 } `,
		`{"\u0073napshots":[]}`, `{"a\\":"}","snapshots":[{"snapshot-id":-5}]}`, `{"snapshots":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := NewDocument(raw)
		if err != nil {
			return
		}
		refs, err := d.Refs()
		if err != nil {
			return
		}
		if _, err := NewDocument(refs.Raw()); err != nil {
			t.Fatalf("%q: reduced to %q: %v", raw, refs.Raw(), err)
		}
		if again, err := refs.Refs(); err != nil || again != refs {
			t.Fatalf("%q: not reduced at once: %v", raw, err)
		}
	})
}
