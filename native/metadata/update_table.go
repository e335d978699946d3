package metadata

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

type (
	assignUUID           struct{ uuid string }
	upgradeFormatVersion struct{ version int }
	setLocation          struct{ location string }
	setProperties        struct{ properties map[string]string }
	removeProperties     struct{ names []string }
)

func (assignUUID) Action() string           { return "assign-uuid" }
func (upgradeFormatVersion) Action() string { return "upgrade-format-version" }
func (setLocation) Action() string          { return "set-location" }
func (setProperties) Action() string        { return "set-properties" }
func (removeProperties) Action() string     { return "remove-properties" }

// apply gives a table that has none its uuid. Java would also replace one; the REST
// spec calls that unsafe, and here requirements, caches and shared locations rely on
// it, so another uuid is refused.
func (u assignUUID) apply(b *builder) error {
	uuid, err := u.instead(b.uuid, "table")
	if uuid != b.uuid {
		b.uuid, b.changed = uuid, true
	}
	return err
}

// instead is the uuid of what has the uuid have, empty if it has none yet.
func (u assignUUID) instead(have, kind string) (string, error) {
	switch {
	case have != "" && strings.EqualFold(u.uuid, have):
		return have, nil
	case have != "":
		return have, badRequest("Cannot reassign uuid: the " + kind + " has one")
	case !validUUID(u.uuid):
		return have, badRequest("Invalid uuid: expected 8-4-4-4-12 hexadecimal digits")
	}
	return u.uuid, nil
}

func validUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if dash != (c == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

// apply raises the format version; it never lowers it.
func (u upgradeFormatVersion) apply(b *builder) error { return b.upgrade(u.version) }

func (b *builder) upgrade(version int) error {
	switch {
	case version < b.version:
		return badRequest("Cannot downgrade v" + itoa(b.version) + " table to v" + itoa(version))
	case version == b.version:
		return nil
	case !allowed(b.opt.FormatVersions, version):
		return badRequest("Cannot upgrade table to unsupported format version: v" + itoa(version) + b.supported())
	}
	if b.version == 1 {
		// From v2 on the lists are required and the forms before them gone.
		for _, name := range []string{"schemas", "partition-specs", "sort-orders"} {
			b.list(name).changed = true
		}
		if b.references().Len() > 0 {
			b.refsChanged = true
		}
		b.top.Delete("schema")
		b.top.Delete("partition-spec")
	}
	b.version, b.changed = version, true
	return nil
}

func (b *builder) supported() string { return supportedVersions(b.opt.FormatVersions) }

func supportedVersions(versions []int) string {
	var names []string
	for v := 1; v <= maxFormatVersion; v++ {
		if allowed(versions, v) {
			names = append(names, "v"+itoa(v))
		}
	}
	return " (supported: " + strings.Join(names, ", ") + ")"
}

// apply moves the table's base location; its files stay where they are.
func (u setLocation) apply(b *builder) error {
	location, err := cleanLocation(u.location)
	if err != nil {
		return err
	}
	if location != b.location {
		b.location, b.changed = location, true
	}
	return nil
}

// cleanLocation strips trailing slashes, all of them, but those of a bare scheme
// (LocationUtil.stripTrailingSlash in Java).
func cleanLocation(location string) (string, error) {
	if location == "" {
		return "", badRequest("Invalid location: empty")
	}
	for strings.HasSuffix(location, "/") && !strings.HasSuffix(location, "://") {
		location = location[:len(location)-1]
	}
	if location == "" {
		return "", badRequest("Invalid location: only slashes")
	}
	return location, nil
}

// isReserved says whether a property only commands something and is never stored
// (TableProperties.RESERVED_PROPERTIES in Java).
func isReserved(name string) bool {
	switch name {
	case "format-version", "uuid", "snapshot-count", "current-snapshot-id", "current-snapshot-summary",
		"current-snapshot-timestamp-ms", "current-schema", "default-partition-spec", "default-sort-order":
		return true
	}
	return false
}

func withoutReserved(properties map[string]string) map[string]string {
	kept := maps.Clone(properties)
	maps.DeleteFunc(kept, func(name, _ string) bool { return isReserved(name) })
	return kept
}

// apply sets properties. Of the reserved ones format-version upgrades the table, as
// TableProperties.FORMAT_VERSION promises, and the others are dropped.
func (u setProperties) apply(b *builder) error {
	if text, ok := u.properties["format-version"]; ok {
		version, err := strconv.Atoi(text)
		if err != nil {
			return badRequest("Invalid format-version: not a number")
		}
		if err := b.upgrade(version); err != nil {
			return err
		}
	}
	if setStrings(b.properties(), withoutReserved(u.properties)) {
		b.propsChanged, b.changed = true, true
	}
	return nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// apply removes properties; one that isn't set is nothing to remove.
func (u removeProperties) apply(b *builder) error {
	if deleteAll(b.properties(), u.names) {
		b.propsChanged, b.changed = true, true
	}
	return nil
}
