package historytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// sighting is what a client knows of a table that it loaded.
type sighting struct {
	creator, uuid string
	main          string
	snapshots     int
}

// The properties that operations leave. What a change set is named after it.
const (
	creatorProperty = "creator"
	lastProperty    = "last"
	setProperty     = "set-"
)

// request is what goes over the wire for an operation.
func (o operation) request(namespace string) (method, path string, body any) {
	tables := "/v1/namespaces/" + namespace + "/tables"
	identifier := func(n int) any {
		return map[string]any{"namespace": []string{namespace}, "name": tableName(n)}
	}
	switch o.kind {
	case load:
		return http.MethodGet, tables + "/" + tableName(o.name), nil
	case exists:
		return http.MethodHead, tables + "/" + tableName(o.name), nil
	case list:
		return http.MethodGet, tables, nil
	case drop:
		return http.MethodDelete, tables + "/" + tableName(o.name), nil
	case rename:
		return http.MethodPost, "/v1/tables/rename", map[string]any{"source": identifier(o.name), "destination": identifier(o.to)}
	default: // a change
	}
	if p := o.parts[0]; len(o.parts) == 1 {
		if p.does == creates {
			return http.MethodPost, tables, map[string]any{
				"name": tableName(p.name), "schema": schema,
				"properties": map[string]string{creatorProperty: p.creator(o.id)},
			}
		}
		return http.MethodPost, tables + "/" + tableName(p.name), p.commit(o.id)
	}
	var changes []any
	for _, p := range o.parts {
		c := p.commit(o.id)
		c["identifier"] = identifier(p.name)
		changes = append(changes, c)
	}
	return http.MethodPost, "/v1/transactions/commit", map[string]any{"table-changes": changes}
}

var schema = map[string]any{"type": "struct", "schema-id": 0, "fields": []any{
	map[string]any{"id": 1, "name": "id", "required": false, "type": "long"},
}}

// commit is the requirements and updates of a part.
func (p part) commit(id int) map[string]any {
	mark := strconv.Itoa(id)
	requirements, updates := []any{}, []any{}
	if p.does != creates && p.does != sets {
		requirements = append(requirements, map[string]any{"type": "assert-table-uuid", "uuid": p.seen.uuid})
	}
	parent, _ := strconv.Atoi(p.seen.main)
	if p.does == appends || p.does == asserts {
		main := map[string]any{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": nil}
		if parent != 0 {
			main["snapshot-id"] = parent
		}
		requirements = append(requirements, main)
	}
	switch p.does {
	case creates:
		requirements = append(requirements, map[string]any{"type": "assert-create"})
		updates = append(updates,
			map[string]any{"action": "add-schema", "schema": schema},
			map[string]any{"action": "set-current-schema", "schema-id": -1},
			map[string]any{"action": "add-spec", "spec": map[string]any{"fields": []any{}}},
			map[string]any{"action": "set-default-spec", "spec-id": -1},
			map[string]any{"action": "add-sort-order", "sort-order": map[string]any{"fields": []any{}}},
			map[string]any{"action": "set-default-sort-order", "sort-order-id": -1},
			map[string]any{"action": "set-properties", "updates": map[string]string{creatorProperty: p.creator(id)}})
	case appends:
		snapshot := map[string]any{
			"snapshot-id": id, "sequence-number": p.seen.snapshots + 1, "timestamp-ms": 1_800_000_000_000 + id,
			"manifest-list": "file:///none/" + mark, "summary": map[string]string{"operation": "append"}, "schema-id": 0,
		}
		if parent != 0 {
			snapshot["parent-snapshot-id"] = parent
		}
		updates = append(updates,
			map[string]any{"action": "add-snapshot", "snapshot": snapshot},
			map[string]any{"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": id})
	case sets, setsSeen:
		updates = append(updates, map[string]any{"action": "set-properties", "updates": map[string]string{setProperty + mark: mark, lastProperty: mark}})
	case asserts:
	}
	return map[string]any{"requirements": requirements, "updates": updates}
}

// document is the part of a table's metadata that histories look at.
type document struct {
	UUID       string            `json:"table-uuid"`
	Properties map[string]string `json:"properties"`
	Current    int64             `json:"current-snapshot-id"`
	Snapshots  []struct {
		ID       int64 `json:"snapshot-id"`
		Sequence int64 `json:"sequence-number"`
	} `json:"snapshots"`
}

// readTable reads a LoadTableResult. An error means that the table is torn: its parts
// contradict each other.
func readTable(answer []byte) (table, sighting, error) {
	var r struct {
		Location string   `json:"metadata-location"`
		Metadata document `json:"metadata"`
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return table{}, sighting{}, fmt.Errorf("no table: %w", err)
	}
	d := r.Metadata
	t := table{creator: d.Properties[creatorProperty], last: d.Properties[lastProperty]}
	for name := range d.Properties {
		if mark, ok := strings.CutPrefix(name, setProperty); ok {
			t.properties = append(t.properties, mark)
		}
	}
	slices.Sort(t.properties)
	for i, s := range d.Snapshots {
		t.snapshots = append(t.snapshots, strconv.FormatInt(s.ID, 10))
		if s.Sequence != int64(i+1) {
			return t, sighting{}, fmt.Errorf("snapshot %d of %d has the sequence number %d", i+1, len(d.Snapshots), s.Sequence)
		}
	}
	seen := sighting{creator: t.creator, uuid: d.UUID, main: t.main(), snapshots: len(t.snapshots)}
	if main := strconv.FormatInt(d.Current, 10); len(t.snapshots) > 0 && main != seen.main {
		return t, seen, fmt.Errorf("main is at %s, the last snapshot is %s", main, seen.main)
	}
	if t.creator == "" || d.UUID == "" || r.Location == "" {
		return t, seen, fmt.Errorf("no creator, uuid or metadata location")
	}
	return t, seen, nil
}

// readList is the names of a ListTablesResponse, as state.listed writes them.
func readList(answer []byte) (string, error) {
	var r struct {
		Identifiers []struct{ Name string }
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return "", fmt.Errorf("no list: %w", err)
	}
	var all []string
	for _, id := range r.Identifiers {
		all = append(all, id.Name)
	}
	slices.Sort(all)
	return strings.Join(all, ","), nil
}

// refusal reads why something was refused. An error means that the operations of a
// history give no reason for such an answer.
func refusal(status int, answer []byte) (reason, error) {
	var r struct {
		Error struct{ Type, Message string }
	}
	_ = json.Unmarshal(answer, &r) // an answer to HEAD has no body
	switch {
	case status == http.StatusNotFound && (r.Error.Type == "NoSuchTableException" || len(answer) == 0):
		return missing, nil
	case status == http.StatusConflict && r.Error.Type == "AlreadyExistsException":
		return taken, nil
	case status == http.StatusConflict && strings.HasPrefix(r.Error.Message, "Requirement failed: "):
		return failed, nil
	case status == http.StatusConflict && strings.HasSuffix(r.Error.Message, "lost against concurrent changes too often; nothing was written"):
		return lost, nil
	}
	return 0, fmt.Errorf("answered %d %s", status, answer)
}
