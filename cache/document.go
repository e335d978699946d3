package cache

import (
	"bytes"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"

	"piedmont/cache/rawjson"
)

// slack is by how much a deflated text may exceed half of the plain one and still be kept:
// short texts don't shrink well.
const slack = 512

// Document is a metadata document in the forms in which it is served: as it came, and
// deflated, each made once, when first asked for. It never changes.
type Document struct {
	raw []byte

	deflate sync.Once
	blocks  []byte // nil if not worth keeping
	crc     uint32

	reduce  sync.Once
	refs    *Document
	refsErr error

	identify            sync.Once
	tableUUID, viewUUID string
}

// NewDocument makes a document of a text that must be exactly one JSON object: it will be
// pasted into answers, where anything else could forge other members of the answer. The
// error is a *rawjson.Error. The text belongs to the document then.
func NewDocument(raw []byte) (*Document, error) {
	if err := rawjson.Check(raw); err != nil {
		return nil, err
	}
	return &Document{raw: raw}, nil
}

// TrustedDocument is NewDocument without the check, for a text that this process wrote
// itself.
func TrustedDocument(raw []byte) *Document { return &Document{raw: raw} }

// Raw is the text, byte for byte. It must not be changed.
func (d *Document) Raw() []byte { return d.raw }

// Deflated is the text as raw DEFLATE blocks, ending in a sync flush at a byte border and
// without a final block, and the CRC-32 (IEEE) of the text: what GzipMember needs to make
// it a part of a gzip member. The blocks must not be changed.
func (d *Document) Deflated() (blocks []byte, crc uint32) {
	d.deflate.Do(func() {
		d.crc = crc32.ChecksumIEEE(d.raw)
		if b := deflate(d.raw); len(b) <= len(d.raw)/2+slack {
			d.blocks = b
		}
	})
	if d.blocks == nil { // it hardly shrinks: not worth the memory that Size counts
		return appendStored(make([]byte, 0, storedSize(len(d.raw))), d.raw), d.crc
	}
	return d.blocks, d.crc
}

// Size is how many bytes the document takes at most, with everything that is made later
// counted from the start: a cache counts an entry when it comes in.
func (d *Document) Size() int64 {
	const fixed = 512
	withBlocks := int64(len(d.raw)) + int64(len(d.raw))/2 + slack + fixed
	return 2 * withBlocks // the document of Refs may be as large
}

// writers saves allocating some hundred kilobytes of tables for each document. A writer
// taken from it is reset, so nothing passes from one user to the next.
var writers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic("cache: DEFLATE refused its level: " + err.Error()) // only for unknown levels
	}
	return w
}}

// deflate compresses for speed: a document is compressed once a commit, and higher levels
// gain some percent.
func deflate(raw []byte) []byte {
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	var b bytes.Buffer
	b.Grow(len(raw)/4 + slack)
	w.Reset(&b)
	_, err := w.Write(raw)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		panic("cache: deflate into memory: " + err.Error()) // a Buffer returns no errors
	}
	return bytes.Clone(b.Bytes())
}
