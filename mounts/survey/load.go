package survey

import (
	"context"
	"errors"

	"piedmont/mounts"
)

// job is a table or view to look at.
type job struct {
	in   *namespace
	id   mounts.Identifier // as the mount calls it
	name string            // in the tree
	view bool
}

// load looks at a table or view as a client would, and records what there is. Where the survey
// ends meanwhile, or the mount was given up, nothing is recorded.
func (j job) load(ctx context.Context) {
	t, v, err := j.pointer(ctx)
	var raw []byte
	if err == nil {
		raw, err = j.document(ctx, t)
		v = verdict{state: Loaded}
		if err != nil {
			v = judge(err, true)
		}
	}
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, errGivenUp) && t == nil {
		j.in.unknown.Store(true)
		j.in.w.fail(err)
		return
	}
	location := ""
	if t != nil {
		location = t.MetadataLocation
	} else if v.state == Broken {
		location, v = j.locate(ctx, v)
		if ctx.Err() != nil {
			return
		}
	}
	j.record(t, location, raw, v)
}

// pointer asks the catalog.
func (j job) pointer(ctx context.Context) (t *mounts.Table, v verdict, err error) {
	w := j.in.w
	err = w.catalog.ask(ctx, func(ctx context.Context) (err error) {
		if !j.view {
			t, err = w.point.Mount.LoadTable(ctx, w.r.o.Caller, j.id, mounts.LoadOptions{})
			return err
		}
		view, err := w.point.Mount.(mounts.ViewReader).LoadView(ctx, w.r.o.Caller, j.id) //nolint:forcetypeassert // it listed views
		t = (*mounts.Table)(view)
		return err
	})
	if err != nil {
		return nil, judge(err, false), err
	}
	return t, v, nil
}

// document reads the metadata, which may be a question to the storage. One that doesn't answer at
// all is given up, for the tables that lie there alone.
func (j job) document(ctx context.Context, t *mounts.Table) (raw []byte, err error) {
	err = j.in.w.profile(t.Storage).ask(ctx, func(ctx context.Context) error {
		d, err := t.Metadata(ctx)
		if err == nil {
			raw = d.Raw()
		}
		return err
	})
	return raw, err
}

// profile is who asks the storage of that name.
func (w *walk) profile(name string) *asker {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.storage[name]
	if a == nil {
		a = w.asker(nil)
		w.storage[name] = a
	}
	return a
}

// locate asks where the metadata file of a broken table should be. A catalog that doesn't know is
// why it is broken.
func (j job) locate(ctx context.Context, v verdict) (string, verdict) {
	w := j.in.w
	l, ok := w.point.Mount.(locator)
	if !ok {
		return "", v
	}
	var location string
	err := w.catalog.ask(ctx, func(ctx context.Context) (err error) {
		location, err = l.MetadataLocation(ctx, w.r.o.Caller, j.id)
		return err
	})
	if err == nil && location == "" && v.reason == FileGone {
		v.reason = NoMetadataLocation
	}
	return location, v // it is broken whatever became of this question
}

// record tells what there is, if the document is one.
func (j job) record(t *mounts.Table, location string, raw []byte, v verdict) {
	w := j.in.w
	var content Content
	var dialects []string
	if v.state == Loaded {
		var err error
		if j.view {
			dialects, err = readView(raw)
		} else {
			content, err = readTable(raw, w.r.report.Since)
		}
		if err != nil {
			v = verdict{state: Broken, reason: NotMetadata, detail: explain(err)}
		}
	}
	if v.state == Unknown {
		j.in.unknown.Store(true)
	}
	if j.view {
		w.r.found(Line{View: &View{
			Mount: w.name, Name: j.name, State: v.state, Reason: v.reason, Detail: v.detail, MetadataLocation: location, Dialects: dialects,
		}})
		return
	}
	line := &Table{Mount: w.name, Name: j.name, State: v.state, Reason: v.reason, Detail: v.detail, MetadataLocation: location, Content: content}
	if t != nil {
		line.Storage = t.Storage
	}
	w.r.found(Line{Table: line})
}
