//go:build e2e

package hive_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/hive/hivetest"
	"piedmont/mounts/survey"
)

// TestRealSurvey: what is in a metastore and what is wrong there, in few calls.
func TestRealSurvey(t *testing.T) {
	r := open(t)
	db := r.database("survey")
	const many = 60
	metadata := r.metadata("t", 1)
	require.NoError(t, r.CreateTables(t.Context(), db, "t", many, func(string) hivetest.Table {
		return hivetest.Table{Parameters: hivetest.Iceberg(metadata)}
	}))
	lost := "file://" + filepath.Join(r.files, "00001-"+uuid.NewString()+".metadata.json")
	broken := "file://" + filepath.Join(r.files, "00002-"+uuid.NewString()+".metadata.json")
	require.NoError(t, os.WriteFile(strings.TrimPrefix(broken, "file://"), []byte("no JSON"), 0o644))
	view := "file://" + filepath.Join(r.files, "00003-"+uuid.NewString()+".metadata.json")
	require.NoError(t, os.WriteFile(strings.TrimPrefix(view, "file://"), []byte(
		`{"format-version":1,"current-version-id":1,"versions":[{"version-id":1,"representations":[{"type":"sql","dialect":"spark"}]}]}`), 0o644))
	for name, table := range map[string]hivetest.Table{
		"lost":    {Parameters: hivetest.Iceberg(lost)},
		"nowhere": {Parameters: map[string]string{"table_type": "iceberg"}},
		"outside": {Parameters: hivetest.Iceberg("s3://other/t/v1.metadata.json")},
		"broken":  {Parameters: hivetest.Iceberg(broken)},
		"aview":   {Type: "VIRTUAL_VIEW", Parameters: map[string]string{"table_type": "iceberg-view", "metadata_location": view}},
		"plain":   {Type: "MANAGED_TABLE"},
		"foreign": {},
		"another": {},
		"hive":    {Type: "VIRTUAL_VIEW"},
	} {
		require.NoError(t, r.CreateTable(t.Context(), db, name, table), name)
	}
	c := r.mount(nil)
	defer func() { require.NoError(t, c.Close()) }()

	p := &survey.Progress{}
	report, err := survey.Run(t.Context(), survey.Options{
		// The metastore is shared with other tests, so only one database of it.
		Mounts: []survey.Mount{{Point: &mounts.Point{At: mounts.Namespace{"legacy"}, Kind: "hive", Mount: c, Source: mounts.Namespace{db}}}},
		Caller: mounts.Caller{Principal: "admin"}, Progress: p, Now: time.Now,
	})
	require.NoError(t, err)
	s := report.Mounts[0]
	require.Equal(t, survey.Complete, s.State, "%s %v", s.Detail, s.Problems)
	require.Equal(t, survey.Counts{Loaded: many, Broken: 4}, s.Tables)
	require.Equal(t, survey.Counts{Loaded: 1}, s.Views)
	require.Equal(t, map[string]int{"spark": 1}, s.Dialects)
	for reason, name := range map[string]string{
		survey.FileGone: "lost", survey.NoMetadataLocation: "nowhere", survey.NoStorageProfile: "outside", survey.NotMetadata: "broken",
	} {
		require.NotNil(t, s.Problems[reason], reason)
		require.Equal(t, []string{"legacy." + name}, s.Problems[reason].Names, reason)
	}
	others := map[string]int{"a table that isn't Iceberg's (MANAGED_TABLE)": 1, "a table that isn't Iceberg's (EXTERNAL_TABLE)": 2, "a Hive view": 1}
	if r.version == 4 { // it makes external tables of managed ones without transactions
		others = map[string]int{"a table that isn't Iceberg's (EXTERNAL_TABLE)": 3, "a Hive view": 1}
	}
	require.Equal(t, others, s.Others)
	require.Equal(t, map[survey.Relation]int{survey.SameTable: many - 1}, report.Overlaps)
	// Each table and view once, broken ones again for where they should be, and the lists.
	require.LessOrEqual(t, p.Calls.Load(), int64(many+5+4+8))
	t.Logf("Hive %d: %d calls", r.version, p.Calls.Load())
}
