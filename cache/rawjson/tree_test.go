package rawjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTreeHoldsEveryLevel(t *testing.T) {
	tree, err := ParseTree([]byte(` {"a":[1,{"b" : [ ]}],"c":"x"} `), 5)
	if err != nil {
		t.Fatal(err)
	}
	a := tree.Get("a")
	if !tree.IsObject() || !a.IsArray() || len(a.Elements) != 2 || string(a.Elements[1].Raw) != `{"b" : [ ]}` {
		t.Errorf("got %+v", a)
	}
	if b := a.Elements[1].Get("b"); b == nil || string(b.Raw) != "[ ]" {
		t.Errorf("got %+v", b)
	}
	if tree.Get("d") != nil || a.Get("b") != nil {
		t.Error("found what isn't there")
	}
	for _, ok := range []string{`1`, `"x"`, `[]`, `null`} {
		if _, err := ParseTree([]byte(ok), 5); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
}

func TestTreeRefuses(t *testing.T) {
	for _, bad := range []string{``, ` `, `{`, `[1`, `{"a":1} 2`, `{"a":{"b":1,"b":2}}`, `[[[[[[]]]]]]`, "\"\xff\"", `[tru]`} {
		if _, err := ParseTree([]byte(bad), 5); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

func TestTreeReadsDeepTextOnce(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 900) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("}", 900)
	if _, err := ParseTree([]byte(deep), MaxDepth); err != nil {
		t.Fatal(err)
	}
}

func TestRenderOwnsItsText(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                           `{}`,
		`{ "a\/b" : [ 1 ] , "c" : 2 }`: `{"a\/b":[ 1 ],"c":22}`,
	} {
		src := []byte(in)
		o, err := ParseObject(src)
		if err != nil {
			t.Fatal(err)
		}
		out, same := o.Render(0, func(dst []byte, key string, raw json.RawMessage) []byte {
			if key == "c" {
				raw = json.RawMessage("22")
			}
			return append(dst, raw...)
		})
		clear(src)
		if string(out) != want || text(&same) != want {
			t.Errorf("got %s and %s", out, text(&same))
		}
	}
}
