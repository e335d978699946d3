package native

import (
	"context"
	"fmt"
	"time"

	"piedmont/mounts"
)

// SeedTables enters tables named t0000000 and on that share one metadata document straight
// into a registry: a million of them through the front door would write a million files.
func SeedTables(r Registry, in mounts.Namespace, metadata, uuid string, tables int) error {
	const batch = 2000
	for from := 0; from < tables; from += batch {
		changes := make([]Change, 0, 2*batch)
		for i := from; i < min(from+batch, tables); i++ {
			id := in.Table(fmt.Sprintf("t%07d", i))
			value, err := pointer{Type: typeTable, Object: id.Name, UUID: uuid, Location: metadata, Metadata: metadata}.encode()
			if err != nil {
				return err
			}
			changes = append(changes, put(objectKey("main", id), value), put(listKey(typeTable, "main", id), nil))
		}
		if err := r.Commit(context.Background(), nil, changes); err != nil {
			return err
		}
	}
	return nil
}

// Settle waits until no commit is under way and no file is being deleted.
func (c *Catalog) Settle() {
	c.queues.wait()
	c.cleaner.wait()
}

// SetPatience sets how long a commit waits for its turn.
func (c *Catalog) SetPatience(d time.Duration) { c.patience = d }

// ForgetDocuments empties the cache of served documents. What was parsed stays known.
func (c *Catalog) ForgetDocuments() { c.documents.Clear() }

// ForgetEverything empties the caches, as a restart does.
func (c *Catalog) ForgetEverything() {
	c.documents.Clear()
	c.parsed.Clear()
}

// FilesIn reads a manifest, as a purge does.
func FilesIn(manifest []byte) ([]string, error) { return filesIn(context.Background(), manifest) }

// ManifestsIn reads a manifest list.
func ManifestsIn(list []byte) ([]string, error) { return manifestsIn(context.Background(), list) }
