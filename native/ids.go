package native

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// maxIDs bounds the mount ids that IDs looks for.
const maxIDs = 10_000

// IDs lists the ids of the native mounts that have something in the registry, sorted. It
// steps from id to id, so it costs what there are ids, not what there are tables.
func IDs(ctx context.Context, r Registry) ([]string, error) {
	var ids []string
	for _, kind := range []string{kindNamespace, kindObject} {
		after := Key("")
		for range maxIDs {
			found, err := r.Scan(ctx, Key(kind), after, 1)
			if err != nil {
				return nil, fmt.Errorf("list the ids in the registry: %w", err)
			}
			if len(found) == 0 {
				break
			}
			id, _, _ := strings.Cut(string(found[0].Key[len(kind):]), nul)
			ids = append(ids, id)
			after = Key(kind + id + "\x01") // behind every key of this id
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
