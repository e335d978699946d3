//go:build unix

package bolt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"piedmont/native"
)

// killedEnv names the registry to the process that is to be killed.
const killedEnv = "PIEDMONT_TEST_KILLED_REGISTRY"

const (
	killRounds  = 20
	killWriters = 8
)

// TestKilled kills a process that commits, again and again at random moments, and looks
// each time that every commit it acknowledged is there, and none by half. The page cache
// outlives a process, so this says nothing about syncs; TestCrashImages is about those.
func TestKilled(t *testing.T) {
	if path := os.Getenv(killedEnv); path != "" {
		commitUntilKilled(path)
	}
	path := filepath.Join(t.TempDir(), "registry")
	rng := rand.New(rand.NewPCG(7, 8))
	acknowledged := make([]int, killWriters)
	total := 0
	for range killRounds {
		n := runAndKill(t, path, time.Duration(rng.IntN(40_000))*time.Microsecond, acknowledged)
		total += n
		checkKilled(t, path, acknowledged)
	}
	if total < killRounds {
		t.Fatalf("%d commits acknowledged in all: nothing was tested", total)
	}
	t.Logf("%d commits acknowledged by %d processes", total, killRounds)
}

// runAndKill runs this test in a process of its own, kills it some time after its
// first acknowledgement, and notes the last of each writer.
func runAndKill(t *testing.T, path string, after time.Duration, acknowledged []int) (count int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), killedEnv+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break // a line without its end was never acknowledged
		}
		if count == 0 {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		var writer, n int
		if _, scanErr := fmt.Sscanf(line, "ack %d %d\n", &writer, &n); err != nil || scanErr != nil {
			t.Fatalf("the process wrote %q, %v", line, err)
		}
		acknowledged[writer] = n
		count++
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
	return count
}

// killedKeys are the records of commit n of a writer, besides its counter.
func killedKeys(writer, n int) []native.Key {
	var keys []native.Key
	for _, part := range []string{"a", "b", "c"} {
		keys = append(keys, native.Key(fmt.Sprintf("record/%d/%06d/%s", writer, n, part)))
	}
	return keys
}

// commitUntilKilled commits from several goroutines and prints what is acknowledged.
func commitUntilKilled(path string) {
	r, err := Open(path, Options{})
	if err != nil {
		fmt.Println(err) // the parent fails on it
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for writer := range killWriters {
		wg.Go(func() {
			for {
				n, err := commitNext(r, writer)
				if err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				fmt.Printf("ack %d %d\n", writer, n)
			}
		})
	}
	wg.Wait()
}

// commitNext writes three records and the counter that names them, in one commit.
func commitNext(r *Registry, writer int) (n int, err error) {
	counter := native.Key(fmt.Sprint("counter/", writer))
	rec, ok, err := r.Get(context.Background(), counter)
	if err != nil {
		return 0, err
	}
	condition := native.Condition{Kind: native.Absent, Key: counter}
	if ok {
		condition = native.Condition{Kind: native.AtVersion, Key: counter, Version: rec.Version}
		if n, err = strconv.Atoi(string(rec.Value)); err != nil {
			return 0, err
		}
	}
	n++
	changes := []native.Change{{Key: counter, Value: []byte(strconv.Itoa(n)), Version: native.NewVersion()}}
	for _, key := range killedKeys(writer, n) {
		changes = append(changes, native.Change{Key: key, Value: []byte(key), Version: native.NewVersion()})
	}
	return n, r.Commit(context.Background(), []native.Condition{condition}, changes)
}

// checkKilled holds the file to what was acknowledged.
func checkKilled(t *testing.T, path string, acknowledged []int) {
	t.Helper()
	r := openTest(t, path)
	defer func() { _ = r.Close() }()
	for writer, n := range acknowledged {
		rec, _, err := r.Get(t.Context(), native.Key(fmt.Sprint("counter/", writer)))
		if err != nil {
			t.Fatal(err)
		}
		last, _ := strconv.Atoi(string(rec.Value)) // absent is 0
		if last < n {
			t.Fatalf("writer %d: commit %d was acknowledged, the file ends with %d", writer, n, last)
		}
		var want []native.Key
		for i := range last {
			want = append(want, killedKeys(writer, i+1)...)
		}
		wantKeys(t, r, native.Key(fmt.Sprintf("record/%d/", writer)), want)
	}
}

// wantKeys fails unless the keys below prefix are want.
func wantKeys(t *testing.T, r *Registry, prefix native.Key, want []native.Key) {
	t.Helper()
	after := native.Key("")
	for {
		recs, err := r.Scan(t.Context(), prefix, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range recs {
			if len(want) == 0 || rec.Key != want[0] || string(rec.Value) != string(rec.Key) {
				t.Fatalf("found %q with %q, %d were to follow", rec.Key, rec.Value, len(want))
			}
			after, want = rec.Key, want[1:]
		}
		if len(recs) < 1000 {
			break
		}
	}
	if len(want) > 0 {
		t.Fatalf("%q and %d more are missing", want[0], len(want)-1)
	}
}
