package native

import (
	"bytes"
	"strings"
	"testing"

	"piedmont/mounts"
)

func examplePointer() pointer {
	return pointer{
		Type: typeTable, Object: "o", UUID: "9c12d441-03fe-4693-9a96-a0705ddf69c1",
		Location: "s3a://b/é t", Metadata: "s3a://b/é t/metadata/00000-x.metadata.json",
	}
}

func TestPointerKeepsFieldsOfLaterVersions(t *testing.T) {
	p := examplePointer()
	p.later = []byte{200, 2, 'h', 'i', 201, 0}
	b, err := p.encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := decodePointer(Record{Value: b})
	if err != nil {
		t.Fatal(err)
	}
	again, err := read.encode()
	if err != nil || !bytes.Equal(b, again) || read.Metadata != p.Metadata || read.Location != p.Location {
		t.Errorf("%q became %q (%v)", b, again, err)
	}
}

func TestDamagedPointersAreNoAbsence(t *testing.T) {
	whole, err := examplePointer().encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{nil, whole[:1], whole[:len(whole)-1], {9}, append([]byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, whole...)} {
		if _, err := decodePointer(Record{Key: "o", Value: b}); !mounts.Is(err, mounts.Internal) {
			t.Errorf("%q: %v", b, err)
		}
	}
}

func TestPointerTooLarge(t *testing.T) {
	p := examplePointer()
	p.Location = strings.Repeat("x", MaxValueBytes)
	if _, err := p.encode(); !mounts.Is(err, mounts.BadRequest) {
		t.Errorf("got %v", err)
	}
}

func FuzzDecodePointer(f *testing.F) {
	whole, err := examplePointer().encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte{1, 1, 'x', 5, 1, 'y', 77, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePointer(Record{Value: b})
		if err != nil {
			return
		}
		again, err := p.encode()
		if err != nil {
			return // only where it grew over the bound
		}
		q, err := decodePointer(Record{Value: again})
		if err != nil || q.Metadata != p.Metadata || q.Type != p.Type || !bytes.Equal(q.later, p.later) {
			t.Errorf("%q: %+v became %+v (%v)", b, p, q, err)
		}
	})
}
