package rest

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
)

// What the tree takes for one name the mount does too, and nothing else.
func TestLowerIsThatOfTheTree(t *testing.T) {
	point := mounts.Point{Lower: true}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		name := "A" + string(r)
		canonical, ok := point.Outer(mounts.Namespace{name})
		require.True(t, ok)
		if lower(name) != canonical[0] {
			require.Equal(t, canonical[0], lower(name), "%U", r)
		}
	}
}
