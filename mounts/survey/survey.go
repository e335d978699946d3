package survey

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"piedmont/mounts"
)

// Mount is a mount to look through.
type Mount struct {
	// Point is where it is attached. Namespaces that other mounts of the survey hide are not
	// looked at.
	Point *mounts.Point
	// Identity says which catalog it is, for a journal. It holds no secret.
	Identity string
	// Skip says why the mount is not looked at; empty for one that is.
	Skip string
}

// Options are what a survey needs. Mounts, Caller and Now are required.
type Options struct {
	Mounts []Mount
	// Caller is who asks. It should be one who sees everything, and nothing from memory.
	Caller mounts.Caller
	// Window is how far back writers are told; 0 means 30 days.
	Window time.Duration
	// CallsPerSecond bounds the questions to each catalog: a page of a list is one, and so is a load.
	// 0 is no bound.
	CallsPerSecond float64
	// Concurrency is how many tables of a mount are loaded at once; 0 means 8. The documents of so
	// many are in memory, besides those that caches hold.
	Concurrency int
	// Timeout bounds one question and one document; 0 means 2 minutes. Patience is how long nothing
	// may be answered before a mount, or a storage profile, is given up; 0 means 2 minutes.
	Timeout, Patience time.Duration
	// Journal is written to, and read first; nil for none. It is the caller's to close.
	Journal *Journal
	// Lines gets every line, those of the journal first, and in the end overlaps and summaries, one
	// at a time; nil for nobody. An error ends the survey.
	Lines func(Line) error
	// Progress is kept up to date; nil for nobody.
	Progress *Progress
	Now      func() time.Time
}

const (
	defaultWindow      = 30 * 24 * time.Hour
	defaultConcurrency = 8
	defaultTimeout     = 2 * time.Minute
	defaultPatience    = 2 * time.Minute
	// pageSize is how many names are asked for at once.
	pageSize = 1000
)

// Progress counts what was done, also before the journal was closed last.
type Progress struct {
	// Namespaces were found, Done are those of them that were looked through. Tables and Views are
	// those that were looked at, and Calls the questions to catalogs, of this run alone.
	Namespaces, Done, Tables, Views, Calls atomic.Int64
}

func (o *Options) fill() error {
	if o.Now == nil {
		return errors.New("a survey needs a clock")
	}
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	if o.Concurrency <= 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	if o.Progress == nil {
		o.Progress = &Progress{}
	}
	if o.Lines == nil {
		o.Lines = func(Line) error { return nil }
	}
	return nil
}

// Run looks through the mounts, all at once. When the context ends it returns what was found so far
// and the context's error. Other errors are of the journal and of Lines: what catalogs and storage
// fail with is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &recorder{o: &o, stop: stop, names: map[string]*Summary{}, known: map[string]*memory{}}
	if err := r.begin(); err != nil {
		return nil, err
	}
	var walks sync.WaitGroup
	for i := range o.Mounts {
		m, summary := &o.Mounts[i], r.report.Mounts[i]
		if m.Skip != "" {
			summary.State, summary.Detail = Skipped, m.Skip
			continue
		}
		w := newWalk(r, m)
		walks.Go(func() { w.run(ctx) })
	}
	walks.Wait()
	return r.end(context.Cause(ctx))
}

// recorder takes findings, one at a time, to the journal, the report and whoever listens.
type recorder struct {
	o    *Options
	stop context.CancelCauseFunc

	mu     sync.Mutex
	report Report
	names  map[string]*Summary // by mount
	places places
	known  map[string]*memory // by mount
}

// memory is what a journal has of a mount.
type memory struct {
	complete map[string]int             // namespaces, with how many are in each
	objects  map[string]map[string]bool // names of tables and views in namespaces that aren't
}

// begin reads the journal, or begins it.
func (r *recorder) begin() error {
	h := Header{Version: Version, Since: r.o.Now().Add(-r.o.Window).UTC().Truncate(time.Second)}
	for _, m := range r.o.Mounts {
		h.Mounts = append(h.Mounts, Source{Mount: Path(m.Point.At...), Kind: m.Point.Kind, Identity: m.Identity})
	}
	r.report = Report{Since: h.Since, Overlaps: map[Relation]int{}, Examples: map[Relation][]Overlap{}}
	for _, m := range h.Mounts {
		s := newSummary(m.Mount, m.Kind)
		r.report.Mounts = append(r.report.Mounts, s)
		r.names[m.Mount] = s
		r.known[m.Mount] = &memory{complete: map[string]int{}, objects: map[string]map[string]bool{}}
	}
	if r.o.Journal == nil {
		return r.o.Lines(Line{Survey: &h})
	}
	begun := false
	err := r.o.Journal.read(func(l Line) error {
		if l.Survey != nil {
			if err := r.o.Journal.match(*l.Survey, h); err != nil {
				return err
			}
			r.report.Since, r.report.Resumed, begun = l.Survey.Since, l.Survey.Since.Add(r.o.Window), true
			return r.o.Lines(l)
		}
		return r.recall(l)
	})
	if err != nil || begun {
		return err
	}
	return r.record(Line{Survey: &h})
}

// recall takes a line of the journal. What isn't known is asked anew, and doesn't count till then.
func (r *recorder) recall(l Line) error {
	var mount, name string
	var state State
	switch {
	case l.Namespace != nil:
		mount, name, state = l.Namespace.Mount, l.Namespace.Name, l.Namespace.State
	case l.Table != nil:
		mount, name, state = l.Table.Mount, l.Table.Name, l.Table.State
	case l.View != nil:
		mount, name, state = l.View.Mount, l.View.Name, l.View.State
	}
	k := r.known[mount]
	if k == nil {
		return fmt.Errorf("the journal %s has a finding of the mount %q, which it isn't about", r.o.Journal.path, mount)
	}
	if state != Complete && state != Loaded && state != Broken {
		return nil
	}
	if l.Namespace != nil {
		k.complete[name] = l.Namespace.Children
		delete(k.objects, name)
		r.o.Progress.Done.Add(1)
	} else {
		in := parent(name)
		if k.objects[in] == nil {
			k.objects[in] = map[string]bool{}
		}
		k.objects[in][name] = true
		r.progress(l)
	}
	r.add(l)
	return r.o.Lines(l)
}

// parent is the namespace of a table's path.
func parent(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[:i]
		}
	}
	return ""
}

// record takes a new finding.
func (r *recorder) record(l Line) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.Journal != nil {
		if err := r.o.Journal.write(l, r.o.Now()); err != nil {
			return err
		}
	}
	r.add(l)
	r.progress(l)
	return r.o.Lines(l)
}

// found records a finding, and ends the survey where that fails.
func (r *recorder) found(l Line) {
	if err := r.record(l); err != nil {
		r.stop(err)
	}
}

func (r *recorder) progress(l Line) {
	switch {
	case l.Table != nil:
		r.o.Progress.Tables.Add(1)
	case l.View != nil:
		r.o.Progress.Views.Add(1)
	}
}

// add counts a finding in the report.
func (r *recorder) add(l Line) {
	switch {
	case l.Namespace != nil:
		r.names[l.Namespace.Mount].addNamespace(l.Namespace)
	case l.Table != nil:
		r.names[l.Table.Mount].addTable(l.Table)
		if l.Table.State == Loaded {
			r.places.add(l.Table.Name, l.Table.Location, l.Table.UUID)
		}
	case l.View != nil:
		r.names[l.View.Mount].addView(l.View)
	}
}

// end tells what only the whole tells. cause is why the survey ended early, if it did.
func (r *recorder) end(cause error) (*Report, error) {
	whole := cause == nil
	err := r.places.overlaps(func(o Overlap) error {
		r.report.Overlaps[o.Relation]++
		if len(r.report.Examples[o.Relation]) < maxExamples {
			r.report.Examples[o.Relation] = append(r.report.Examples[o.Relation], o)
		}
		if whole {
			return r.o.Lines(Line{Overlap: &o})
		}
		return nil
	})
	for _, s := range r.report.Mounts {
		s.finish()
		if err == nil && whole {
			err = r.o.Lines(Line{Mount: s})
		}
	}
	if cause != nil {
		err = cause
	}
	return &r.report, err
}
