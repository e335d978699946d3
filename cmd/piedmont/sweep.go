package main

import (
	"context"
	"sync"
	"time"

	"piedmont/native"
)

const (
	// sweepEvery is how often receipts whose time is over are removed.
	sweepEvery = time.Minute
	// tendEvery is how often dropped tables are looked for that are due. Without an
	// undrop_window a purge is due at once.
	tendEvery = 5 * time.Second
)

// startSweeping keeps the registry free of what is over, and removes the files of purged
// tables, until the context ends. The function it returns waits for the end.
func (g *gateway) startSweeping(ctx context.Context) (wait func()) {
	var work sync.WaitGroup
	work.Go(func() {
		g.every(ctx, sweepEvery, "expired receipts could not be removed", func() error {
			_, err := native.Sweep(ctx, g.registry, time.Now())
			return err
		})
	})
	tree := g.trees.Acquire()
	for _, p := range tree.Points() {
		if c, ok := p.Mount.(*native.Catalog); ok { // each for itself: a purge may take hours
			work.Go(func() {
				g.every(ctx, tendEvery, "dropped tables could not be dealt with", func() error { return c.Tend(ctx) })
			})
		}
	}
	return func() {
		work.Wait()
		tree.Release()
	}
}

// every does something over and over until the context ends, and says what goes wrong.
func (g *gateway) every(ctx context.Context, period time.Duration, wrong string, do func() error) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		if err := do(); err != nil && ctx.Err() == nil {
			g.log.Warn(wrong, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
