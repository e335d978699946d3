//go:build e2e

package s3_test

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/vend"
	"piedmont/vend/s3"
	"piedmont/vend/vendtest"
)

// A store is named by PIEDMONT_TEST_S3_ENDPOINT, _KEY, _SECRET and _BUCKET. The bucket
// exists; each test has a prefix of its own in it.

func env(t *testing.T, name string) string {
	v := os.Getenv("PIEDMONT_TEST_S3_" + name)
	if v == "" {
		t.Fatalf("PIEDMONT_TEST_S3_%s is not set", name)
	}
	return v
}

func realOptions(t *testing.T) s3.Options {
	return s3.Options{
		Profile: "real", Prefix: location(t, "s3://"+env(t, "BUCKET")+"/"+strings.ToLower(rand.Text())),
		Endpoint: env(t, "ENDPOINT"), Region: "us-east-1", PathStyle: true,
		AccessKeyID: env(t, "KEY"), SecretAccessKey: env(t, "SECRET"),
	}
}

func realProfile(t *testing.T, o s3.Options) *vend.Profile {
	files, err := s3.New(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(files.Close)
	return &vend.Profile{Name: o.Profile, Prefix: o.Prefix, Files: files}
}

func TestRealConformance(t *testing.T) {
	vendtest.Run(t, func(t *testing.T) *vend.Profile { return realProfile(t, realOptions(t)) })
}

func TestRealRefusals(t *testing.T) {
	for want, change := range map[string]func(*s3.Options){
		"was refused access":                func(o *s3.Options) { o.SecretAccessKey = "another" },
		"names a bucket that doesn't exist": func(o *s3.Options) { o.Prefix = location(t, "s3://no-such-bucket-"+strings.ToLower(rand.Text())+"/x") },
		"failed":                            func(o *s3.Options) { o.Endpoint = "http://127.0.0.1:1" },
	} {
		o := realOptions(t)
		change(&o)
		p := realProfile(t, o)
		l := location(t, o.Prefix.String()+"/x")
		_, err := p.Files.Read(t.Context(), l, 100)
		require.True(t, mounts.Is(err, mounts.Unavailable), "%s: %v", want, err)
		require.ErrorContains(t, err, "storage profile 'real' "+want)
	}
}
