package native_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"piedmont/native"
)

// TestManifests: only what is in the table counts, and what isn't a manifest is an error,
// never an empty one.
func TestManifests(t *testing.T) {
	files, err := native.FilesIn(manifest(t, entry{0, "a"}, entry{1, "b"}, entry{2, "c"}))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, files)
	files, err = native.FilesIn(manifest(t))
	require.NoError(t, err)
	require.Empty(t, files)
	manifests, err := native.ManifestsIn(manifestList(t, "m1", "m2"))
	require.NoError(t, err)
	require.Equal(t, []string{"m1", "m2"}, manifests)

	whole := manifest(t, entry{1, "a"})
	for name, file := range map[string][]byte{
		"empty": {}, "text": []byte("no Avro"), "cut": whole[:len(whole)-20], "a list": manifestList(t, "m"), "no path": manifest(t, entry{1, ""}),
		"no status": avroFile(t, `{"type":"record","name":"manifest_entry","fields":[{"name":"data_file","type":{"type":"record","name":"r2","fields":[{"name":"file_path","type":"string"}]}}]}`,
			map[string]any{"data_file": map[string]any{"file_path": "a"}}),
	} {
		_, err := native.FilesIn(file)
		require.Error(t, err, name)
	}
	_, err = native.ManifestsIn(whole)
	require.Error(t, err)
}

// TestManifestThatUnpacksToALot is refused before it fills the memory.
func TestManifestThatUnpacksToALot(t *testing.T) {
	for status, of := range []string{"of files", "of files", "of deleted files"} {
		var b bytes.Buffer
		w, err := ocf.NewWriter(&b, avro.MustParse(manifestSchema), ocf.WithCodec(ocf.DeflateCodec(6)), ocf.WithBlockBytes(64<<20))
		require.NoError(t, err)
		header := b.Len()
		for range 8 {
			require.NoError(t, w.Encode(map[string]any{"status": status, "snapshot_id": nil, "data_file": map[string]any{
				"content": 0, "file_path": strings.Repeat("x", 1<<20), "partition": map[string]any{"d": nil},
			}}))
		}
		require.NoError(t, w.Close())
		block := bytes.Clone(b.Bytes()[header:])
		for range 40 {
			b.Write(block)
		}
		_, err = native.FilesIn(b.Bytes())
		require.ErrorContains(t, err, "more names", "%d bytes %s", b.Len(), of)
	}
}

// FuzzManifest: nothing that lies in storage may bring a purge down.
func FuzzManifest(f *testing.F) {
	t := new(testing.T)
	f.Add(manifest(t, entry{1, "a"}, entry{2, "b"}))
	f.Add(manifestList(t, "m1", "m2"))
	f.Fuzz(func(_ *testing.T, file []byte) {
		_, _ = native.FilesIn(file)
		_, _ = native.ManifestsIn(file)
	})
}
