//go:build differential

package metadata_test

import (
	"strings"
	"testing"

	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/view"
)

// TestDifferentialRequests: iceberg-go reads whatever requests of clients, as they came and
// mutated, make of a table or view.
func TestDifferentialRequests(t *testing.T) {
	check := func(r request, body, document []byte) {
		var err error
		if r.view {
			_, err = view.ParseMetadataBytes(document)
		} else {
			_, err = table.ParseMetadataBytes(document)
		}
		// It takes a representation of any type for one of SQL, also of a type that it doesn't know.
		if err != nil && !strings.Contains(err.Error(), "Representation.versions.representations.") {
			t.Errorf("%s: iceberg-go can't read: %v\n%s\nmade\n%s", r.story, err, body, document)
		}
	}
	for _, r := range requestsOfClients(t) {
		document, err := r.carryOut(r.body)
		if err != nil {
			t.Fatal(err)
		}
		check(r, r.body, document)
	}
	for _, m := range madeByMutants(t) {
		check(m.request, m.mutant, m.document)
	}
}
