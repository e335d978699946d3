package hive

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	hms "github.com/beltran/gohive/hive_metastore"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

var _ metastore.Notifier = (*Source)(nil)

// maxMessage is how much of an event's message is read, unpacked.
const maxMessage = 8 << 20

const opEvents = "read notification events"

// CurrentNotification is the id of the latest event. Many metastores log none, so that it never
// moves, and those of version 3 and newer refuse to tell it unless they are configured to.
func (s *Source) CurrentNotification(ctx context.Context) (int64, error) {
	r, err := askOver(ctx, s.events, maxObject, func(ctx context.Context, c *hms.ThriftHiveMetastoreClient) (*hms.CurrentNotificationEventId, error) {
		return some(c.GetCurrentNotificationEventId(ctx))
	})
	if err != nil {
		return 0, s.fail(opEvents, "", mounts.Internal, err)
	}
	return r.EventId, nil
}

// Notifications reads events, of all of the metastore's catalogs.
func (s *Source) Notifications(ctx context.Context, after int64, most int) ([]metastore.Notification, error) {
	request := hms.NewNotificationEventRequest()
	limit := int32(most)
	request.LastEvent, request.MaxEvents = after, &limit
	r, err := askOver(ctx, s.events, maxObject, func(ctx context.Context, c *hms.ThriftHiveMetastoreClient) (*hms.NotificationEventResponse, error) {
		return some(c.GetNextNotification(ctx, request))
	})
	if err != nil {
		return nil, s.fail(opEvents, "", mounts.Internal, err)
	}
	list := make([]metastore.Notification, len(r.Events))
	all := false // then it's all the same what else there is
	for i, e := range r.Events {
		list[i].ID = e.EventId
		if !all {
			list[i].Names, list[i].All = s.changed(e)
			all = list[i].All
		}
	}
	return list, nil
}

// changed is what an event may have changed: names, or all of them.
func (s *Source) changed(e *hms.NotificationEvent) (names []metastore.ObjectName, all bool) {
	if !s.ours(e.GetCatName()) {
		return nil, false
	}
	kind := strings.ToUpper(e.EventType)
	named := metastore.ObjectName{Database: strings.ToLower(e.GetDbName()), Name: strings.ToLower(e.GetTableName())}
	switch {
	case named.Name == "":
		// Else it is about no table: functions, transactions.
		return nil, kind == "ALTER_DATABASE" || kind == "DROP_DATABASE" || strings.HasSuffix(kind, "_TABLE")
	case named.Database == "":
		return nil, true
	case kind != "ALTER_TABLE":
		return []metastore.ObjectName{named}, false
	}
	before, err := nameBefore(e.GetMessageFormat(), e.Message)
	if err != nil {
		return nil, true
	}
	return []metastore.ObjectName{before, named}, false
}

// ours says whether an event is of the mount's catalog. Version 2 doesn't say.
func (s *Source) ours(catalog string) bool {
	own := s.catalog
	if own == "" {
		own = defaultCatalog
	}
	return catalog == "" || strings.EqualFold(catalog, own)
}

// nameBefore is what a table was called before it was altered: a rename is an alteration too, and
// only the message has the old name. It is a JSON object, and from version 4 on packed. What else
// there is (the whole table, as it was and as it is) comes behind the name and isn't read.
func nameBefore(format, message string) (metastore.ObjectName, error) {
	var name metastore.ObjectName
	in := io.Reader(strings.NewReader(message))
	switch {
	case format == "" || strings.HasPrefix(format, "json-"):
	case strings.HasPrefix(format, "gzip(json-"):
		unpacked, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, in))
		if err != nil {
			return name, fmt.Errorf("unpack the message: %w", err)
		}
		in = unpacked
	default:
		return name, errors.New("a format that isn't known")
	}
	d := json.NewDecoder(io.LimitReader(in, maxMessage))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return name, errors.Join(errors.New("the message is no object"), err)
	}
	for name.Database == "" || name.Name == "" {
		if err := member(d, &name); err != nil {
			return name, err
		}
	}
	return metastore.ObjectName{Database: strings.ToLower(name.Database), Name: strings.ToLower(name.Name)}, nil
}

// member reads one member of an object.
func member(d *json.Decoder, name *metastore.ObjectName) error {
	key, err := d.Token()
	if err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	var value any = &json.RawMessage{}
	switch key {
	case "db":
		value = &name.Database
	case "table":
		value = &name.Name
	case json.Delim('}'):
		return errors.New("the message names no table")
	}
	if err := d.Decode(value); err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	return nil
}
