package survey

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Bounds of what a report keeps of a mount. What is beyond them is counted.
const (
	maxExamples = 10
	maxBiggest  = 10
	maxPlaces   = 100
	maxKinds    = 100
	maxAll      = 10_000 // writers
)

// Report is what a survey found.
type Report struct {
	// Since is from when on writers are told.
	Since time.Time
	// Resumed is when the journal was begun that had a part of it, which wasn't looked at again;
	// zero where none had.
	Resumed time.Time
	Mounts  []*Summary
	// Overlaps counts tables in each other's places; Examples are some of them.
	Overlaps map[Relation]int
	Examples map[Relation][]Overlap
}

// Summary is what was found in a mount.
type Summary struct {
	Mount string `json:"mount"`
	Kind  string `json:"kind"`
	State State  `json:"state"`
	// Detail says why it is Skipped or Failed.
	Detail string `json:"detail,omitempty"`

	Namespaces Counts `json:"namespaces"`
	Tables     Counts `json:"tables"`
	Views      Counts `json:"views"`
	// Encrypted are loaded tables that need keys to be read.
	Encrypted      int            `json:"encrypted"`
	FormatVersions map[int64]int  `json:"format-versions,omitempty"`
	Dialects       map[string]int `json:"dialects,omitempty"`
	// Others are the objects that aren't of Iceberg, by what they are; nil where the catalog
	// can't tell.
	Others map[string]int `json:"others,omitempty"`
	// DataFiles, Records and Bytes are sums over the tables that tell them; Untold counts those that
	// have snapshots and don't.
	DataFiles int64 `json:"data-files"`
	Records   int64 `json:"records"`
	Bytes     int64 `json:"bytes"`
	Untold    int   `json:"untold,omitempty"`

	// Problems are the reasons why tables and views are broken or unknown, and namespaces unknown.
	Problems map[string]*Problem `json:"problems,omitempty"`
	Biggest  []Big               `json:"biggest,omitempty"`
	Writers  []Total             `json:"writers,omitempty"`

	writers map[writerKey]*Total
}

// Counts count things by what is known of them. Gone ones are in none.
type Counts struct {
	Loaded  int `json:"loaded"` // of namespaces: those that were listed
	Broken  int `json:"broken"`
	Unknown int `json:"unknown"`
}

// All is how many there are.
func (c Counts) All() int { return c.Loaded + c.Broken + c.Unknown }

// add counts one, and says whether it is there at all.
func (c *Counts) add(s State) bool {
	switch s {
	case Loaded, Complete, Incomplete:
		c.Loaded++
	case Broken:
		c.Broken++
	case Unknown:
		c.Unknown++
	default:
		return false
	}
	return true
}

// Problem is one reason and what it is about.
type Problem struct {
	Count int `json:"count"`
	// Names are those of the first ones.
	Names []string `json:"names"`
	// Detail is what the error of the first one said.
	Detail string `json:"detail,omitempty"`
	// Places counts metadata files by the beginning of their location, where it is known and
	// tells something.
	Places map[string]int `json:"places,omitempty"`
}

// Big is one of the biggest tables.
type Big struct {
	Table string `json:"table"`
	Bytes int64  `json:"bytes"`
}

// Total is what one writer did in all the tables of a mount.
type Total struct {
	Engine      string    `json:"engine,omitempty"`
	Version     string    `json:"version,omitempty"`
	Application string    `json:"application,omitempty"`
	Library     string    `json:"library,omitempty"`
	Tables      int       `json:"tables"`
	Commits     int       `json:"commits"`
	Last        time.Time `json:"last"`
}

func newSummary(mount, kind string) *Summary {
	return &Summary{
		Mount: mount, Kind: kind, State: Incomplete, FormatVersions: map[int64]int{}, Dialects: map[string]int{},
		Problems: map[string]*Problem{}, writers: map[writerKey]*Total{},
	}
}

func (s *Summary) addNamespace(n *Namespace) {
	if !s.Namespaces.add(n.State) {
		return
	}
	if n.State == Unknown {
		s.problem(n.Reason, n.Name, n.Detail, "")
	}
	if n.Others != nil && s.Others == nil {
		s.Others = map[string]int{}
	}
	for is, count := range n.Others {
		addTo(s.Others, is, count)
	}
}

func (s *Summary) addTable(t *Table) {
	if !s.Tables.add(t.State) {
		return
	}
	if t.State != Loaded {
		s.problem(t.Reason, t.Name, t.Detail, t.MetadataLocation)
		return
	}
	s.FormatVersions[t.FormatVersion]++
	if t.Encrypted {
		s.Encrypted++
	}
	s.addSize(t)
	for i := range t.Writers {
		s.addWriter(&t.Writers[i])
	}
}

func (s *Summary) addSize(t *Table) {
	if t.Snapshots > 0 && (t.Bytes == nil || t.Records == nil || t.DataFiles == nil) {
		s.Untold++
	}
	for sum, n := range map[*int64]*int64{&s.Bytes: t.Bytes, &s.Records: t.Records, &s.DataFiles: t.DataFiles} {
		if n != nil && *sum+*n >= *sum { // what overflows can't be true
			*sum += *n
		}
	}
	if t.Bytes == nil || *t.Bytes == 0 {
		return
	}
	big := Big{Table: t.Name, Bytes: *t.Bytes}
	at, _ := slices.BinarySearchFunc(s.Biggest, big, func(a, b Big) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Table, b.Table))
	})
	if at < maxBiggest {
		s.Biggest = slices.Insert(s.Biggest, at, big)
		s.Biggest = s.Biggest[:min(len(s.Biggest), maxBiggest)]
	}
}

func (s *Summary) addWriter(w *Writer) {
	key := w.key()
	if s.writers[key] == nil {
		if len(s.writers) >= maxAll {
			key = writerKey{engine: w.Engine}
		}
		if s.writers[key] == nil {
			s.writers[key] = &Total{Engine: key.engine, Version: key.version, Application: key.application, Library: key.library}
		}
	}
	t := s.writers[key]
	t.Tables++
	t.Commits += w.Commits
	if w.Last.After(t.Last) {
		t.Last = w.Last
	}
}

func (s *Summary) addView(v *View) {
	if !s.Views.add(v.State) {
		return
	}
	if v.State != Loaded {
		s.problem(v.Reason, v.Name, v.Detail, v.MetadataLocation)
	}
	for _, d := range v.Dialects {
		addTo(s.Dialects, d, 1)
	}
}

// addTo counts by text from a catalog, of which there may be any number.
func addTo(counts map[string]int, key string, n int) {
	if _, known := counts[key]; !known && len(counts) >= maxKinds {
		key = "others"
	}
	counts[key] += n
}

func (s *Summary) problem(reason, name, detail, location string) {
	p := s.Problems[reason]
	if p == nil {
		p = &Problem{Detail: detail}
		s.Problems[reason] = p
	}
	p.Count++
	if len(p.Names) < maxExamples {
		p.Names = append(p.Names, name)
	}
	if reason != NoStorageProfile || location == "" {
		return
	}
	if p.Places == nil {
		p.Places = map[string]int{}
	}
	if at := beginning(location); p.Places[at] > 0 || len(p.Places) < maxPlaces {
		p.Places[at]++
	} else {
		p.Places["elsewhere"]++
	}
}

// beginning is the scheme and bucket, or host, of a location: what a storage profile would be for.
func beginning(location string) string {
	scheme, rest, ok := strings.Cut(location, "://")
	if !ok {
		scheme, _, _ = strings.Cut(location, ":")
		return clip(scheme) + ":"
	}
	bucket, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(bucket, '@'); at >= 0 && scheme != "abfs" && scheme != "abfss" && scheme != "wasb" && scheme != "wasbs" {
		bucket = bucket[at+1:] // without a user and their password
	}
	return clip(scheme + "://" + bucket + "/")
}

// finish puts writers into their order: who wrote to most tables first.
func (s *Summary) finish() {
	s.Writers = nil
	for _, t := range s.writers {
		s.Writers = append(s.Writers, *t)
	}
	slices.SortFunc(s.Writers, func(a, b Total) int {
		return cmp.Or(cmp.Compare(b.Tables, a.Tables), cmp.Compare(b.Commits, a.Commits), a.key().compare(b.key()))
	})
}

func (t *Total) key() writerKey { return writerKey{t.Engine, t.Version, t.Application, t.Library} }
