package metastoretest

import (
	"context"
	"maps"
	"slices"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

var _ metastore.Inventory = (*Source)(nil)

// Others implements metastore.Inventory. Iceberg's own are among them, as a metastore has it
// that only knows a table from a view.
func (s *Source) Others(ctx context.Context, name, token string, size int) ([]mounts.OtherObject, string, error) {
	if err := s.called(ctx, Call{Method: "Others", Database: name, Token: token}); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.databases[name]
	if d == nil {
		return nil, "", nil
	}
	names, next, err := s.page(slices.Collect(maps.Keys(d.objects)), token, size)
	others := make([]mounts.OtherObject, len(names))
	for i, name := range names {
		is := d.objects[name].Is
		if is == "" {
			is = "a table or view"
		}
		others[i] = mounts.OtherObject{Name: name, Is: is}
	}
	return others, next, err
}
