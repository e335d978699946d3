//go:build e2e

package glue

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/glue"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"
	"github.com/stretchr/testify/require"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
	"piedmont/mounts/mounttest"
)

// aServer is an AWS of somebody else's making. The environment names it:
//
//	PIEDMONT_TEST_AWS        its URL, for Glue and STS
//	PIEDMONT_TEST_PYICEBERG  a Python that has PyIceberg
func aServer(t *testing.T) string {
	t.Helper()
	url := os.Getenv("PIEDMONT_TEST_AWS")
	if url == "" {
		t.Fatal("PIEDMONT_TEST_AWS names no server: run make test")
	}
	return url
}

func realSource(t *testing.T, set ...func(*Options)) *Source {
	t.Helper()
	o := Options{Name: "aws", Region: "eu-west-1", Endpoint: aServer(t), AccessKeyID: keyID, SecretAccessKey: "secret", CallsPerSecond: 1000}
	for _, f := range set {
		f(&o)
	}
	s, err := NewSource(t.Context(), o)
	require.NoError(t, err)
	return s
}

// writer makes entries as others do, beside Piedmont.
func writer(t *testing.T) *glue.Client {
	return glue.New(glue.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(aServer(t)), Credentials: credentials.NewStaticCredentialsProvider(keyID, "secret", ""),
	})
}

func makeDatabase(t *testing.T, w *glue.Client, name string, parameters map[string]string) {
	t.Helper()
	_, err := w.CreateDatabase(t.Context(), &glue.CreateDatabaseInput{DatabaseInput: &types.DatabaseInput{Name: &name, Parameters: parameters}})
	require.NoError(t, err)
}

func makeTable(t *testing.T, w *glue.Client, database, name string, parameters map[string]string) {
	t.Helper()
	_, err := w.CreateTable(t.Context(), &glue.CreateTableInput{DatabaseName: &database, TableInput: &types.TableInput{
		Name: &name, TableType: aws.String("EXTERNAL_TABLE"), Parameters: parameters,
	}})
	require.NoError(t, err)
}

// The suite over a Glue that isn't ours.
func TestRealConformance(t *testing.T) {
	mounttest.Run(t, mounttest.Suite{
		Names: lowerNames(), Prefix: fmt.Sprintf("p%d_", time.Now().UnixNano()),
		Open: func(t *testing.T, c mounttest.Content) mounts.Mount {
			w := writer(t)
			dir, set := storage(t)
			for _, n := range c.Namespaces {
				makeDatabase(t, w, n.Name.String(), n.Properties)
				makeTable(t, w, n.Name.String(), "plain", nil)
			}
			for _, id := range c.Tables {
				makeTable(t, w, id.Namespace.String(), id.Name, map[string]string{"table_type": "ICEBERG", "metadata_location": write(t, dir)})
			}
			return catalog(t, realSource(t), set)
		},
	})
}

// pyIceberg is a client that writes tables into Glue by itself.
type pyIceberg struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func startPyIceberg(t *testing.T, warehouse, database string) *pyIceberg {
	t.Helper()
	cmd := exec.Command(os.Getenv("PIEDMONT_TEST_PYICEBERG"), "testdata/write.py", aServer(t), "file://"+warehouse, database)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		require.NoError(t, cmd.Wait())
	})
	return &pyIceberg{t: t, in: in, out: bufio.NewScanner(out)}
}

// does one thing and tells where the table's metadata is then.
func (p *pyIceberg) does(what, name string) string {
	p.t.Helper()
	_, err := fmt.Fprintf(p.in, "%s %s\n", what, name)
	require.NoError(p.t, err)
	require.True(p.t, p.out.Scan(), "PyIceberg ended")
	return p.out.Text()
}

// Tables that PyIceberg writes are there at once, as they are after each of its commits.
func TestRealPyIceberg(t *testing.T) {
	dir, set := storage(t)
	name := fmt.Sprintf("py%d", time.Now().UnixNano())
	p := startPyIceberg(t, dir, name)
	c := catalog(t, realSource(t), set)
	db := mounts.Namespace{name}
	id := db.Table("events")
	made := p.does("create", "events")
	properties, err := c.LoadNamespace(t.Context(), mounttest.Caller, db)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"owner": "someone", "comment": "by PyIceberg", "location": "file://" + dir + "/" + name}, properties)
	versions := map[string]bool{}
	for range 3 {
		table, err := c.LoadTable(t.Context(), mounttest.Caller, id, mounts.LoadOptions{})
		require.NoError(t, err)
		require.Equal(t, made, table.MetadataLocation)
		require.False(t, versions[table.Version])
		versions[table.Version] = true
		d, err := table.Metadata(t.Context())
		require.NoError(t, err)
		onDisk, err := os.ReadFile(strings.TrimPrefix(made, "file://"))
		require.NoError(t, err)
		require.True(t, json.Valid(onDisk))
		require.Equal(t, string(onDisk), string(d.Raw()))
		made = p.does("append", "events")
	}
	p.does("create", "Other")
	tables, next, err := c.ListTables(t.Context(), mounttest.Caller, db, mounts.Page{})
	require.NoError(t, err)
	require.Empty(t, next)
	require.ElementsMatch(t, []mounts.Identifier{id, db.Table("other")}, tables)
	p.does("drop", "events")
	require.True(t, mounts.Is(c.TableExists(t.Context(), mounttest.Caller, id), mounts.NoSuchTable))
}

// Resource links, by a Glue that doesn't follow them.
func TestRealLinks(t *testing.T) {
	w := writer(t)
	name := fmt.Sprintf("link%d", time.Now().UnixNano())
	makeDatabase(t, w, name, nil)
	makeTable(t, w, name, "t", map[string]string{"table_type": "ICEBERG", "metadata_location": "s3://b/m"})
	link := name + "_to"
	_, err := w.CreateDatabase(t.Context(), &glue.CreateDatabaseInput{DatabaseInput: &types.DatabaseInput{
		Name: &link, TargetDatabase: &types.DatabaseIdentifier{CatalogId: aws.String("123456789012"), DatabaseName: &name},
	}})
	require.NoError(t, err)
	s := realSource(t)
	names, _, err := s.Objects(t.Context(), link, metastore.Table, "", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"t"}, names)
	o, err := s.Object(t.Context(), link, "t")
	require.NoError(t, err)
	require.Equal(t, "s3://b/m", o.MetadataLocation)
}

// A role's credentials reach another account's catalog, which is empty there.
func TestRealRole(t *testing.T) {
	w := writer(t)
	name := fmt.Sprintf("role%d", time.Now().UnixNano())
	makeDatabase(t, w, name, nil)
	s := realSource(t, func(o *Options) {
		o.STSEndpoint, o.RoleARN, o.ExternalID = aServer(t), "arn:aws:iam::444455556666:role/reader", "ticket:7"
	})
	_, err := s.Database(t.Context(), name)
	require.True(t, mounts.Is(err, mounts.NoSuchNamespace), "%v", err)
	_, err = realSource(t).Database(t.Context(), name)
	require.NoError(t, err)
}
