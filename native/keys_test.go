package native

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/vend"
)

// longestPath is an identifier of as many bytes as one may have.
func longestPath(t *testing.T, random *rand.Rand) mounts.Identifier {
	t.Helper()
	levels := 1 + random.IntN(mounts.MaxLevels)
	rest := mounts.MaxPathBytes - levels // a separator behind each level
	var n mounts.Namespace
	for i := range levels {
		size := 1 + random.IntN((rest-1)/(levels-i))
		n = append(n, text(size, random))
		rest -= size
	}
	id := n.Table(text(rest, random))
	require.NoError(t, id.Validate())
	require.Error(t, n.Table(id.Name+"x").Validate(), "there is a longer one")
	return id
}

// text is letters, some of several bytes, of that many bytes.
func text(size int, random *rand.Rand) string {
	var b strings.Builder
	for b.Len() < size {
		letters := []string{"a", "é", "\U0001F9CA", "b"}
		if s := letters[random.IntN(len(letters))]; b.Len()+len(s) <= size {
			b.WriteString(s)
		}
	}
	return b.String()
}

// longestLocation is a location of as many bytes as one may have.
func longestLocation(t *testing.T, random *rand.Rand) vend.Location {
	t.Helper()
	start := []string{"file:/", "file:///", "s3://bucket/", "s3a://bucket/"}[random.IntN(4)]
	l, err := vend.ParseLocation(start + strings.Repeat("x", vend.MaxLocationBytes-len(start)))
	require.NoError(t, err)
	_, err = vend.ParseLocation(l.Verbatim() + "x")
	require.Error(t, err, "there is a longer one")
	return l
}

// TestLongestKeysFit: whatever name and location are legal, every key made of them is one
// that every registry takes.
func TestLongestKeysFit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	mount := strings.Repeat("m", 63)
	require.NoError(t, CheckID(mount))
	require.Error(t, CheckID(mount+"m"), "there is a longer one")
	longest := 0
	for range 500 {
		i, l, object := longestPath(t, random), longestLocation(t, random), newObject()
		caller := mounts.Caller{Principal: strings.Repeat("p", 255), Receipt: &mounts.Receipt{}}
		gone := droppedAs(mount, i) + Key(object)
		for _, key := range []Key{
			namespaceKey(mount, i.Namespace), namespaceKey(mount, i.Namespace.Child(i.Name)), children(kindNamespace, mount, i.Namespace.Child(i.Name)),
			objectKey(mount, i), listKey(typeTable, mount, i), listKey(typeView, mount, i),
			inOrBelow(kindLocation, l), locationKey(kindLocation, l, mount, object), locationKey(kindLeft, l, mount, object),
			gone, dueKey(mount, time.Now(), gone), receiptKey(caller), expiryKey(time.Now(), receiptKey(caller)),
		} {
			require.LessOrEqual(t, len(key), MaxKeyBytes)
			longest = max(longest, len(key))
		}
	}
	require.Greater(t, longest, mounts.MaxPathBytes)
	t.Logf("the longest key has %d of %d bytes", longest, MaxKeyBytes)
}
