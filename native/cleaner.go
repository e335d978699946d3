package native

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"piedmont/vend"
)

const (
	// cleanTimeout bounds the time that files which nothing needs are tried to be deleted.
	cleanTimeout = 30 * time.Second
	// cleanersAtOnce bounds the files deleted at once.
	cleanersAtOnce = 8
)

// cleaner deletes files behind the backs of those who wait for an answer. What it can't
// delete in time stays as garbage, and the log says so.
type cleaner struct {
	slots chan struct{}
	work  sync.WaitGroup
	log   *slog.Logger
}

func newCleaner(log *slog.Logger) *cleaner {
	return &cleaner{slots: make(chan struct{}, cleanersAtOnce), log: log}
}

// doomed is a file to be deleted.
type doomed struct {
	profile  *vend.Profile
	location vend.Location
}

// start runs which and deletes the files it returns, both in the background. why is what
// the log says of a file that stays.
func (c *cleaner) start(ctx context.Context, why string, which func(context.Context) []doomed) {
	ctx = context.WithoutCancel(ctx)
	c.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
		defer cancel()
		defer func() {
			if p := recover(); p != nil { // here it would end the process
				c.log.ErrorContext(ctx, "panic while files were deleted", "panic", p)
			}
		}()
		var group sync.WaitGroup
		for _, f := range which(ctx) {
			select {
			case c.slots <- struct{}{}:
			case <-ctx.Done():
				c.stays(ctx, why, f, ctx.Err())
				continue
			}
			group.Go(func() {
				defer func() { <-c.slots }()
				c.remove(ctx, why, f)
			})
		}
		group.Wait()
	})
}

func (c *cleaner) remove(ctx context.Context, why string, f doomed) {
	defer func() {
		if p := recover(); p != nil {
			c.log.ErrorContext(ctx, "panic while a file was deleted", "location", f.location.Verbatim(), "panic", p)
		}
	}()
	if err := f.profile.Files.Delete(ctx, f.location); err != nil {
		c.stays(ctx, why, f, err)
	}
}

func (c *cleaner) stays(ctx context.Context, why string, f doomed, err error) {
	c.log.WarnContext(ctx, why+" could not be deleted", "location", f.location.Verbatim(), "error", err)
}

// wait returns once nothing is being deleted, and not much later than the time that a
// deletion has, even if the storage doesn't keep to it.
func (c *cleaner) wait() {
	done := make(chan struct{})
	go func() {
		c.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(cleanTimeout + time.Second):
	}
}

// discard deletes files that the registry surely doesn't point to, in the background:
// whoever wrote them in vain is answered first.
func (c *Catalog) discard(ctx context.Context, files ...file) {
	if len(files) == 0 {
		return
	}
	list := make([]doomed, len(files)) // holds no documents
	for i, f := range files {
		list[i] = doomed{f.profile, f.location}
	}
	c.cleaner.start(ctx, "a metadata file that no table uses", func(context.Context) []doomed { return list })
}
