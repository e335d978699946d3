package rest

import (
	"slices"

	"piedmont/mounts"
)

// spell is how lists have a name of the upstream's. Of one that ignores case it is the only
// spelling that anybody can ask for.
func (c *Catalog) spell(name string) string {
	if c.lower {
		return mounts.Lower(name)
	}
	return name
}

// same says whether the upstream's name of a namespace is the one it was asked for. An upstream
// that ignores case may have kept what was typed once.
func (c *Catalog) same(theirs, ours mounts.Namespace) bool {
	return theirs.Equal(ours) || c.lower && slices.EqualFunc(theirs, ours, func(a, b string) bool { return mounts.Lower(a) == mounts.Lower(b) })
}
