//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"piedmont/mounts/hive/hivetest"
)

const (
	// freshFor is how long the mount remembered may answer from memory.
	freshFor = 2 * time.Second
	// freshCommits are made through Hive, each read at once.
	freshCommits = 1000
	// readPause leaves the metastore, which has the slowest part, some time.
	readPause = 20 * time.Millisecond
)

// commits is a table that somebody else commits to. Each state has its number in it.
type commits struct {
	dir   string
	hive  *hivetest.Metastore
	acked atomic.Int64
	times [freshCommits + 2]time.Time // when each was acknowledged
}

// document is the metadata of state n of a table in that folder.
func document(folder string, n int) string {
	return fmt.Sprintf(`{"format-version":2,"table-uuid":"5a1f3a6e-0b5c-4a8e-9d53-0d0b9f6a0001","location":"file://%s","last-sequence-number":0,"last-updated-ms":1700000000000,`+
		`"last-column-id":1,"current-schema-id":0,"schemas":[{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"id","required":false,"type":"long"}]}],`+
		`"default-spec-id":0,"partition-specs":[{"spec-id":0,"fields":[]}],"last-partition-id":999,"default-sort-order-id":0,"sort-orders":[{"order-id":0,"fields":[]}],`+
		`"properties":{"n":"%d"}}`, folder, n)
}

func (c *commits) table(n int) (hivetest.Table, error) {
	path := filepath.Join(c.dir, "metadata", fmt.Sprintf("%05d-%012d.metadata.json", n, n))
	return hivetest.Table{Location: "file://" + c.dir, Parameters: hivetest.Iceberg("file://" + path)}, os.WriteFile(path, []byte(document(c.dir, n)), 0o600)
}

// commit makes state n the current one, as a writer of the old days does.
func (c *commits) commit(ctx context.Context, n int) error {
	t, err := c.table(n)
	if err == nil {
		err = c.hive.AlterTable(ctx, "sales", "fast", t)
	}
	c.times[n] = time.Now()
	c.acked.Store(int64(n))
	return err
}

// seen is which state a load showed, and how old the answer said it was; -1 for not at all.
type seen struct {
	began, ended time.Time
	n, age       int
}

func (f *federation) see(mount string, header ...string) (seen, error) {
	s := seen{began: time.Now(), age: -1}
	q, err := http.NewRequest(http.MethodGet, f.URI+tablePath(mount+".sales.fast"), nil)
	if err != nil {
		return s, err
	}
	q.Header.Set("Authorization", "Bearer "+f.admin)
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return s, err
	}
	defer r.Body.Close()
	var body struct {
		Metadata struct{ Properties struct{ N string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.StatusCode != http.StatusOK {
		return s, fmt.Errorf("load through %s: %s, %w", mount, r.Status, err)
	}
	s.ended = time.Now()
	if age := r.Header.Get("Age"); age != "" {
		if s.age, err = strconv.Atoi(age); err != nil {
			return s, err
		}
	}
	s.n, err = strconv.Atoi(body.Metadata.Properties.N)
	return s, err
}

// testFreshness: who reads through Piedmont what was committed through Hive gets that or
// something newer, however many others read; or, where the mount allows that, something as old
// as the answer says.
func (f *federation) testFreshness(t *testing.T) {
	c := &commits{dir: filepath.Join(f.files, "hive", "sales", "fast"), hive: f.hive.fill()}
	if err := os.MkdirAll(filepath.Join(c.dir, "metadata"), 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := c.table(0)
	if err == nil {
		err = c.hive.CreateTable(t.Context(), "sales", "fast", first)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.times[0] = time.Now()
	var done atomic.Bool
	var readers sync.WaitGroup
	var reads atomic.Int64
	for range 2 {
		readers.Go(func() {
			for !done.Load() && !t.Failed() {
				floor := int(c.acked.Load())
				s, err := f.see("legacy")
				if err != nil || s.n < floor || s.age >= 0 {
					t.Errorf("a reader saw %+v, %d was committed before: %v", s, floor, err)
				}
				reads.Add(1)
				time.Sleep(readPause)
			}
		})
	}
	var remembered []seen
	readers.Go(func() { remembered = f.watchRemembered(t, c, &done) })
	began := time.Now()
	for n := 1; n <= freshCommits && !t.Failed(); n++ {
		if err := c.commit(t.Context(), n); err != nil {
			t.Errorf("commit %d: %v", n, err)
			break
		}
		if s, err := f.see("legacy"); err != nil || s.n != n || s.age >= 0 {
			t.Errorf("read %+v after commit %d: %v", s, n, err)
		}
	}
	took := time.Since(began)
	done.Store(true)
	readers.Wait()
	t.Logf("%d commits, each read at once, in %v, with %d loads by others", freshCommits, took.Round(time.Millisecond), reads.Load())
	if !t.Failed() {
		checkRemembered(t, c, remembered)
	}
	f.dropFast(t, c)
}

// dropFast leaves the catalog as it was for the parts that follow.
func (f *federation) dropFast(t *testing.T, c *commits) {
	t.Helper()
	if err := c.hive.DropTable(t.Context(), "sales", "fast"); err != nil {
		t.Fatal(err)
	}
	if r := f.do("GET", tablePath("legacy.sales.fast"), f.admin, nil); r.status != http.StatusNotFound {
		t.Errorf("a dropped table is still loaded: %d %s", r.status, r.body)
	}
}

// watchRemembered loads through the mount with a memory, now and then past that.
func (f *federation) watchRemembered(t *testing.T, c *commits, done *atomic.Bool) (all []seen) {
	for next := time.Now(); !done.Load() && !t.Failed(); time.Sleep(readPause) {
		if time.Now().After(next) {
			next = next.Add(3 * freshFor)
			floor := int(c.acked.Load())
			s, err := f.see("remembered", "Cache-Control", "no-cache")
			if err != nil || s.n < floor || s.age >= 0 {
				t.Errorf("with no-cache a reader saw %+v, %d was committed before: %v", s, floor, err)
			}
			if after, err := f.see("remembered"); err != nil || after.n < s.n {
				t.Errorf("after no-cache, which showed %d, a reader saw %+v: %v", s.n, after, err)
			}
		}
		s, err := f.see("remembered")
		if err != nil {
			t.Error(err)
		}
		all = append(all, s)
	}
	return all
}

// checkRemembered: what a load showed was the current state at the time that its Age says, give
// or take the second that Age is rounded by, and never longer ago than the mount allows.
func checkRemembered(t *testing.T, c *commits, all []seen) {
	t.Helper()
	aged, oldest := 0, 0
	for _, s := range all {
		asked := s.began // the earliest time that it may be of
		if s.age >= 0 {
			aged++
			oldest = max(oldest, s.age)
			asked = asked.Add(-min(time.Duration(s.age+1)*time.Second, freshFor))
		}
		if replaced := c.times[s.n+1]; s.age > int(freshFor/time.Second) || !replaced.IsZero() && replaced.Before(asked) {
			t.Fatalf("state %d was shown with Age %d, %v after it was replaced", s.n, s.age, s.began.Sub(replaced))
		}
	}
	t.Logf("with fresh_for %v: %d of %d loads from memory, Age up to %d", freshFor, aged, len(all), oldest)
	if aged < len(all)/2 || aged == len(all) { // by events most are younger than a second, so that their Age is 0
		t.Errorf("of %d loads %d were answered from memory", len(all), aged)
	}
}

// testAppends: the same with PyIceberg as the writer, and rows as what is read.
func (f *federation) testAppends(t *testing.T) {
	var rows []int
	lastLine(t, federatedPython(t, "federated_append.py", "HIVE_URI="+f.hive.URI, "PIEDMONT_URI="+f.URI, "PIEDMONT_KEY="+f.admin, "APPENDS=10"), &rows)
	for i, n := range rows {
		if n != f.rows["legacy.sales.events"]+(i+1)*7 {
			t.Errorf("after %d appends of 7 rows to %d: %v", i+1, f.rows["legacy.sales.events"], rows)
		}
	}
	if len(rows) != 10 {
		t.Errorf("read %d times", len(rows))
	}
	f.rows["legacy.sales.events"] += 70
}
