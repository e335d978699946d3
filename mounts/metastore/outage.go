package metastore

import (
	"log/slog"
	"time"
)

const (
	// remindEvery is how often the log hears again of what goes on failing: many metastores never
	// tell what changes.
	remindEvery = time.Hour
	// settled is how long nothing may have failed until that is over. So what fails now and then
	// isn't told each time.
	settled = time.Minute
)

// outage is what the log knows of whether a source tells what changes. Only run uses it.
type outage struct {
	log    *slog.Logger
	known  bool      // the log was told, and not yet that it is over
	told   time.Time // when it was told last
	failed time.Time // when something failed last
}

// heard takes what a round of questions came to. The log hears of the first that fails, with its
// cause, now and then of those that follow, and of the end.
func (o *outage) heard(now time.Time, err error) {
	switch {
	case err != nil:
		o.failed = now
		if o.known && now.Sub(o.told) < remindEvery {
			return
		}
		o.known, o.told = true, now
		o.log.Warn("a catalog doesn't tell what changes, so loads are as old as fresh_for allows", slog.Any("error", err))
	case o.known && now.Sub(o.failed) >= settled:
		o.known = false
		o.log.Info("a catalog tells again what changes")
	}
}
