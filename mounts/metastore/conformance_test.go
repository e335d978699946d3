package metastore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/mounttest"
	"piedmont/vend"
	"piedmont/vend/local"
)

// The suite, over sources of different habits.
func TestConformance(t *testing.T) {
	for name, set := range map[string]func(*testing.T, *world){
		"all at once":     func(*testing.T, *world) {},
		"pages":           func(_ *testing.T, w *world) { w.source.PageSize = 3 },
		"pages of one":    func(_ *testing.T, w *world) { w.source.PageSize = 1 },
		"nothing is kept": func(_ *testing.T, w *world) { w.options.MaxListingBytes = 1 },
		"fresh for":       func(_ *testing.T, w *world) { w.options.FreshFor = time.Minute },
		"one at a time":   func(_ *testing.T, w *world) { w.options.Guard.Concurrency = 1 },
		"on a disk":       onDisk,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(w *world) { set(t, w) })
			mounttest.Run(t, mounttest.Suite{
				Open: func(t *testing.T, c mounttest.Content) mounts.Mount {
					w.fill(t, c)
					return w.Catalog
				},
				Names: lowerNames(),
			})
			require.Equal(t, 1, w.source.Closed())
			s := w.Stats()
			require.Zero(t, s.Guard.UnderWay+s.Guard.Waiting)
			require.Zero(t, s.Guard.Failed)
			require.Zero(t, s.Skipped)
		})
	}
}

// onDisk puts tables on a local disk, where files can vanish by hand.
func onDisk(t *testing.T, w *world) {
	prefix := location(t, "file://"+t.TempDir())
	files, err := local.New("disk", prefix)
	require.NoError(t, err)
	w.files, w.profile = nil, &vend.Profile{Name: "disk", Prefix: prefix, Files: files}
}

func TestOptions(t *testing.T) {
	good := newWorld(t).options
	good.Storage = nil
	_, err := metastore.New(good)
	require.NoError(t, err)
	for name, spoil := range map[string]func(*metastore.Options){
		"source":    func(o *metastore.Options) { o.Source = nil },
		"documents": func(o *metastore.Options) { o.Documents = nil },
		"clock":     func(o *metastore.Options) { o.Now = nil },
		"fresh_for": func(o *metastore.Options) { o.FreshFor = -1 },
		"listings":  func(o *metastore.Options) { o.MaxListingBytes = -1 },
	} {
		o := good
		spoil(&o)
		_, err := metastore.New(o)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "mount 'legacy' (hive)")
	}
}

// Refusals cost the metastore nothing but the question whether a namespace is there, which is
// asked for one that shall be created.
func TestReadOnly(t *testing.T) {
	w := newWorld(t)
	mounttest.RunReadOnly(t, mounttest.ReadOnlySuite{
		Kind: "hive",
		Open: func(t *testing.T, c mounttest.Content) mounts.Mount {
			w.fill(t, c)
			return w.Catalog
		},
		Mutations: func() int { return len(w.source.Calls()) - w.source.Count("Database") },
	})
}
