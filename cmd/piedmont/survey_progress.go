package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"piedmont/mounts/survey"
)

// surveyProgress shows how far a survey is, on a terminal, and in the end one line.
type surveyProgress struct {
	*progress
	counts *survey.Progress
	done   chan struct{}
	shower sync.WaitGroup
}

// showSurvey shows it until end is called.
func showSurvey(w io.Writer, counts *survey.Progress) *surveyProgress {
	s := &surveyProgress{progress: newProgress(w, "surveying"), counts: counts, done: make(chan struct{})}
	if s.terminal {
		s.shower.Go(s.run)
	}
	return s
}

func (s *surveyProgress) run() {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_, _ = fmt.Fprintf(s.w, "\r\x1b[K%s", s.line(time.Since(s.start)))
		case <-s.done:
			_, _ = io.WriteString(s.w, "\r\x1b[K")
			return
		}
	}
}

// barWidth is in letters.
const barWidth = 20

// line is the bar and the counts. How many namespaces there are is known as far as they were found.
func (s *surveyProgress) line(took time.Duration) string {
	done, of := s.counts.Done.Load(), s.counts.Namespaces.Load()
	filled := int(min(done, of) * barWidth / max(of, 1))
	return fmt.Sprintf("%s [%s%s] %d of %d namespaces, %d tables, %d calls, %.1f/s", s.what, strings.Repeat("#", filled),
		strings.Repeat(".", barWidth-filled), done, of, s.counts.Tables.Load(), s.counts.Calls.Load(), s.rate(took))
}

func (s *surveyProgress) rate(took time.Duration) float64 {
	return float64(s.counts.Calls.Load()) / max(took.Seconds(), 0.001)
}

// end clears the terminal's line and says what was done, unless that failed.
func (s *surveyProgress) end(err error) {
	close(s.done)
	s.shower.Wait()
	if err == nil {
		took := time.Since(s.start)
		_, _ = fmt.Fprintf(s.w, "surveyed %d namespaces and %d tables with %d calls in %.1f s, %.1f/s\n",
			s.counts.Done.Load(), s.counts.Tables.Load(), s.counts.Calls.Load(), took.Seconds(), s.rate(took))
	}
}
