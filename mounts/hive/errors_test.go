package hive

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/guard"
	"piedmont/mounts/metastore"
	"piedmont/mounts/mounttest"
	"piedmont/vend"
)

// Every failure of a mount names what was asked for, once; what isn't about an object names none.
func TestFailuresNameTheObject(t *testing.T) {
	f := filled(t, 3).start()
	for name, c := range map[string]struct {
		options Options
		kind    mounts.Kind
		says    string
	}{
		"dead":       {Options{URIs: []string{"thrift://127.0.0.1:1"}}, mounts.Unavailable, unreachable},
		"no catalog": {Options{URIs: []string{f.uri()}, Catalog: "none"}, mounts.BadGateway, "The catalog behind mount 'legacy' (hive) does not have the catalog that the mount names"},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.options
			o.Name, o.Now = "legacy", time.Now
			m, err := New(o, metastore.Options{Documents: vend.NewDocuments(1 << 20), Now: time.Now, Guard: guard.Options{Failures: 1000}})
			require.NoError(t, err)
			defer m.Close()
			db := mounts.Namespace{"db"}
			errs := map[string]error{"": m.Health(t.Context()), "db.t": m.TableExists(t.Context(), mounttest.Caller, db.Table("t"))}
			_, errs["db"] = m.LoadNamespace(t.Context(), mounttest.Caller, db)
			for object, err := range errs {
				want := c.says
				if object != "" {
					want += " (asked for " + object + ")"
				}
				var e *mounts.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, c.kind, e.Kind)
				require.Equal(t, want, e.Message())
			}
		})
	}
}
