package metadata

import "slices"

// Referenced are the files that a document names besides metadata files,
// sorted, each once.
type Referenced struct {
	// ManifestLists are those of the snapshots.
	ManifestLists []string
	// Manifests are what v1 snapshots without a manifest list name directly.
	Manifests []string
	// Statistics are the files of statistics and of partition statistics.
	Statistics []string
}

// Referenced finds the files that the document names; what manifest lists and manifests name
// in turn isn't looked at. The error is a BadRequest *mounts.Error: who deletes by these
// lists must not take a member that can't be read for an empty one.
func (d *Document) Referenced() (Referenced, error) {
	var found Referenced
	r := &reader{what: "table metadata"}
	top := &object{Object: d.top, r: r}
	for _, snapshot := range top.optChildren("snapshots") {
		if list := snapshot.optStr("manifest-list"); list != "" {
			found.ManifestLists = append(found.ManifestLists, list)
		} else if snapshot.has("manifests") {
			found.Manifests = append(found.Manifests, snapshot.strings("manifests")...)
		}
	}
	for _, member := range []string{"statistics", "partition-statistics"} {
		for _, file := range top.optChildren(member) {
			found.Statistics = append(found.Statistics, file.str("statistics-path"))
		}
	}
	for _, list := range []*[]string{&found.ManifestLists, &found.Manifests, &found.Statistics} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return found, r.err
}
