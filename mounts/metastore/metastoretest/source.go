// Package metastoretest is a metastore in memory, for tests of what is built upon one: it
// counts, answers late or not at all, and changes while somebody looks.
package metastoretest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"piedmont/mounts"
	"piedmont/mounts/metastore"
)

// Call is a question that reached the source.
type Call struct {
	Method         string // of metastore.Source
	Database, Name string
	Token          string
}

// Source is a metastore. Make it with New.
type Source struct {
	// PageSize is the most names on a page; 0 for a source that gives all at once. Pages are in
	// an order that is nobody else's. It is set before the first question.
	PageSize int

	mu        sync.Mutex
	databases map[string]*database
	calls     []Call
	hook      func(context.Context, Call) error
	closed    int
}

type database struct {
	properties map[string]string
	objects    map[string]metastore.Object
}

var _ metastore.Source = (*Source)(nil)

// New is a source without databases.
func New() *Source { return &Source{databases: map[string]*database{}} }

// PutDatabase makes a database, or gives one other properties.
func (s *Source) PutDatabase(name string, properties map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.databases[name]; d != nil {
		d.properties = maps.Clone(properties)
		return
	}
	s.databases[name] = &database{properties: maps.Clone(properties), objects: map[string]metastore.Object{}}
}

// Put makes or changes an object of a database that is there.
func (s *Source) Put(in, name string, o metastore.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.databases[in].objects[name] = o
}

// Drop drops an object, or with an empty name the database.
func (s *Source) Drop(in, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "" {
		delete(s.databases, in)
		return
	}
	delete(s.databases[in].objects, name)
}

// Intercept is asked before each answer from now on, and may take its time. What it returns
// is the answer unless it is nil. A nil f ends that.
func (s *Source) Intercept(f func(ctx context.Context, c Call) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// Count is how often a method was called.
func (s *Source) Count(method string) int {
	n := 0
	for _, c := range s.Calls() {
		if c.Method == method {
			n++
		}
	}
	return n
}

// Calls are all questions so far.
func (s *Source) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Closed is how often the source was closed.
func (s *Source) Closed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *Source) called(ctx context.Context, c Call) error {
	s.mu.Lock()
	s.calls = append(s.calls, c)
	hook := s.hook
	s.mu.Unlock()
	if hook != nil {
		if err := hook(ctx, c); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Databases implements metastore.Source.
func (s *Source) Databases(ctx context.Context, token string, size int) ([]string, string, error) {
	if err := s.called(ctx, Call{Method: "Databases", Token: token}); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.page(slices.Collect(maps.Keys(s.databases)), token, size)
}

// Database implements metastore.Source.
func (s *Source) Database(ctx context.Context, name string) (metastore.Database, error) {
	if err := s.called(ctx, Call{Method: "Database", Database: name}); err != nil {
		return metastore.Database{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.databases[name]
	if d == nil {
		return metastore.Database{}, noDatabase(name)
	}
	properties := map[string]string{}
	maps.Copy(properties, d.properties)
	return metastore.Database{Properties: properties}, nil
}

// Objects implements metastore.Source.
func (s *Source) Objects(ctx context.Context, name string, kind metastore.Kind, token string, size int) ([]string, string, error) {
	if err := s.called(ctx, Call{Method: "Objects", Database: name, Token: token}); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.databases[name]
	if d == nil {
		return nil, "", noDatabase(name)
	}
	var names []string
	for object, o := range d.objects {
		if o.Kind == kind {
			names = append(names, object)
		}
	}
	return s.page(names, token, size)
}

// page is the names behind a token, from z to a where the source pages.
func (s *Source) page(names []string, token string, size int) ([]string, string, error) {
	if s.PageSize == 0 {
		if token != "" {
			return nil, "", &mounts.Error{Kind: mounts.BadRequest, Detail: "Invalid pageToken"}
		}
		return names, "", nil
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) })
	if token != "" {
		last, ok := strings.CutPrefix(token, "behind.")
		if !ok {
			return nil, "", &mounts.Error{Kind: mounts.BadRequest, Detail: "Invalid pageToken"}
		}
		names = slices.DeleteFunc(names, func(n string) bool { return n >= last })
	}
	if size <= 0 || size > s.PageSize {
		size = s.PageSize
	}
	if len(names) <= size {
		return names, "", nil
	}
	return names[:size], "behind." + names[size-1], nil
}

// Object implements metastore.Source.
func (s *Source) Object(ctx context.Context, in, name string) (metastore.Object, error) {
	if err := s.called(ctx, Call{Method: "Object", Database: in, Name: name}); err != nil {
		return metastore.Object{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.databases[in]; d != nil {
		if o, ok := d.objects[name]; ok {
			return o, nil
		}
	}
	return metastore.Object{}, &mounts.Error{Kind: mounts.NoSuchTable, Err: errors.New("the metastore said so")}
}

// Health implements metastore.Source.
func (s *Source) Health(ctx context.Context) error { return s.called(ctx, Call{Method: "Health"}) }

// Close implements metastore.Source.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

func noDatabase(name string) error {
	return &mounts.Error{Kind: mounts.NoSuchNamespace, Name: name, Err: errors.New("the metastore said so")}
}
