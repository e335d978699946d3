package historytest

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// state is the catalog as clients can see it: what each name stands for, as table.String
// writes it, and "" where it stands for nothing. All names are one state, since renames
// and transactions span them.
type state [names]string

// table is what clients can see of a table. It holds all that was ever done to it, so
// that a lost change, one made twice and one made half all show.
type table struct {
	creator    string
	snapshots  []string // in the order of their sequence numbers; main is the last
	properties []string // sorted
	last       string   // the property that was set last
}

func (t table) String() string {
	return strings.Join([]string{t.creator, strings.Join(t.snapshots, ","), strings.Join(t.properties, ","), t.last}, "|")
}

// parseTable reads what String wrote.
func parseTable(text string) table {
	f := strings.Split(text, "|")
	t := table{creator: f[0], last: f[3]}
	if f[1] != "" {
		t.snapshots = strings.Split(f[1], ",")
	}
	if f[2] != "" {
		t.properties = strings.Split(f[2], ",")
	}
	return t
}

func (t table) main() string {
	if len(t.snapshots) == 0 {
		return ""
	}
	return t.snapshots[len(t.snapshots)-1]
}

// apply is the state behind a change, if nothing refuses it.
func (o operation) apply(s state) (next state, why reason, ok bool) {
	next = s
	switch o.kind {
	case change:
		for _, p := range o.parts {
			if why, ok = p.apply(o.id, &next[p.name]); !ok {
				return s, why, false
			}
		}
	case rename:
		if s[o.name] == "" {
			return s, missing, false
		}
		if s[o.to] != "" {
			return s, taken, false
		}
		next[o.to], next[o.name] = s[o.name], ""
	case drop:
		if s[o.name] == "" {
			return s, missing, false
		}
		next[o.name] = ""
	default: // a read changes nothing
	}
	return next, 0, true
}

func (p part) apply(id int, at *string) (why reason, ok bool) {
	mark := strconv.Itoa(id)
	if p.does == creates {
		if *at != "" {
			return taken, false
		}
		*at = table{creator: p.creator(id)}.String()
		return 0, true
	}
	if *at == "" {
		return missing, false
	}
	t := parseTable(*at)
	if p.does != sets && p.seen.creator != t.creator || (p.does == appends || p.does == asserts) && p.seen.main != t.main() {
		return failed, false
	}
	switch p.does {
	case appends:
		t.snapshots = append(t.snapshots, mark)
	case asserts:
	default:
		t.properties = append(t.properties, mark)
		slices.Sort(t.properties)
		t.last = mark
	}
	*at = t.String()
	return 0, true
}

// creator is what a table that the part creates is known by, whatever it is called later.
func (p part) creator(id int) string { return strconv.Itoa(id) + tableName(p.name) }

// mayRefuse says whether the state is a reason to refuse the operation as it was. A
// transaction may be refused for any of its tables.
func (o operation) mayRefuse(s state, why reason) bool {
	switch {
	case why == lost:
		return true
	case o.kind == load, o.kind == exists:
		return why == missing && s[o.name] == ""
	case o.kind == rename && why == taken:
		return s[o.to] != "" // whatever became of its source meanwhile
	case o.kind != change:
		_, found, ok := o.apply(s)
		return !ok && found == why
	}
	for _, p := range o.parts {
		at := s[p.name]
		if found, ok := p.apply(o.id, &at); !ok && found == why {
			return true
		}
	}
	return false
}

// step says whether an operation may end like that in a state, and what the state is
// then. What is unknown stays open to the end of the history: put last there it is the
// same as never applied, so it needs no second possibility.
func step(s state, o operation, out outcome) (bool, state) {
	switch out.result {
	case notApplied:
		return true, s
	case refused:
		return o.mayRefuse(s, out.why), s
	case unknown:
		next, _, _ := o.apply(s)
		return true, next
	case done:
	}
	switch o.kind {
	case load:
		return s[o.name] == out.seen && out.seen != "", s
	case exists:
		return s[o.name] != "", s
	case list:
		return s.listed() == out.seen, s
	default:
	}
	next, _, ok := o.apply(s)
	return ok && (out.blind || next[o.parts[0].name] == out.seen), next
}

// listed are the names that stand for a table.
func (s state) listed() string {
	var all []string
	for n, t := range s {
		if t != "" {
			all = append(all, tableName(n))
		}
	}
	return strings.Join(all, ",")
}

func (s state) String() string {
	var all []string
	for n, t := range s {
		if t != "" {
			all = append(all, fmt.Sprintf("%s=%s", tableName(n), t))
		}
	}
	return strings.Join(all, " ")
}

// model is the catalog for porcupine.
func model() porcupine.Model {
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, input, output any) (bool, any) {
			return step(s.(state), input.(operation), output.(outcome))
		},
		Hash: func(s any) uint64 { return maphash.Comparable(seed, s.(state)) },
		DescribeOperation: func(input, output any) string {
			return input.(operation).String() + ": " + output.(outcome).String()
		},
		DescribeState: func(s any) string { return s.(state).String() },
	}
}
