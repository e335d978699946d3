package survey

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/vend"
)

func overlapsOf(t *testing.T, p places) (all []Overlap) {
	t.Helper()
	require.NoError(t, p.overlaps(func(o Overlap) error { all = append(all, o); return nil }))
	return all
}

func TestOverlaps(t *testing.T) {
	var p places
	for _, at := range [][3]string{
		{"a", "s3://lake/wh/t", "u1"},
		{"b", "s3a://lake/wh/t/", "U1"},  // the same table
		{"c", "s3://lake/wh/t", "u2"},    // another one there
		{"d", "s3://lake/wh/t/in", "u3"}, // inside
		{"e", "s3://lake/wh/t/in/deep", "u4"},
		{"f", "s3://lake/wh/t-in", "u5"}, // no part of it, though it sorts among those
		{"g", "s3://lake/wh/t//in", "u6"},
		{"h", "hdfs://nn/wh/x", "u7"},
		{"i", "hdfs://nn/wh/x/", ""},
		{"j", "hdfs://nn/wh/x/y", "u7"},
		{"k", "file:/wh/t", "u8"},
		{"l", "file:///wh/t", "u8"},
		{"m", "", "u9"},
	} {
		p.add(at[0], at[1], at[2])
	}
	var got []string
	for _, o := range overlapsOf(t, p) {
		got = append(got, fmt.Sprintf("%s %s %s", o.Table, o.Relation, o.Other))
	}
	slices.Sort(got)
	require.Equal(t, []string{
		"b same-table a", "c same-location a", "d inside a", "e inside d", "g inside a", "i same-location h", "j inside h", "l same-table k",
	}, got)
}

// Whatever the locations are, those that lie in another's place are found, and no others.
func TestOverlapsAreThoseOfPairs(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	levels := []string{"a", "b", "a-b", "ab", "a.b", "a b", "ä"}
	for range 2000 {
		var p places
		var locations []vend.Location
		for i := range 1 + random.IntN(12) {
			text := "s3://b"
			for range 1 + random.IntN(4) {
				text += "/" + levels[random.IntN(len(levels))]
			}
			l, err := vend.ParseLocation(text)
			require.NoError(t, err)
			locations = append(locations, l)
			p.add(fmt.Sprintf("%02d", i), text, fmt.Sprint(i))
		}
		found := map[string]string{}
		for _, o := range overlapsOf(t, p) {
			require.NotContains(t, found, o.Table)
			found[o.Table] = o.Other
		}
		for i, l := range locations {
			var around []vend.Location // where others lie that hold it
			for j, o := range locations {
				if i != j && l.Under(o) && (!l.Equal(o) || j < i) {
					around = append(around, o)
				}
			}
			other, ok := found[fmt.Sprintf("%02d", i)]
			require.Equal(t, len(around) > 0, ok, "%v: %s", locations, l)
			if !ok {
				continue
			}
			innermost := slices.MaxFunc(around, func(a, b vend.Location) int { return cmp.Compare(len(a.String()), len(b.String())) })
			n, err := strconv.Atoi(other)
			require.NoError(t, err)
			require.Equal(t, innermost.String(), locations[n].String())
		}
	}
}

// A location costs some hundred bytes, besides its own.
func TestManyLocations(t *testing.T) {
	const n = 100_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := locations(n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	p.add("legacy.wrong", "s3://company-data-lake/warehouse/database_0007.db", "x")
	all := overlapsOf(t, p)
	require.Len(t, all, n/1000)
	for _, o := range all {
		require.Equal(t, "legacy.wrong", o.Other)
		require.True(t, strings.HasPrefix(o.Location, o.OtherLocation+"/"))
	}
	require.Less(t, held, int64(n*300))
}

func locations(n int) (p places) {
	for i := range n {
		p.add(fmt.Sprintf("legacy.database_%04d.table_%06d", i%1000, i), fmt.Sprintf("s3a://company-data-lake/warehouse/database_%04d.db/table_%06d/", i%1000, i),
			fmt.Sprintf("%08x-03fe-4693-9a96-a0705ddf69c1", i))
	}
	return p
}

func BenchmarkAMillionLocations(b *testing.B) {
	for b.Loop() {
		p := locations(1_000_000)
		if err := p.overlaps(func(o Overlap) error { return fmt.Errorf("%s is in %s", o.Table, o.Other) }); err != nil {
			b.Fatal(err)
		}
	}
}
