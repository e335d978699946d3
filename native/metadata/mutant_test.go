package metadata_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutator makes requests that no client sent of those that some did: always the same.
type mutator struct {
	rng  *rand.Rand
	pool map[string][]any // the values that any request has under a name
}

// decoded is a JSON text as maps, slices and json.Numbers.
func decoded(t *testing.T, text []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var root map[string]any
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	return root
}

func newMutator(t *testing.T, all []request, seed uint64) *mutator {
	t.Helper()
	m := &mutator{rng: rand.New(rand.NewPCG(seed, 1)), pool: map[string][]any{}}
	for _, r := range all {
		root := decoded(t, r.body)
		for _, s := range slots(root, nil) {
			m.pool[s.name] = append(m.pool[s.name], s.value())
		}
	}
	return m
}

// slot is a place in a JSON text that can hold another value. An element of an array has the
// name of the array.
type slot struct {
	name   string
	object map[string]any
	array  []any
	index  int
}

func (s slot) value() any {
	if s.object != nil {
		return s.object[s.name]
	}
	return s.array[s.index]
}

func (s slot) set(v any) {
	if s.object != nil {
		s.object[s.name] = v
		return
	}
	s.array[s.index] = v
}

// slots appends all slots of a value, in an order that is always the same.
func slots(v any, list []slot) []slot {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = slots(v[key], append(list, slot{name: key, object: v}))
			if elements, ok := v[key].([]any); ok {
				for i := range elements {
					list = append(list, slot{name: key + "[]", array: elements, index: i})
				}
			}
		}
	case []any:
		for _, e := range v {
			list = slots(e, list)
		}
	}
	return list
}

// strangers are values that fit hardly anywhere.
func strangers() []any {
	return []any{
		nil,
		map[string]any{},
		[]any{},
		[]any{nil},
		"", "x", "\x00", "\U0001F600 é\u202e", strings.Repeat("long", 300), true,
		json.Number("-1"), json.Number("0"), json.Number("1"), json.Number("1e3"), json.Number("1.5"),
		json.Number("2147483648"), json.Number("9223372036854775807"), json.Number("9223372036854775808"),
	}
}

// mutant is a request changed in one to three places.
func (m *mutator) mutant(t *testing.T, r, other request) []byte {
	t.Helper()
	root := decoded(t, r.body)
	if m.rng.IntN(2) == 0 && root["requirements"] != nil && r.base != nil {
		root["requirements"] = []any{} // they stop nearly everything that comes after them
	}
	if updates, ok := root["updates"].([]any); ok && m.rng.IntN(4) == 0 {
		more, _ := decoded(t, other.body)["updates"].([]any)
		root["updates"] = append(updates, more...)
	}
	for range 1 + m.rng.IntN(3) {
		all := slots(root, nil)
		if len(all) == 0 {
			break
		}
		m.change(all[m.rng.IntN(len(all))])
	}
	text, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (m *mutator) change(s slot) {
	switch n := m.rng.IntN(10); {
	case n < 4 && len(m.pool[s.name]) > 0: // what another has there
		s.set(copied(m.pool[s.name][m.rng.IntN(len(m.pool[s.name]))]))
	case n == 4:
		s.set(strangers()[m.rng.IntN(len(strangers()))])
	case n == 5 && s.object != nil:
		delete(s.object, s.name)
	case n == 6 && s.array != nil:
		other := m.rng.IntN(len(s.array))
		s.array[s.index], s.array[other] = s.array[other], s.array[s.index]
	case n == 7 && s.array != nil:
		s.array[m.rng.IntN(len(s.array))] = copied(s.array[s.index]) // twice
	default:
		m.nudge(s)
	}
}

// copied is a value that can be changed apart.
func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for key, e := range v {
			c[key] = copied(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = copied(e)
		}
		return c
	}
	return v
}

// nudge changes a value a little.
func (m *mutator) nudge(s slot) {
	switch v := s.value().(type) {
	case json.Number:
		n, _ := v.Int64()
		s.set(json.Number(fmt.Sprint(n + int64(m.rng.IntN(5)) - 2)))
	case string:
		s.set([]string{v + "2", strings.ToUpper(v), strings.TrimSuffix(v, "e"), " " + v}[m.rng.IntN(4)])
	case []any:
		if len(v) > 0 {
			s.set(v[:len(v)-1])
		}
	case bool:
		s.set(!v)
	case map[string]any:
		v["x-unknown"] = json.Number("7")
	}
}

// made is a document that a mutant made.
type made struct {
	request
	mutant   []byte
	document []byte
}

// mutants is the number of mutants that the tests make.
const mutants = 12_000

// madeByMutants are the different documents that mutants make of the tables and views of
// real clients. It fails the test where one is refused for a fault of ours, or makes a
// document that isn't valid.
func madeByMutants(t *testing.T) []made {
	t.Helper()
	all := requestsOfClients(t)
	kinds := map[bool][]request{}
	for _, r := range all {
		kinds[r.view] = append(kinds[r.view], r)
	}
	mutators := map[bool]*mutator{false: newMutator(t, kinds[false], 1), true: newMutator(t, kinds[true], 2)}
	seen := map[string]bool{}
	var list []made
	accepted := 0
	for i := range mutants {
		r := all[i%len(all)]
		m, kind := mutators[r.view], kinds[r.view]
		body := m.mutant(t, r, kind[m.rng.IntN(len(kind))])
		document, err := r.carryOut(body)
		if err != nil {
			blamed(t, err, body)
			continue
		}
		accepted++
		r.valid(t, document)
		if !bytes.Equal(document, r.base) && !seen[string(document)] {
			seen[string(document)] = true
			list = append(list, made{r, body, document})
		}
	}
	t.Logf("%d of %d mutants were accepted and made %d documents", accepted, mutants, len(list))
	if len(list) < mutants/10 {
		t.Errorf("%d mutants made only %d documents", mutants, len(list))
	}
	return list
}

// TestMutantsOfRequests: no request, however strange, is our fault or leaves a document that
// isn't valid. With PIEDMONT_TEST_DOCUMENTS set the documents are written to that folder,
// for other readers to try.
func TestMutantsOfRequests(t *testing.T) {
	list := madeByMutants(t)
	folder := os.Getenv("PIEDMONT_TEST_DOCUMENTS")
	if folder == "" {
		return
	}
	for i, m := range list {
		kind := "table"
		if m.view {
			kind = "view"
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%05d.%s.json", i, kind)), m.document, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
