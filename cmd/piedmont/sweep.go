package main

import (
	"context"
	"time"

	"piedmont/native"
)

// sweepEvery is how often receipts whose time is over are removed.
const sweepEvery = time.Minute

// startSweeping keeps the registry free of expired receipts until the context ends. The
// function it returns waits for the end.
func (g *gateway) startSweeping(ctx context.Context) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := native.Sweep(ctx, g.registry, time.Now()); err != nil && ctx.Err() == nil {
				g.log.Warn("expired receipts could not be removed", "error", err)
			}
		}
	}()
	return func() { <-done }
}
