package hive

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	hms "github.com/beltran/gohive/hive_metastore"
)

// handler answers as a metastore does.
type handler struct {
	hms.ThriftHiveMetastore // the calls that nobody may make
	*fake
}

// place splits "@catalog#db", and ignores case and spaces as metastores do.
func (h handler) place(name string) (catalog, database string, err error) {
	catalog, database = "hive", name
	if h.version > 2 && strings.HasPrefix(name, "@") {
		var ok bool
		if catalog, database, ok = strings.Cut(name[1:], "#"); !ok {
			return "", "", &hms.MetaException{Message: name + " is prepended with the catalog marker but does not appear to have a catalog name in it"}
		}
	}
	return catalog, strings.ToLower(strings.TrimSpace(database)), nil
}

func (h handler) GetDatabase(_ context.Context, name string) (*hms.Database, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	catalog, database, err := h.place(name)
	if err != nil {
		return nil, err
	}
	d, ok := h.databases[catalog+"."+database]
	if h.sick != "" {
		return nil, &hms.NoSuchObjectException{Message: strings.ReplaceAll(h.sick, "sales", database)}
	}
	if !ok {
		return nil, &hms.NoSuchObjectException{Message: name}
	}
	return d, nil
}

func (h handler) GetAllDatabases(ctx context.Context) ([]string, error) {
	return h.GetDatabases(ctx, "*")
}

func (h handler) GetDatabases(_ context.Context, pattern string) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	catalog, database, err := h.place(pattern)
	if err != nil || database != "*" {
		return nil, &hms.MetaException{Message: "no such pattern"}
	}
	names := []string{}
	for key := range h.databases {
		if name, ok := strings.CutPrefix(key, catalog+"."); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

func (h handler) GetCatalogs(context.Context) (*hms.GetCatalogsResponse, error) {
	return &hms.GetCatalogsResponse{Names: []string{"hive", "spark"}}, nil
}

func (h handler) SetUgi(_ context.Context, user string, _ []string) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users = append(h.users, user)
	return []string{user}, nil
}

func (h handler) GetTableReq(_ context.Context, r *hms.GetTableRequest) (*hms.GetTableResult_, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	catalog := "hive"
	if h.version > 2 && r.CatName != nil {
		catalog = *r.CatName
	}
	t, ok := h.tables[catalog+"."+strings.ToLower(strings.TrimSpace(r.DbName))+"."+strings.ToLower(strings.TrimSpace(r.TblName))]
	switch {
	case !ok:
		return nil, &hms.NoSuchObjectException{Message: r.DbName + "." + r.TblName + " table not found"}
	case t.Parameters["transactional_properties"] == "insert_only" && !slices.Contains(r.Capabilities.GetValues(), hms.ClientCapability_INSERT_ONLY_TABLES):
		return nil, &hms.MetaException{Message: "Your client does not appear to support insert-only tables."}
	}
	return &hms.GetTableResult_{Table: t}, nil
}

var filterForm = regexp.MustCompile(`^hive_filter_field_params__table_type like "([^"]*)"$`)

func (h handler) GetTableNamesByFilter(_ context.Context, name, filter string, most int16) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	form := filterForm.FindStringSubmatch(filter)
	if form == nil || most != -1 {
		return nil, &hms.MetaException{Message: "another filter"}
	}
	pattern, err := regexp.Compile("^(?:" + form[1] + ")$")
	if err != nil {
		return nil, &hms.MetaException{Message: err.Error()}
	}
	catalog, database, err := h.place(name)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, key := range slices.Sorted(maps.Keys(h.tables)) {
		t := h.tables[key]
		if value, ok := t.Parameters["table_type"]; ok && strings.HasPrefix(key, catalog+"."+database+".") && pattern.MatchString(value) {
			names = append(names, t.TableName)
		}
	}
	slices.Reverse(names)
	return names, nil
}
