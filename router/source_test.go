package router_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"piedmont/cache"
	"piedmont/mounts"
)

// source is a read-only mount in memory. It counts what reached it.
type source struct {
	mu         sync.Mutex
	namespaces map[string]map[string]string // by dotted name
	tables     map[string]string            // documents by dotted name
	sick       error                        // what every call answers
	asked      time.Time                    // when it was asked for tables it answers from memory
	loaded     mounts.LoadOptions           // of the last load
	noCache    bool                         // of the last load or look whether a table exists
	calls      []string
	closed     bool
}

// oldTable is the document of db1.t1.
const oldTable = `{"format-version":2,"table-uuid":"5b1ab2b9-0000-4000-8000-000000000001","location":"s3://old/db1/t1","snapshots":[{"snapshot-id":9007199254740993},{"snapshot-id":2}],"refs":{"main":{"snapshot-id":9007199254740993,"type":"branch"}},"unknown":1.10}`

// newSource has the namespaces db1, db1.sub and db2 and the table db1.t1.
func newSource() *source {
	return &source{
		namespaces: map[string]map[string]string{"db1": {"owner": "old"}, "db1.sub": {}, "db2": {}},
		tables:     map[string]string{"db1.t1": oldTable},
	}
}

func (s *source) called(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
	return s.sick
}

// forget starts counting anew.
func (s *source) forget() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sick = err
}

func (s *source) known(n mounts.Namespace) error {
	if _, ok := s.namespaces[n.String()]; !ok && !n.IsRoot() {
		return &mounts.Error{Kind: mounts.NoSuchNamespace, Name: n.String()}
	}
	return nil
}

// ListNamespaces answers in one page, whatever its size.
func (s *source) ListNamespaces(_ context.Context, _ mounts.Caller, parent mounts.Namespace, _ mounts.Page) ([]mounts.Namespace, string, error) {
	if err := s.called("ListNamespaces"); err != nil {
		return nil, "", err
	}
	var children []mounts.Namespace
	for name := range s.namespaces {
		if n := mounts.Namespace(strings.Split(name, ".")); n.Parent().Equal(parent) {
			children = append(children, n)
		}
	}
	slices.SortFunc(children, func(a, b mounts.Namespace) int { return strings.Compare(a.Last(), b.Last()) })
	return children, "", s.known(parent)
}

func (s *source) LoadNamespace(_ context.Context, _ mounts.Caller, n mounts.Namespace) (map[string]string, error) {
	if err := s.called("LoadNamespace"); err != nil {
		return nil, err
	}
	return s.namespaces[n.String()], s.known(n)
}

func (s *source) ListTables(_ context.Context, _ mounts.Caller, n mounts.Namespace, _ mounts.Page) ([]mounts.Identifier, string, error) {
	if err := s.called("ListTables"); err != nil {
		return nil, "", err
	}
	var tables []mounts.Identifier
	for name := range s.tables {
		if table, in := strings.CutPrefix(name, n.String()+"."); in && !strings.Contains(table, ".") {
			tables = append(tables, n.Table(table))
		}
	}
	return tables, "", s.known(n)
}

func (s *source) LoadTable(_ context.Context, c mounts.Caller, id mounts.Identifier, o mounts.LoadOptions) (*mounts.Table, error) {
	if err := s.called("LoadTable"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.loaded, s.noCache = o, c.NoCache
	s.mu.Unlock()
	text, ok := s.tables[id.String()]
	if !ok {
		return nil, &mounts.Error{Kind: mounts.NoSuchTable, Name: id.String()}
	}
	return &mounts.Table{
		MetadataLocation: "s3://old/" + id.String() + ".metadata.json", Version: "1", Asked: s.asked,
		Metadata: func(context.Context) (mounts.Document, error) {
			d, err := cache.NewDocument([]byte(text))
			if err != nil || o.Snapshots == mounts.SnapshotsAll {
				return d, err
			}
			return d.Refs()
		},
	}, nil
}

func (s *source) TableExists(_ context.Context, c mounts.Caller, id mounts.Identifier) error {
	if err := s.called("TableExists"); err != nil {
		return err
	}
	s.mu.Lock()
	s.noCache = c.NoCache
	s.mu.Unlock()
	if _, ok := s.tables[id.String()]; !ok {
		return &mounts.Error{Kind: mounts.NoSuchTable, Name: id.String()}
	}
	return nil
}

func (s *source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
