// Package hivetest fills real Hive Metastores for tests, by Thrift, with calls that versions
// 2.3 to 4.0 have.
package hivetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	hms "github.com/beltran/gohive/hive_metastore"
)

// Metastore is one connection. Its methods may not be called at once.
type Metastore struct {
	uri     string
	catalog string
	client  *hms.ThriftHiveMetastoreClient
	conn    thrift.TTransport
}

// Dial connects to thrift://host:port. Databases and tables are those of the catalog, which
// is empty for a metastore that has none.
func Dial(uri, catalog string) (*Metastore, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return nil, fmt.Errorf("the metastore's URI: %w", err)
	}
	config := &thrift.TConfiguration{ConnectTimeout: 10 * time.Second, SocketTimeout: time.Minute}
	conn := thrift.NewTBufferedTransport(thrift.NewTSocketConf(net.JoinHostPort(u.Hostname(), u.Port()), config), 1<<16)
	if err := conn.Open(); err != nil {
		return nil, fmt.Errorf("connect to the metastore: %w", err)
	}
	p := thrift.NewTBinaryProtocolConf(conn, config)
	client := hms.NewThriftHiveMetastoreClient(thrift.NewTStandardClient(p, &unset{TProtocol: p}))
	return &Metastore{uri: uri, catalog: catalog, client: client, conn: conn}, nil
}

// Close closes the connection.
func (m *Metastore) Close() error { return m.conn.Close() }

// CreateCatalog makes a catalog, from version 3 on.
func (m *Metastore) CreateCatalog(ctx context.Context, name, location string) error {
	return m.client.CreateCatalog(ctx, &hms.CreateCatalogRequest{Catalog: &hms.Catalog{Name: name, LocationUri: location}})
}

// CreateDatabase makes a database. The parameters "comment" and "owner" are also its
// description and its owner, as Iceberg's catalogs have it.
func (m *Metastore) CreateDatabase(ctx context.Context, name, location string, parameters map[string]string) error {
	d := hms.NewDatabase()
	d.Name, d.LocationUri, d.Description, d.Parameters = name, location, parameters["comment"], parameters
	if owner := parameters["owner"]; owner != "" {
		user := hms.PrincipalType_USER
		d.OwnerName, d.OwnerType = &owner, &user
	}
	if m.catalog != "" {
		d.CatalogName = &m.catalog
	}
	return m.client.CreateDatabase(ctx, d)
}

// Table is what to make a table or view of.
type Table struct {
	// Type is Hive's: EXTERNAL_TABLE, which empty means too, MANAGED_TABLE, VIRTUAL_VIEW.
	Type string
	// Location is where it lies; a view has none.
	Location string
	// Parameters say what it is.
	Parameters map[string]string
}

// Iceberg are the parameters that Iceberg's catalogs give a table.
func Iceberg(metadataLocation string) map[string]string {
	return map[string]string{"table_type": "ICEBERG", "metadata_location": metadataLocation}
}

// table is what the metastore keeps of one.
func (m *Metastore) table(database, name string, from Table) *hms.Table {
	t := hms.NewTable()
	t.DbName, t.TableName, t.TableType, t.Owner = database, name, from.Type, "tester"
	if t.TableType == "" {
		t.TableType = "EXTERNAL_TABLE"
	}
	t.Parameters = map[string]string{}
	if t.TableType == "EXTERNAL_TABLE" {
		t.Parameters["EXTERNAL"] = "TRUE"
	}
	for key, value := range from.Parameters {
		t.Parameters[key] = value
	}
	t.Sd = &hms.StorageDescriptor{
		Cols: []*hms.FieldSchema{{Name: "id", Type: "bigint"}}, Location: from.Location,
		SerdeInfo: &hms.SerDeInfo{Parameters: map[string]string{}}, Parameters: map[string]string{},
	}
	if m.catalog != "" {
		t.CatName = &m.catalog
	}
	return t
}

// CreateTable makes a table or view.
func (m *Metastore) CreateTable(ctx context.Context, database, name string, t Table) error {
	return m.client.CreateTable(ctx, m.table(database, name, t))
}

// AlterTable replaces what the metastore has of a table, as a commit of Iceberg's does.
func (m *Metastore) AlterTable(ctx context.Context, database, name string, t Table) error {
	return m.RenameTable(ctx, database, name, name, t)
}

// RenameTable is AlterTable with another name.
func (m *Metastore) RenameTable(ctx context.Context, database, name, to string, t Table) error {
	in := database
	if m.catalog != "" {
		in = "@" + m.catalog + "#" + database
	}
	return m.client.AlterTableWithEnvironmentContext(ctx, in, name, m.table(database, to, t), hms.NewEnvironmentContext())
}

// DropTable drops a table and leaves its files.
func (m *Metastore) DropTable(ctx context.Context, database, name string) error {
	in := database
	if m.catalog != "" {
		in = "@" + m.catalog + "#" + database
	}
	return m.client.DropTable(ctx, in, name, false)
}

// CreateTables makes n tables, named by their numbers behind a prefix, over several
// connections.
func (m *Metastore) CreateTables(ctx context.Context, database, prefix string, n int, of func(name string) Table) error {
	const connections = 8
	numbers := make(chan int)
	failures := make(chan error, connections)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	for range connections {
		workers.Go(func() {
			if err := m.create(ctx, database, prefix, numbers, of); err != nil {
				failures <- err
				cancel()
			}
		})
	}
	for i := range n {
		select {
		case numbers <- i:
		case <-ctx.Done():
		}
	}
	close(numbers)
	workers.Wait()
	close(failures)
	var all []error
	for err := range failures {
		all = append(all, err)
	}
	return errors.Join(append(all, context.Cause(ctx))...)
}

func (m *Metastore) create(ctx context.Context, database, prefix string, numbers <-chan int, of func(name string) Table) error {
	own, err := Dial(m.uri, m.catalog)
	if err != nil {
		return err
	}
	defer func() { _ = own.Close() }() // all was answered
	for i := range numbers {
		name := fmt.Sprintf("%s%05d", prefix, i)
		if err := own.CreateTable(ctx, database, name, of(name)); err != nil {
			return fmt.Errorf("create table %s.%s: %w", database, name, err)
		}
	}
	return nil
}

// unset leaves out locations that are empty, which generated code can't: before version 4 a
// metastore takes an empty one for a path.
type unset struct {
	thrift.TProtocol
	begun bool // a location whose beginning is still to be written
	id    int16
}

// WriteFieldBegin waits with a location for what it is.
func (u *unset) WriteFieldBegin(ctx context.Context, name string, of thrift.TType, id int16) error {
	if name == "location" && of == thrift.STRING {
		u.begun, u.id = true, id
		return nil
	}
	return u.TProtocol.WriteFieldBegin(ctx, name, of, id)
}

// WriteString writes a field's value.
func (u *unset) WriteString(ctx context.Context, value string) error {
	if u.begun {
		u.begun = false
		if value == "" {
			return nil
		}
		if err := u.TProtocol.WriteFieldBegin(ctx, "location", thrift.STRING, u.id); err != nil {
			return err
		}
	}
	return u.TProtocol.WriteString(ctx, value)
}
