// Package configs is Piedmont's configuration: a YAML file, read strictly. Load decodes
// it, puts in what ${env:NAME} and ${file:PATH} stand for, and checks it; whatever is
// wrong is reported at once, each fault with the path of the value.
//
// The package imports nothing of Piedmont: what a location, an id or a mount's path may be is
// known by others, whose Rules are asked. What takes more than the text, as policies in
// files do, is checked when the server is put together.
package configs

import "time"

// Config is the whole configuration.
type Config struct {
	// Name is the ?warehouse= that means the whole tree.
	Name string `yaml:"name"`
	// Listen is the address that clients reach.
	Listen string `yaml:"listen"`
	// Operator is the address of metrics, profiles and the state of the mounts, without
	// authentication: keep it private. Off when empty.
	Operator string `yaml:"operator"`
	// Data is the directory of the registry and of generated keys.
	Data string `yaml:"data"`
	// Registry is where native mounts keep their state.
	Registry Registry `yaml:"registry"`
	// Cache bounds the memory of caches.
	Cache Cache `yaml:"cache"`
	// Storage are the profiles: parts of a storage and how to reach them.
	Storage []Storage `yaml:"storage"`
	// Mounts attach catalogs to namespace paths.
	Mounts []Mount `yaml:"mounts"`
	// Detached are ids of native mounts that the registry holds and no mount names, on purpose.
	Detached []string `yaml:"detached"`
	// Auth says who may come in and what they may do.
	Auth Auth `yaml:"auth"`
}

// Registry names one kind of registry; without any it is a bbolt file.
type Registry struct {
	// Bolt is one file, for one process.
	Bolt *Bolt `yaml:"bolt"`
	// Postgres is a database, for any number of processes.
	Postgres *Postgres `yaml:"postgres"`
}

// Postgres is a registry in a PostgreSQL database. Zero values leave the choice to the
// defaults of package native/postgres.
type Postgres struct {
	// URL is postgres://user:password@host/database?options, with TLS as libpq spells it
	// (sslmode, sslrootcert).
	URL string `yaml:"url"`
	// MaxConnections is the most connections this process holds; 0 means 16.
	MaxConnections int `yaml:"max_connections"`
	// MinConnections is how many are held while there is nothing to do.
	MinConnections int `yaml:"min_connections"`
	// ConnectTimeout bounds how long one connection takes to be made; 0 means 5s.
	ConnectTimeout time.Duration `yaml:"connect_timeout"`
	// StatementTimeout bounds one exchange with the database; 0 means 30s.
	StatementTimeout time.Duration `yaml:"statement_timeout"`
}

// Bolt is a registry in one bbolt file.
type Bolt struct {
	// Path of the file, relative to data.
	Path string `yaml:"path"`
}

// Cache bounds the memory of caches.
type Cache struct {
	// Documents bounds the metadata documents kept in memory: bytes, or a number with KiB,
	// MiB or GiB.
	Documents Bytes `yaml:"documents"`
}

// Storage is one profile: a location and how to reach it. Exactly one of S3 and Local.
type Storage struct {
	// Name is how mounts refer to the profile.
	Name string `yaml:"name"`
	// Location is the prefix of everything in the profile, like s3://bucket/ or file:///dir/.
	Location string `yaml:"location"`
	// S3 is an S3 service.
	S3 *S3 `yaml:"s3"`
	// Local is the machine's own disk.
	Local *Local `yaml:"local"`
}

// S3 reaches a bucket of AWS or of a server that speaks its protocol.
type S3 struct {
	// Endpoint is the server's URL; empty for AWS.
	Endpoint string `yaml:"endpoint"`
	// Region is the bucket's region. Engines get it with each table.
	Region string `yaml:"region"`
	// PathStyle puts the bucket in the path instead of the host's name.
	PathStyle bool `yaml:"path_style"`
	// AccessKeyID and SecretAccessKey are static credentials; without them the process's
	// own are used (environment, profile, instance role).
	AccessKeyID     string `yaml:"access_key_id"`
	SecretAccessKey string `yaml:"secret_access_key"`
}

// Local is the machine's own disk. It needs no settings.
type Local struct{}

// Mount attaches one catalog. Exactly one of Native, REST, Glue and Hive.
type Mount struct {
	// At is the namespace path, levels joined by dots; empty for the root.
	At string `yaml:"at"`
	// Native is a catalog that Piedmont owns.
	Native *Native `yaml:"native"`
	// REST is an upstream Iceberg REST catalog, read-only.
	REST *REST `yaml:"rest"`
	// Glue is an AWS Glue Data Catalog, read-only.
	Glue *Glue `yaml:"glue"`
	// Hive is a Hive Metastore, read-only.
	Hive *Hive `yaml:"hive"`
	// Storage names the profiles the mount may use.
	Storage []string `yaml:"storage"`
	// Source shows only this namespace of the catalog, level by level.
	Source []string `yaml:"source"`
	// Case is exact (the default) or lower: names below the mount point are made lower case.
	Case string `yaml:"case"`
	// FreshFor lets loads be answered from memory for so long. 0, the default, asks the
	// source each time. For federated mounts.
	FreshFor time.Duration `yaml:"fresh_for"`
}

// Native is a catalog that Piedmont owns.
type Native struct {
	// ID keys its state in the registry; it stays the same when the mount moves.
	ID string `yaml:"id"`
	// Warehouse is where tables are put that name no location.
	Warehouse string `yaml:"warehouse"`
	// FormatVersions are the table format versions that may be created and upgraded to;
	// none means 1, 2 and 3.
	FormatVersions []int `yaml:"format_versions"`
	// DefaultFormatVersion is that of a table whose creator asks for none; 0 means 2, or
	// the highest allowed if 2 isn't.
	DefaultFormatVersion int `yaml:"default_format_version"`
	// UndropWindow is how long a dropped table can be restored, and its files stay where the
	// drop asks for their removal. 0 means not at all; without it, 7 days.
	UndropWindow *time.Duration `yaml:"undrop_window"`
}

// REST is an upstream Iceberg REST catalog. At most one of Credential, Token and SigV4.
type REST struct {
	// URI is the catalog's base, without /v1.
	URI string `yaml:"uri"`
	// Warehouse is what the upstream's ?warehouse= is to be.
	Warehouse string `yaml:"warehouse"`
	// Credential is "id:secret" for OAuth2 client credentials.
	Credential string `yaml:"credential"`
	// OAuth2ServerURI is where tokens come from; empty for the catalog's own.
	OAuth2ServerURI string `yaml:"oauth2_server_uri"`
	// Scope of the token asked for; empty means "catalog".
	Scope string `yaml:"scope"`
	// Token is a bearer token that never expires.
	Token string `yaml:"token"`
	// SigV4 signs requests as AWS does.
	SigV4 *SigV4 `yaml:"sigv4"`
	// Connections is the most questions at once; 0 means 32.
	Connections int `yaml:"connections"`
	// Timeout bounds each question to the upstream; 0 means 30s.
	Timeout time.Duration `yaml:"timeout"`
}

// SigV4 signs requests to an upstream with AWS Signature Version 4.
type SigV4 struct {
	// Region and Service of the upstream, like eu-west-1 and glue.
	Region  string `yaml:"region"`
	Service string `yaml:"service"`
	// AccessKeyID and SecretAccessKey are static credentials; without them the process's own.
	AccessKeyID     string `yaml:"access_key_id"`
	SecretAccessKey string `yaml:"secret_access_key"`
}

// Glue is an AWS Glue Data Catalog.
type Glue struct {
	// Region is the catalog's, like eu-west-1.
	Region string `yaml:"region"`
	// CatalogID is the account that the catalog is of, or account:catalog for one inside; empty
	// for the credential's own account.
	CatalogID string `yaml:"catalog_id"`
	// RoleARN is a role to assume; empty for none.
	RoleARN string `yaml:"role_arn"`
	// ExternalID is what the role's owner may ask for.
	ExternalID string `yaml:"external_id"`
	// SessionName is what CloudTrail shows of the role's use; empty means "piedmont".
	SessionName string `yaml:"session_name"`
	// Endpoint is Glue's URL; empty for AWS's in the region.
	Endpoint string `yaml:"endpoint"`
	// STSEndpoint is the URL of STS, which gives the role's credentials; empty for AWS's.
	STSEndpoint string `yaml:"sts_endpoint"`
	// AccessKeyID and SecretAccessKey are static credentials; without them the process's own.
	AccessKeyID     string `yaml:"access_key_id"`
	SecretAccessKey string `yaml:"secret_access_key"`
	// CallsPerSecond bounds the calls to Glue; 0 means 20.
	CallsPerSecond int `yaml:"calls_per_second"`
	// Timeout bounds each question to Glue; 0 means 30s.
	Timeout time.Duration `yaml:"timeout"`
}

// Hive is a Hive Metastore of version 2.3 or newer.
type Hive struct {
	// URIs are metastores over one database, tried in this order: thrift://host:port, or
	// http:// and https:// for Thrift over HTTP.
	URIs []string `yaml:"uris"`
	// Catalog is a catalog of a metastore of version 3 or newer; empty means "hive".
	Catalog string `yaml:"catalog"`
	// User is whom the metastore is told that it is asked by. It is no credential.
	User string `yaml:"user"`
	// Framed says that the metastore wants framed messages.
	Framed bool `yaml:"framed"`
	// TLS makes thrift:// connections by TLS, and says how those of https:// are made.
	TLS *HiveTLS `yaml:"tls"`
	// Plain authenticates by SASL PLAIN.
	Plain *HivePlain `yaml:"plain"`
	// Connections is the most calls at once; 0 means 16.
	Connections int `yaml:"connections"`
	// Timeout bounds each question to the metastore; 0 means 30s.
	Timeout time.Duration `yaml:"timeout"`
}

// HiveTLS is how a metastore and we know each other. Files are PEM.
type HiveTLS struct {
	// CA is a file of certificates that sign the metastore's; empty for the system's.
	CA string `yaml:"ca"`
	// Cert and Key are files with our own certificate.
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// ServerName is the name in the metastore's certificate; empty for the URI's host.
	ServerName string `yaml:"server_name"`
}

// HivePlain is a user with a password.
type HivePlain struct {
	User     string `yaml:"user"`
	Password string `yaml:"password"`
}

// Auth says who may come in and what they may do.
type Auth struct {
	// Keys are the API keys. Without any, one for the principal admin is generated in data.
	Keys []Key `yaml:"keys"`
	// Admins are principals that may do everything no policy forbids.
	Admins []string `yaml:"admins"`
	// Policies are files of Cedar policies, or patterns of them, relative to the
	// configuration's own directory.
	Policies []string `yaml:"policies"`
}

// Key is one API key.
type Key struct {
	// ID is the part before the colon.
	ID string `yaml:"id"`
	// SHA256 is the hexadecimal digest of the secret, the part behind the colon.
	SHA256 string `yaml:"sha256"`
	// Principal is whom policies know the key's holder as.
	Principal string `yaml:"principal"`
	// Groups of the principal.
	Groups []string `yaml:"groups"`
}

// Bytes is a number of bytes.
type Bytes int64

// Default is the configuration without a file: one native mount at the root with a
// warehouse on the local disk below data, which must be absolute. Both end up in what
// clients see, so they can't be relative.
func Default(data string) Config {
	warehouse := "file://" + data + "/warehouse/"
	c := Config{
		Data:    data,
		Storage: []Storage{{Name: "local", Location: warehouse, Local: &Local{}}},
		Mounts:  []Mount{{Native: &Native{ID: "main", Warehouse: warehouse}, Storage: []string{"local"}}},
	}
	c.fill()
	return c
}

const (
	defaultName      = "piedmont"
	defaultListen    = "127.0.0.1:8181"
	defaultData      = "./piedmont-data"
	defaultBolt      = "registry.db"
	defaultDocuments = 256 << 20
	defaultUndrop    = 7 * 24 * time.Hour
)

// fill puts in what was left out.
func (c *Config) fill() {
	setDefault(&c.Name, defaultName)
	setDefault(&c.Listen, defaultListen)
	setDefault(&c.Data, defaultData)
	if c.Registry.Bolt == nil && c.Registry.Postgres == nil {
		c.Registry.Bolt = &Bolt{}
	}
	if c.Registry.Bolt != nil {
		setDefault(&c.Registry.Bolt.Path, defaultBolt)
	}
	for _, m := range c.Mounts {
		if m.Native != nil && m.Native.UndropWindow == nil {
			window := defaultUndrop
			m.Native.UndropWindow = &window
		}
	}
	if c.Cache.Documents == 0 {
		c.Cache.Documents = defaultDocuments
	}
}

func setDefault(s *string, value string) {
	if *s == "" {
		*s = value
	}
}
