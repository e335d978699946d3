// Package survey looks through mounts and tells what is in them: namespaces, tables, views and
// other objects, which tables can't be loaded and why, who wrote them lately, and which lie in each
// other's places. It asks as a client would, within a budget of calls, and can go on where
// it was interrupted.
package survey

import (
	"strings"
	"time"
)

// Version is that of a journal's format.
const Version = 1

// Line is a line of a journal, or of what is told at the end. One member is set.
type Line struct {
	Survey    *Header    `json:"survey,omitempty"`
	Namespace *Namespace `json:"namespace,omitempty"`
	Table     *Table     `json:"table,omitempty"`
	View      *View      `json:"view,omitempty"`
	Overlap   *Overlap   `json:"overlap,omitempty"`
	Mount     *Summary   `json:"mount,omitempty"`
}

// Header is the first line: what is surveyed.
type Header struct {
	Version int `json:"version"`
	// Since is from when on writers are told.
	Since  time.Time `json:"since"`
	Mounts []Source  `json:"mounts"`
}

// Source is a mount as a journal knows it again.
type Source struct {
	// Mount is the mount point's path; empty for the root.
	Mount string `json:"mount"`
	Kind  string `json:"kind"`
	// Identity says which catalog it is, as far as a change would make it another.
	Identity string `json:"identity"`
}

// State is what is known of something.
type State string

// The states.
const (
	// Loaded is a table or view that can be loaded.
	Loaded State = "loaded"
	// Broken is a table or view that surely can't.
	Broken State = "broken"
	// Unknown is what nobody could be asked about. A survey that goes on asks again.
	Unknown State = "unknown"
	// Gone is what was listed, and wasn't there when it was looked at.
	Gone State = "gone"
	// Complete is a namespace or a mount in which nothing is unknown, Incomplete one of which
	// something is, or that the survey didn't come to the end of.
	Complete   State = "complete"
	Incomplete State = "incomplete"
	// Skipped is a mount that wasn't looked at, Failed one that couldn't be asked, or at some time
	// not any more.
	Skipped State = "skipped"
	Failed  State = "failed"
)

// Why a table or view is Broken. Reasons of what is Unknown are kinds of errors, with dashes:
// "unavailable", "timeout", "bad-gateway".
const (
	FileGone           = "file-gone"            // the metadata file is gone
	NoMetadataLocation = "no-metadata-location" // the catalog doesn't say where it is
	NoStorageProfile   = "no-storage-profile"   // no storage profile of the mount reaches it
	NotMetadata        = "not-metadata"         // it is no metadata document
)

// Namespace is a namespace, once everything in it was looked at.
type Namespace struct {
	Mount string `json:"mount"`
	// Name is the path in the tree, levels joined by dots; see Path.
	Name     string `json:"name"`
	State    State  `json:"state"`
	Reason   string `json:"reason,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Children int    `json:"children"`
	// Others counts what isn't of Iceberg, by what it is; absent where the catalog can't tell.
	Others map[string]int `json:"others,omitempty"`
}

// Table is a table.
type Table struct {
	Mount            string `json:"mount"`
	Name             string `json:"name"`
	State            State  `json:"state"`
	Reason           string `json:"reason,omitempty"`
	Detail           string `json:"detail,omitempty"`
	Storage          string `json:"storage,omitempty"`
	MetadataLocation string `json:"metadata-location,omitempty"`
	Content
}

// View is a view.
type View struct {
	Mount            string `json:"mount"`
	Name             string `json:"name"`
	State            State  `json:"state"`
	Reason           string `json:"reason,omitempty"`
	Detail           string `json:"detail,omitempty"`
	MetadataLocation string `json:"metadata-location,omitempty"`
	// Dialects are those of its current version's representations, sorted.
	Dialects []string `json:"dialects,omitempty"`
}

// pathEscaper makes a level's dots and percent signs others than those between levels.
var pathEscaper = strings.NewReplacer("%", "%25", ".", "%2E")

// Path writes a name as commands and policies do: levels joined by dots, a dot inside a level as
// %2E, a percent sign as %25.
func Path(levels ...string) string {
	escaped := make([]string, len(levels))
	for i, level := range levels {
		escaped[i] = pathEscaper.Replace(level)
	}
	return strings.Join(escaped, ".")
}
