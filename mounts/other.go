package mounts

// OtherObject is a name in a namespace of a catalog that stands for no table and no view of
// Iceberg.
type OtherObject struct {
	Name string
	// Is says what it is, in words of ours: "a Hive view", "a Delta Lake table".
	Is string
}
