package rest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is known of the order of questions is forgotten with the last of them.
func TestUnderWayIsEmptyInTheEnd(t *testing.T) {
	var u underWay
	a, b := DocumentKey{Name: "a"}, DocumentKey{Name: "b"}
	first, second, other := u.begin(a), u.begin(DocumentKey{Name: "a", form: refs}), u.begin(b)
	require.Len(t, u.objects, 2)
	at := time.Unix(2, 0)
	require.False(t, u.overtaken(a, at))
	require.True(t, u.overtaken(a, at.Add(-1)))
	require.False(t, u.overtaken(b, at.Add(-1)))
	first()
	require.Equal(t, at, u.answered(DocumentKey{Name: "a", form: refs}))
	require.True(t, u.overtaken(a, at.Add(-1)))
	second()
	require.Zero(t, u.answered(a))
	other()
	require.Empty(t, u.objects)
}
