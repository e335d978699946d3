package rawjson

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) Object {
	t.Helper()
	o, err := ParseObject([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return o
}

func text(o *Object) string { return string(o.AppendTo(nil)) }

func TestObjectKeepsOrderAndBytes(t *testing.T) {
	o := parse(t, ` { "z" : 9007199254740993 , "a\/b":{"x" : [ 1.10 ]}, "m":"\u00e9" } `)
	if got, want := text(&o), `{"z":9007199254740993,"a\/b":{"x" : [ 1.10 ]},"m":"\u00e9"}`; got != want {
		t.Errorf("got %s", got)
	}
	if v, ok := o.Get("a/b"); !ok || string(v) != `{"x" : [ 1.10 ]}` {
		t.Errorf("a/b is %s", v)
	}
	var keys []string
	for k := range o.All() {
		keys = append(keys, k)
	}
	if !slices.Equal(keys, []string{"z", "a/b", "m"}) {
		t.Errorf("keys %q", keys)
	}
}

func TestParseObjectRefusesDuplicates(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	for _, s := range []string{`{"a":1,"a":1}`, `{"a":1,"\u0061":1}`, `{` + b.String() + `"k3":1}`} {
		if _, err := ParseObject([]byte(s)); err == nil {
			t.Errorf("%.40s passed", s)
		}
	}
	parse(t, `{`+b.String()+`"last":{"a":1,"a":2}}`)
}

func TestObjectSetDeleteClone(t *testing.T) {
	for _, extra := range []int{0, 100} {
		var base Object
		base.Set("a", json.RawMessage("1"))
		base.Set("b", json.RawMessage("2"))
		for i := range extra {
			base.Set(fmt.Sprint("x", i), json.RawMessage("0"))
		}
		before := text(&base)
		o := base.Clone()
		o.Set("a", json.RawMessage(`"new"`))
		if !o.Delete("b") || o.Delete("b") || o.Delete("nothing") {
			t.Error("Delete says what it didn't do")
		}
		o.Set(`q"uote`, json.RawMessage("3"))
		for i := range extra {
			o.Delete(fmt.Sprint("x", i))
		}
		if got, want := text(&o), `{"a":"new","q\"uote":3}`; got != want {
			t.Errorf("got %s", got)
		}
		if o.Len() != 2 || base.Len() != 2+extra {
			t.Errorf("lengths %d and %d", o.Len(), base.Len())
		}
		o.Set("b", json.RawMessage("4"))
		if v, ok := o.Get("b"); !ok || string(v) != "4" {
			t.Errorf("a deleted key can't be set again: %s", v)
		}
		if text(&base) != before {
			t.Error("changing the clone changed the base")
		}
	}
}

func TestAppendingToAValueLeavesItsNeighbours(t *testing.T) {
	b := []byte(`{"a":1,"b":2}`)
	o, _ := ParseObject(b)
	v, _ := o.Get("a")
	_ = append(v, 'x')
	if string(b) != `{"a":1,"b":2}` {
		t.Errorf("the text became %s", b)
	}
}

func TestMemberFindsOne(t *testing.T) {
	b := []byte(`{"config":{"metadata":1},"metadata" : {"a": 1.0} ,"other":[{}]}`)
	v, ok, err := Member(b, "metadata")
	if err != nil || !ok || string(v) != `{"a": 1.0}` {
		t.Errorf("got %s, %v, %v", v, ok, err)
	}
	if _, ok, err = Member(b, "none"); ok || err != nil {
		t.Errorf("none: %v, %v", ok, err)
	}
	for _, bad := range []string{`{"a":1,"a":2}`, `{"a":1`, `{"a":1} x`, `[]`, `{"a":1,"b":}`, "{\"a\":\"\xff\"}"} {
		if _, _, err := Member([]byte(bad), "a"); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func TestElements(t *testing.T) {
	got, err := Elements([]byte(` [ 1 , {"a":[2]}, "x" ] `))
	if err != nil || len(got) != 3 || string(got[0]) != "1" || string(got[1]) != `{"a":[2]}` || string(got[2]) != `"x"` {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err = Elements([]byte(`[]`)); err != nil || len(got) != 0 {
		t.Errorf("got %s, %v", got, err)
	}
	for _, bad := range []string{``, `{}`, `[1,]`, `[1`, `[1]]`, `[1] 2`} {
		if _, err := Elements([]byte(bad)); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func TestScalars(t *testing.T) {
	for raw, want := range map[string]string{`"a"`: "a", `""`: "", `"\u00e9\n"`: "é\n", `"\ud83d\ude00"`: "😀"} {
		if s, ok := String([]byte(raw)); !ok || s != want {
			t.Errorf("%s is %q, %v", raw, s, ok)
		}
	}
	for _, raw := range []string{``, `"`, `1`, `null`, `{}`} {
		if _, ok := String([]byte(raw)); ok {
			t.Errorf("%q is a string", raw)
		}
	}
	for raw, want := range map[string]int64{"0": 0, "-1": -1, "9223372036854775807": 1<<63 - 1, "9007199254740993": 9007199254740993} {
		if n, ok := Int([]byte(raw)); !ok || n != want {
			t.Errorf("%s is %d, %v", raw, n, ok)
		}
	}
	for _, raw := range []string{``, `1.0`, `1e3`, `"1"`, `null`, `9223372036854775808`, `+1`} {
		if _, ok := Int([]byte(raw)); ok {
			t.Errorf("%q is an integer", raw)
		}
	}
	if _, ok := Int32([]byte("2147483648")); ok {
		t.Error("2^31 fits 32 bits")
	}
}

func TestAppendStringRoundTrips(t *testing.T) {
	for _, s := range []string{"", "plain", "quo\"te\\", "tab\tnl\n\x00\x1f", "é😀<>&\u2028", "/"} {
		raw := AppendString(nil, s)
		got, ok := String(raw)
		var std string
		if !ok || got != s || json.Unmarshal(raw, &std) != nil || std != s {
			t.Errorf("%q became %s, then %q", s, raw, got)
		}
	}
	if got := string(AppendString(nil, "a\xffb")); got != "\"a\ufffdb\"" {
		t.Errorf("got %s", got)
	}
	if got := string(AppendInt(nil, -42)); got != "-42" {
		t.Errorf("got %s", got)
	}
}

// big is a document like a table's with 10,000 snapshots: about 8 MB.
func big() []byte {
	var b strings.Builder
	b.WriteString(`{"format-version":2,"snapshots":[`)
	for i := range 10000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"snapshot-id":%d,"sequence-number":%d,"manifest-list":"s3://bucket/warehouse/db/table/metadata/snap-%d.avro","summary":{%s}}`,
			1<<60+i, i, i, strings.Repeat(`"total-records":"123456789","added-files-size":"123456",`, 11)+`"operation":"append"`)
	}
	b.WriteString(`],"metadata-log":[]}`)
	return []byte(b.String())
}

func BenchmarkCheck8MB(b *testing.B) {
	doc := big()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if err := Check(doc); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMember8MB(b *testing.B) {
	doc := big()
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, ok, err := Member(doc, "metadata-log"); err != nil || !ok {
			b.Fatal(err)
		}
	}
}
