package cache

import "regexp"

// uuidInName finds a UUID in the last segment of a location.
var uuidInName = regexp.MustCompile(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}[^/]*$`)

// Immutable says whether the metadata file at a location is never written again: its name
// carries a UUID. Others, like v1.metadata.json, may be.
func Immutable(location string) bool { return uuidInName.MatchString(location) }
