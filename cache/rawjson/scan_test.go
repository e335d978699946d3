package rawjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCheckAcceptsOneObject(t *testing.T) {
	for _, text := range []string{
		`{}`, " \t\r\n{ } \n", `{"a":1}`, `{"a":[],"b":{},"c":[1 , 2],"d":null}`, `{"a":-0,"b":1.50e+10,"c":0.0}`,
		`{"a":"é\u00e9\n\"\\\/\ud800"}`, `{"":true,"x":false}`, `{"a":1,"a":2}`, `{"a":9223372036854775808123}`,
	} {
		if err := Check([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		text   string
		offset int
		reason string
	}{
		{``, 0, "unexpected end"},
		{`   `, 3, "unexpected end"},
		{`[]`, 0, "expected an object"},
		{`"a"`, 0, "expected an object"},
		{`null`, 0, "expected an object"},
		{"\ufeff{}", 0, "expected an object"},
		{`{`, 1, "unexpected end"},
		{`{"a"`, 4, "unexpected end"},
		{`{"a":`, 5, "unexpected end"},
		{`{"a":1`, 6, "unexpected end"},
		{`{"a":"`, 6, "unexpected end"},
		{`{}{}`, 2, "more text after the value"},
		{`{},`, 2, "more text after the value"},
		{"{}\x00", 2, "more text after the value"},
		{`{"a":1,}`, 7, "expected a key"},
		{`{a:1}`, 1, "expected a key"},
		{`{'a':1}`, 1, "expected a key"},
		{`{"a" 1}`, 5, "expected a colon"},
		{`{"a":1 "b":2}`, 7, "expected a comma or a closing bracket"},
		{`{"a":[1,]}`, 8, "expected a value"},
		{`{"a":[1}`, 7, "expected a comma or a closing bracket"},
		{`{"a":tru}`, 5, "expected a value"},
		{`{"a":NaN}`, 5, "expected a value"},
		{`{"a":+1}`, 5, "expected a value"},
		{`{"a":01}`, 5, "bad number"},
		{`{"a":-}`, 6, "bad number"},
		{`{"a":1.}`, 7, "bad number"},
		{`{"a":1e}`, 7, "bad number"},
		{`{"a":1e+}`, 8, "bad number"},
		{`{"a":.5}`, 5, "expected a value"},
		{`{"a":"\x"}`, 6, "bad escape in a string"},
		{`{"a":"\u12g4"}`, 6, "bad escape in a string"},
		{"{\"a\":\"\n\"}", 6, "control character in a string"},
		{"{\"a\":\"\xff\"}", 6, "not valid UTF-8"},
		{"{\"a\":\"\xed\xa0\x80\"}", 6, "not valid UTF-8"},
		{`{} // x`, 3, "more text after the value"},
	} {
		err := Check([]byte(c.text))
		var e *Error
		if !errors.As(err, &e) || e.Offset != c.offset || e.Reason != c.reason {
			t.Errorf("%q: got %v, want %q at %d", c.text, err, c.reason, c.offset)
		}
	}
}

func TestErrorNamesNoBytesOfTheText(t *testing.T) {
	err := Check([]byte(`{"secret":secret}`))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestDepthIsBounded(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(`{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`)
	}
	if err := CheckObject(nested(5), 5); err != nil {
		t.Error(err)
	}
	if err := CheckObject(nested(6), 5); err == nil {
		t.Error("six levels passed a bound of five")
	}
	if err := Check(nested(MaxDepth)); err != nil {
		t.Error(err)
	}
	if err := Check(nested(MaxDepth + 1)); err == nil {
		t.Error("too many levels passed")
	}
	if err := Check([]byte(strings.Repeat(`{"a":`, 1<<20))); err == nil {
		t.Error("a million levels passed")
	}
}

func TestCheckUniqueRefusesRepeatedKeysAtAnyLevel(t *testing.T) {
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `"k%d":%d,`, i, i)
	}
	for text, ok := range map[string]bool{
		`{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}`: true,
		`{"a":1,"a":1}`:                   false,
		`{"a":1,"\u0061":1}`:              false,
		`{"x":[{"a":1,"b":2,"a":3}]}`:     false,
		`{` + many.String() + `"k100":0}`: true,
		`{` + many.String() + `"k7":0}`:   false,
		`{` + many.String() + `"k99":0}`:  false,
	} {
		if err := CheckUnique([]byte(text), MaxDepth); (err == nil) != ok {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,2.5e3,"x\u00e9"],"b":{"c":null}}`, `{"a":1,"a":2}`, `[1]`, `{"a":01}`, "{\"\xff\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		err := Check(b)
		var want map[string]json.RawMessage
		std := json.Unmarshal(b, &want)
		if err == nil && (std != nil || want == nil) {
			t.Fatalf("accepted %q, encoding/json: %v", b, std)
		}
		if err != nil && std == nil && want != nil && invalidUTF8(b) == len(b) {
			t.Fatalf("refused %q: %v", b, err)
		}
		o, parseErr := ParseObject(b)
		if err != nil && parseErr == nil {
			t.Fatalf("ParseObject accepted what Check refuses: %q", b)
		}
		if parseErr == nil {
			compare(t, &o, want)
		}
	})
}

// compare holds o against what encoding/json made of the same text.
func compare(t *testing.T, o *Object, want map[string]json.RawMessage) {
	t.Helper()
	if o.Len() != len(want) {
		t.Fatalf("%d members, want %d", o.Len(), len(want))
	}
	for k, v := range o.All() {
		if string(want[k]) != string(v) {
			t.Fatalf("member %q is %s, want %s", k, v, want[k])
		}
	}
	again, err := ParseObject(o.AppendTo(nil))
	if err != nil || again.Len() != o.Len() {
		t.Fatalf("own output doesn't parse: %v", err)
	}
	if n := len(o.AppendTo(nil)); n > o.Size() {
		t.Fatalf("Size %d is less than the text's %d", o.Size(), n)
	}
}
