package router

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"piedmont/cache"
	"piedmont/mounts"
)

// gzipFrom is the size from which an answer is compressed: below it fits one packet.
const gzipFrom = 1400

// acceptsGzip says whether the client takes a gzipped answer (RFC 9110, 12.5.3).
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, parameters, _ := strings.Cut(strings.TrimSpace(part), ";")
		if coding = strings.TrimSpace(coding); !strings.EqualFold(coding, "gzip") && coding != "*" {
			continue
		}
		q, has := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		return !has || err == nil && weight > 0
	}
	return false
}

// packed is a gzipped text in memory that others use later.
type packed struct {
	buffer bytes.Buffer
	writer *gzip.Writer
}

var packers = sync.Pool{New: func() any {
	p := &packed{}
	p.writer, _ = gzip.NewWriterLevel(&p.buffer, gzip.BestSpeed) // fails for unknown levels only
	return p
}}

// pack gzips a text. The result is good until release.
func pack(b []byte) *packed {
	p := packers.Get().(*packed) //nolint:forcetypeassert // the pool holds nothing else
	p.buffer.Reset()
	p.writer.Reset(&p.buffer)
	_, _ = p.writer.Write(b) // a bytes.Buffer takes everything
	_ = p.writer.Close()
	return p
}

func (p *packed) bytes() []byte { return p.buffer.Bytes() }

// maxPooled keeps one huge answer from staying in memory.
const maxPooled = 1 << 20

func (p *packed) release() {
	if p.buffer.Cap() <= maxPooled {
		packers.Put(p)
	}
}

// writeGzipped answers with a document as one gzip member, made of the blocks into which
// the document was deflated when it was first asked for.
func writeGzipped(w http.ResponseWriter, head []byte, d mounts.Document, tail []byte) error {
	buffer := joined.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
	b := cache.AppendGzip((*buffer)[:0], cache.Plain(head), cache.Packed(d), cache.Plain(tail))
	h := w.Header()
	h.Set("Content-Encoding", "gzip")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(b) // the client went away; the answer has begun
	if cap(b) <= maxPooled {
		*buffer = b
		joined.Put(buffer)
	}
	return nil
}
