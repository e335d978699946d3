package authz

// Action is one thing a caller can do, named by its operationId in the Iceberg REST
// specification.
type Action string

// The actions, by the group that policies may name instead.
const (
	// Group "read".
	ListNamespaces        Action = "listNamespaces"
	LoadNamespaceMetadata Action = "loadNamespaceMetadata"
	NamespaceExists       Action = "namespaceExists"
	ListTables            Action = "listTables"
	LoadTable             Action = "loadTable"
	TableExists           Action = "tableExists"
	ReportMetrics         Action = "reportMetrics"
	ListViews             Action = "listViews"
	LoadView              Action = "loadView"
	ViewExists            Action = "viewExists"

	// Group "write".
	CreateNamespace Action = "createNamespace"
	CreateTable     Action = "createTable"
	UpdateTable     Action = "updateTable"
	RenameTable     Action = "renameTable"
	CreateView      Action = "createView"
	ReplaceView     Action = "replaceView"
	RenameView      Action = "renameView"

	// Group "manage".
	DropNamespace    Action = "dropNamespace"
	UpdateProperties Action = "updateProperties"
	RegisterTable    Action = "registerTable"
	UnregisterTable  Action = "unregisterTable"
	DropTable        Action = "dropTable"
	RegisterView     Action = "registerView"
	DropView         Action = "dropView"
)

// schema is what policies are checked against at load: a policy that names an action or
// an attribute that doesn't exist would otherwise never match, which for a forbid means
// an open door.
const schema = `
entity Role;
entity Group;
entity User in [Group, Role];
entity Mount;
entity Namespace in [Namespace, Mount] { name: String, path: String };
entity Table in [Namespace, Mount] { name: String, path: String };
entity View in [Namespace, Mount] { name: String, path: String };

action read, write, manage;

action listNamespaces, loadNamespaceMetadata, namespaceExists, listTables, listViews in [read]
  appliesTo { principal: User, resource: Namespace, context: {} };
action loadTable, tableExists, reportMetrics in [read]
  appliesTo { principal: User, resource: Table, context: {} };
action loadView, viewExists in [read]
  appliesTo { principal: User, resource: View, context: {} };

action createNamespace in [write]
  appliesTo { principal: User, resource: Namespace, context: {} };
action createTable, updateTable, renameTable in [write]
  appliesTo { principal: User, resource: Table, context: {} };
action createView, replaceView, renameView in [write]
  appliesTo { principal: User, resource: View, context: {} };

action dropNamespace, updateProperties in [manage]
  appliesTo { principal: User, resource: Namespace, context: {} };
action registerTable, unregisterTable, dropTable in [manage]
  appliesTo { principal: User, resource: Table, context: {} };
action registerView, dropView in [manage]
  appliesTo { principal: User, resource: View, context: {} };
`

// adminPolicy always stays. A forbid in a policy file binds admins too.
const adminPolicy = `permit (principal in Role::"admin", action, resource);`

// groups of actions, as the schema has them.
var actionGroups = map[Action]string{
	ListNamespaces: "read", LoadNamespaceMetadata: "read", NamespaceExists: "read", ListTables: "read", LoadTable: "read",
	TableExists: "read", ReportMetrics: "read", ListViews: "read", LoadView: "read", ViewExists: "read",
	CreateNamespace: "write", CreateTable: "write", UpdateTable: "write", RenameTable: "write", CreateView: "write",
	ReplaceView: "write", RenameView: "write",
	DropNamespace: "manage", UpdateProperties: "manage", RegisterTable: "manage", UnregisterTable: "manage",
	DropTable: "manage", RegisterView: "manage", DropView: "manage",
}
