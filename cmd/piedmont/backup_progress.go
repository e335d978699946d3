package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// progressEvery is how often a terminal shows how far it is.
const progressEvery = 200 * time.Millisecond

// progress shows how far a backup or a restore is, on a terminal, and in the end one line.
type progress struct {
	w        io.Writer
	what     string
	terminal bool
	start    time.Time
	shown    time.Time
	records  uint64
	bytes    int64
}

func newProgress(w io.Writer, what string) *progress {
	p := &progress{w: w, what: what, start: time.Now()}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// show tells how much is done; of is how many records there will be, 0 if nobody knows.
func (p *progress) show(records, of uint64, bytes int64) {
	p.records, p.bytes = records, bytes
	if !p.terminal || time.Since(p.shown) < progressEvery {
		return
	}
	p.shown = time.Now()
	total := ""
	if of > 0 {
		total = fmt.Sprintf(" of %d", of)
	}
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s: %d%s records, %s", p.what, records, total, p.rate())
}

// rate is how many bytes and seconds it took, and how many records a second.
func (p *progress) rate() string {
	took := time.Since(p.start)
	return fmt.Sprintf("%.1f MiB, %.1f s, %.0f records/s", float64(p.bytes)/(1<<20), took.Seconds(), float64(p.records)/max(took.Seconds(), 0.001))
}

// end clears the terminal's line and, where all went well, says what was done.
func (p *progress) end(err error, done string) error {
	if p.terminal {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("interrupted: %w", err)
	}
	if err == nil {
		_, _ = fmt.Fprintf(p.w, "%s %d records, %s\n", done, p.records, p.rate())
	}
	return err
}
