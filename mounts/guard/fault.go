package guard

import (
	"strings"
	"time"

	"piedmont/mounts"
)

// Fault is a failure of a source whose kind is known where it happens. Clients turn it into a
// *mounts.Error once they know the operation and the object.
type Fault struct {
	Kind mounts.Kind
	// Text follows "The catalog behind mount 'x' " in what a client sees, so it holds no host and
	// none of the source's words. {name} in it is the object.
	Text string
	// RetryAfter is how long the source asked to be left alone; 0 where it said nothing.
	RetryAfter time.Duration
	// Ours: we refused, so it says nothing of how the source is.
	Ours bool
	// Err is the cause: logged, never shown.
	Err error
}

// Error is for the log.
func (f *Fault) Error() string {
	if f.Err == nil {
		return f.Text
	}
	return f.Text + ": " + f.Err.Error()
}

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Broken is an answer that no source of its kind should give: a BadGateway.
func Broken(text string, cause error) error {
	return &Fault{Kind: mounts.BadGateway, Text: text, Err: cause}
}

// Describe is how messages call the mount at a path; empty for the root.
func Describe(path string) string {
	if path == "" {
		return "the root mount"
	}
	return "mount '" + path + "'"
}

// About says in a detail which object it is about, where it doesn't yet. A detail that is empty
// leaves the wording to the kind, which names the object; without a name there is none.
func About(detail, name string) string {
	if detail == "" || name == "" || strings.Contains(detail, "{name}") {
		return detail
	}
	return detail + " (asked for {name})"
}
