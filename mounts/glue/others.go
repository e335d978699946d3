package glue

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/glue/types"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

var _ metastore.Inventory = (*Source)(nil)

// Others lists what isn't of Iceberg in a database, as Objects lists what is: entries come whole,
// so that Glue tells what each is.
func (s *Source) Others(ctx context.Context, database, token string, size int) ([]mounts.OtherObject, string, error) {
	is := map[string]string{}
	names, next, err := s.objects(ctx, "list other objects", database, func(t *types.Table) bool {
		if kindOf(t) != metastore.Other {
			return false
		}
		text := what(t)
		if t.TargetTable != nil {
			text = "a resource link" // to what isn't shown here, or isn't of Iceberg
		}
		is[lower(aws.ToString(t.Name))] = text
		return true
	}, token, size)
	others := make([]mounts.OtherObject, len(names))
	for i, name := range names {
		others[i] = mounts.OtherObject{Name: name, Is: is[name]}
	}
	return others, next, err
}
