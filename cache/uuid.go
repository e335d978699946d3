package cache

import "piedmont/cache/rawjson"

// TableUUID is the document's table-uuid, "" where it has none. It is looked up once.
func (d *Document) TableUUID() string {
	d.identify.Do(d.readUUIDs)
	return d.tableUUID
}

// ViewUUID is the document's view-uuid, "" where it has none. It is looked up once.
func (d *Document) ViewUUID() string {
	d.identify.Do(d.readUUIDs)
	return d.viewUUID
}

func (d *Document) readUUIDs() {
	o, err := rawjson.ParseObject(d.raw)
	if err != nil {
		return // two members of one name: nobody can say which it is
	}
	text := func(key string) string {
		raw, _ := o.Get(key)
		s, _ := rawjson.String(raw)
		return s
	}
	d.tableUUID, d.viewUUID = text("table-uuid"), text("view-uuid")
}
