package survey

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"piedmont/mounts"
)

// otherLister is a mount that knows what its namespaces hold besides tables and views of Iceberg,
// a page at a time. Some of Iceberg's may be among them. Unsupported where its source can't tell.
type otherLister interface {
	OtherObjects(ctx context.Context, c mounts.Caller, n mounts.Namespace, p mounts.Page) ([]mounts.OtherObject, string, error)
}

// locator is a mount that tells where a metadata file lies without reading it, empty where the
// catalog doesn't say.
type locator interface {
	MetadataLocation(ctx context.Context, c mounts.Caller, id mounts.Identifier) (string, error)
}

// walk looks through one mount: one goroutine lists, some load.
type walk struct {
	r       *recorder
	point   *mounts.Point
	name    string // of the mount point
	summary *Summary
	known   *memory
	catalog *asker
	storage map[string]*asker // by profile; guarded by mu
	mu      sync.Mutex
	failed  atomic.Pointer[string]
	unknown atomic.Bool // something is
}

func newWalk(r *recorder, m *Mount) *walk {
	w := &walk{r: r, point: m.Point, name: Path(m.Point.At...), storage: map[string]*asker{}}
	w.summary, w.known = r.names[w.name], r.known[w.name]
	w.catalog = w.asker(func() { r.o.Progress.Calls.Add(1) })
	if r.o.CallsPerSecond > 0 {
		w.catalog.limiter = rate.NewLimiter(rate.Limit(r.o.CallsPerSecond), 1)
	}
	return w
}

func (w *walk) asker(asked func()) *asker {
	return &asker{timeout: w.r.o.Timeout, patience: w.r.o.Patience, asked: asked}
}

// run looks through the mount, and says in its summary how far that came.
func (w *walk) run(ctx context.Context) {
	jobs := make(chan job)
	var loaders sync.WaitGroup
	for range w.r.o.Concurrency {
		loaders.Go(func() {
			for j := range jobs {
				j.load(ctx)
				j.in.leave(ctx, nil)
			}
		})
	}
	w.list(ctx, jobs)
	close(jobs)
	loaders.Wait()
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	switch detail := w.failed.Load(); {
	case detail != nil:
		w.summary.State, w.summary.Detail = Failed, *detail
	case ctx.Err() == nil && !w.unknown.Load():
		w.summary.State = Complete
	}
}

// list walks over the namespaces, the innermost first.
func (w *walk) list(ctx context.Context, jobs chan<- job) {
	for open := []mounts.Namespace{w.point.Source}; len(open) > 0 && ctx.Err() == nil && w.failed.Load() == nil; {
		n := open[len(open)-1]
		open = append(open[:len(open)-1], w.namespace(ctx, n, jobs)...)
	}
}

// fail ends the walk.
func (w *walk) fail(err error) {
	detail := explain(err)
	w.failed.CompareAndSwap(nil, &detail)
}

// namespace lists what is in a namespace, and returns the namespaces in it.
func (w *walk) namespace(ctx context.Context, n mounts.Namespace, jobs chan<- job) []mounts.Namespace {
	outer, _ := w.point.Outer(n)
	in := &namespace{w: w, inner: n, outer: outer, line: Namespace{Mount: w.name, Name: Path(outer...), State: Complete}}
	in.inside.Store(1)
	had, done := w.known.complete[in.line.Name]
	if done && had == 0 {
		return nil
	}
	children, err := w.children(ctx, in)
	in.line.Children = len(children)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && n.Equal(w.point.Source):
		w.fail(err)
		return nil
	case n.IsRoot():
		return children
	case done: // it was told of before
		if err != nil {
			w.unknown.Store(true)
		}
		if errors.Is(err, errGivenUp) {
			w.fail(err)
		}
		return children
	case err == nil:
		err = w.contents(ctx, in, jobs)
		in.seen = nil
	}
	in.leave(ctx, err)
	return children
}

// namespace is one that is being looked through, by some who load what is in it.
type namespace struct {
	w            *walk
	inner, outer mounts.Namespace
	line         Namespace
	inside       atomic.Int64
	unknown      atomic.Bool
	seen         map[string]bool // names of tables and views
}

// leave is called by everybody who is done with a namespace; who leaves last tells of it.
// err is why it couldn't be listed.
func (in *namespace) leave(ctx context.Context, err error) {
	if err != nil {
		v := judge(err, false)
		if v.state != Gone {
			v.state = Unknown
		}
		in.line.State, in.line.Reason, in.line.Detail = v.state, v.reason, v.detail
		if errors.Is(err, errGivenUp) {
			in.w.fail(err)
		}
	}
	if in.inside.Add(-1) > 0 || ctx.Err() != nil {
		return
	}
	if in.unknown.Load() && in.line.State == Complete {
		in.line.State = Incomplete
	}
	if in.line.State == Incomplete || in.line.State == Unknown {
		in.w.unknown.Store(true)
	}
	in.w.r.found(Line{Namespace: &in.line})
	in.w.r.o.Progress.Done.Add(1)
}

// children lists the namespaces in one, without those that another mount hides.
func (w *walk) children(ctx context.Context, in *namespace) (children []mounts.Namespace, err error) {
	err = list(ctx, w.catalog, func(ctx context.Context, p mounts.Page) ([]mounts.Namespace, string, error) {
		return w.point.Mount.ListNamespaces(ctx, w.r.o.Caller, in.inner, p)
	}, func(page []mounts.Namespace) error {
		for _, child := range page {
			if outer, ok := w.point.Outer(child); ok && len(child) == len(in.inner)+1 && !w.hidden(outer) {
				children = append(children, child)
				w.r.o.Progress.Namespaces.Add(1)
			}
		}
		return nil
	})
	return children, err
}

// hidden says whether another mount is attached at a namespace.
func (w *walk) hidden(outer mounts.Namespace) bool {
	for _, m := range w.r.o.Mounts {
		if m.Point != w.point && m.Point.At.Equal(outer) {
			return true
		}
	}
	return false
}

// contents lists tables, views and other objects, and hands the first two to those who load.
func (w *walk) contents(ctx context.Context, in *namespace, jobs chan<- job) error {
	in.seen = map[string]bool{}
	err := list(ctx, w.catalog, func(ctx context.Context, p mounts.Page) ([]mounts.Identifier, string, error) {
		return w.point.Mount.ListTables(ctx, w.r.o.Caller, in.inner, p)
	}, func(page []mounts.Identifier) error { return in.hand(ctx, jobs, page, false) })
	if err != nil {
		return err
	}
	if reader, ok := w.point.Mount.(mounts.ViewReader); ok {
		err = list(ctx, w.catalog, func(ctx context.Context, p mounts.Page) ([]mounts.Identifier, string, error) {
			return reader.ListViews(ctx, w.r.o.Caller, in.inner, p)
		}, func(page []mounts.Identifier) error { return in.hand(ctx, jobs, page, true) })
	}
	if err != nil {
		return err
	}
	if lister, ok := w.point.Mount.(otherLister); ok {
		err = w.others(ctx, in, lister)
	}
	return err
}

// hand gives out tables or views to be loaded, each once: a list may repeat what moved meanwhile.
func (in *namespace) hand(ctx context.Context, jobs chan<- job, page []mounts.Identifier, view bool) error {
	known := in.w.known.objects[in.line.Name]
	for _, id := range page {
		j := job{in: in, id: id, name: Path(append(in.outer[:len(in.outer):len(in.outer)], id.Name)...), view: view}
		if in.seen[id.Name] || known[j.name] {
			in.seen[id.Name] = true
			continue
		}
		in.seen[id.Name] = true
		in.inside.Add(1)
		select {
		case jobs <- j:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// others counts what isn't of Iceberg.
func (w *walk) others(ctx context.Context, in *namespace, lister otherLister) error {
	counted := map[string]int{}
	err := list(ctx, w.catalog, func(ctx context.Context, p mounts.Page) ([]mounts.OtherObject, string, error) {
		return lister.OtherObjects(ctx, w.r.o.Caller, in.inner, p)
	}, func(page []mounts.OtherObject) error {
		for _, o := range page {
			if !in.seen[o.Name] {
				addTo(counted, clip(o.Is), 1)
			}
		}
		return nil
	})
	if mounts.Is(err, mounts.Unsupported) {
		return nil
	}
	in.line.Others = counted
	return err
}

// list asks for a list, page by page.
func list[T any](ctx context.Context, a *asker, ask func(context.Context, mounts.Page) ([]T, string, error), use func([]T) error) error {
	p := mounts.Page{Size: pageSize}
	for {
		var page []T
		var next string
		err := a.ask(ctx, func(ctx context.Context) (err error) {
			page, next, err = ask(ctx, p)
			return err
		})
		if err == nil {
			err = use(page)
		}
		if err != nil || next == "" {
			return err
		}
		p.Token = next
	}
}
