package historytest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// What a run may be told by its environment: how many histories a test makes, and the seed
// of the first. To see a history again, ask for one of its seed: what clients ask for and
// what fails is the same, its timing is not.
const (
	seedsVariable = "PIEDMONT_TEST_SEEDS"
	seedVariable  = "PIEDMONT_TEST_SEED"
	seedsEach     = 20
	seedsShort    = 3
)

// Each makes a history of each seed, up to the first that fails. The seeds are others in
// each run, unless the environment says otherwise.
func Each(t *testing.T, history func(t *testing.T, seed uint64)) {
	t.Helper()
	n := uint64(seedsEach)
	if testing.Short() {
		n = seedsShort
	}
	n, first := number(t, seedsVariable, n), number(t, seedVariable, rand.Uint64N(1_000_000_000))
	begin := time.Now()
	for i := range n {
		seed := first + i
		if !t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { history(t, seed) }) {
			t.Fatalf("again with %s=%d %s=1", seedVariable, seed, seedsVariable)
		}
		t.Logf("%d of %d after %s", i+1, n, time.Since(begin).Round(time.Second))
	}
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: want a number", variable, text)
	}
	return n
}
