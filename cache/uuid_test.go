package cache_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUUIDs(t *testing.T) {
	for raw, want := range map[string][2]string{
		`{}`: {}, `{"table-uuid":"a"}`: {"a", ""}, `{"x":{"table-uuid":"no"},"view-uuid":"b"}`: {"", "b"},
		`{"table-uuid":null,"view-uuid":1}`: {}, `{"table-uuid":"a","table-uuid":"b"}`: {}, `{"table-uuid":"\u0061"}`: {"a", ""},
	} {
		d := document(t, raw)
		for range 2 {
			require.Equal(t, want, [2]string{d.TableUUID(), d.ViewUUID()}, raw)
		}
	}
}
