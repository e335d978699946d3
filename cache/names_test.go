package cache

import "testing"

func TestImmutable(t *testing.T) {
	const id = "0a1b2c3d-0a1b-0a1b-0a1b-0A1B2C3D4E5F"
	for location, want := range map[string]bool{
		"s3://b/t/metadata/00001-" + id + ".metadata.json": true,
		"s3://b/t/metadata/" + id + ".gz.metadata.json":    true,
		id: true,
		"s3://b/" + id + "/metadata/v1.metadata.json":        false,
		"s3://b/" + id + "/":                                 false,
		"s3://b/t/metadata/version-hint.text":                false,
		"s3://b/t/metadata/00001-0a1b2c3d0a1b.metadata.json": false,
		"": false,
	} {
		if Immutable(location) != want {
			t.Errorf("%q: want %t", location, want)
		}
	}
}
