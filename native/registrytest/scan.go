package registrytest

import (
	"fmt"
	"slices"
	"testing"

	"piedmont/native"
)

// awkwardKeys are prefixes of each other and hold the bytes that comparisons trip over, in order.
func awkwardKeys() []native.Key {
	return []native.Key{
		"\x00", "\x00\x00", "\x00\xff", "a", "a\x00", "a\x00\x00", "a\x00b", "a\x01", "aa", "ab",
		"a\xfe", "a\xff", "a\xff\x00", "a\xff\xff", "a\xff\xffz", "b", "b/", "b/\x1f", "ä", "\xff", "\xff\x00", "\xff\xff",
	}
}

// fill writes keys in an order that isn't theirs.
func fill(t *testing.T, r native.Registry, keys []native.Key) {
	t.Helper()
	for i := range keys {
		key := keys[(i*7+3)%len(keys)] // 7 and the number of keys share no factor
		mustCommit(t, r, put(key, "value of "+string(key)))
	}
}

// expect is what a Scan of awkwardKeys must find.
func expect(keys []native.Key, prefix, after native.Key, limit int) []native.Key {
	var want []native.Key
	for _, key := range keys {
		if len(key) >= len(prefix) && key[:len(prefix)] == prefix && (after == "" || key > after) && len(want) < limit {
			want = append(want, key)
		}
	}
	return want
}

func testScanOrderAndPrefix(t *testing.T, r native.Registry) {
	wantKeys(t, scan(t, r, "", "", 0))
	keys := awkwardKeys()
	if !slices.IsSorted(keys) {
		t.Fatal("the keys of this test aren't sorted")
	}
	fill(t, r, keys)
	recs, err := r.Scan(t.Context(), "", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, rec := range recs {
		if string(rec.Value) != "value of "+string(rec.Key) || rec.Version == (native.Version{}) {
			t.Fatalf("record %d is %q with %q at %x", i, rec.Key, rec.Value, rec.Version)
		}
	}
	for _, prefix := range append(keys, "", "nothing", "\xff\xff\xff", "a\xff\xff\xff") {
		wantKeys(t, scan(t, r, prefix, "", 0), expect(keys, prefix, "", len(keys))...)
	}
}

// testScanAfter scans from every key, from between them, and from outside the prefix.
func testScanAfter(t *testing.T, r native.Registry) {
	keys := awkwardKeys()
	fill(t, r, keys)
	for _, prefix := range []native.Key{"", "a", "a\x00", "a\xff", "b/", "\xff", "nothing"} {
		for _, key := range keys {
			for _, after := range []native.Key{key, key + "\x00", key + "\xff", key + "zzz"} {
				for _, limit := range []int{1, 3, 1000} {
					wantKeys(t, scan(t, r, prefix, after, limit), expect(keys, prefix, after, limit)...)
				}
			}
		}
	}
}

func testScanPages(t *testing.T, r native.Registry) {
	keys := awkwardKeys()
	fill(t, r, keys)
	for limit := 1; limit <= len(keys)+1; limit++ {
		var got []native.Key
		after := native.Key("")
		for len(got) <= len(keys) {
			page := scan(t, r, "", after, limit)
			got = append(got, page...)
			if len(page) < limit {
				break
			}
			after = page[len(page)-1]
		}
		wantKeys(t, got, keys...)
	}
}

// testScanLimit asks for all of more records than a Scan returns.
func testScanLimit(t *testing.T, r native.Registry) {
	const count = native.MaxScan + 5
	changes := make([]native.Change, count)
	for i := range changes {
		changes[i] = put(native.Key(fmt.Sprintf("k%06d", i)), "")
	}
	mustCommit(t, r, changes[:native.MaxChanges]...)
	mustCommit(t, r, changes[native.MaxChanges:]...)
	for _, limit := range []int{-1, 0, native.MaxScan, native.MaxScan + 1, 1 << 40} {
		got := scan(t, r, "k", "", limit)
		if len(got) != native.MaxScan || got[0] != changes[0].Key || got[len(got)-1] != changes[native.MaxScan-1].Key {
			t.Fatalf("limit %d: %d keys to %q, want %d", limit, len(got), got[len(got)-1], native.MaxScan)
		}
	}
	wantKeys(t, scan(t, r, "k", changes[count-3].Key, 0), changes[count-2].Key, changes[count-1].Key)
}
