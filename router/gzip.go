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
	any := false
	for _, line := range r.Header["Accept-Encoding"] {
		for part := range strings.SplitSeq(line, ",") {
			coding, parameters, _ := strings.Cut(part, ";")
			switch coding = strings.TrimSpace(coding); {
			case strings.EqualFold(coding, "gzip"):
				return weighs(parameters) // named, it counts before the star
			case coding == "*":
				any = weighs(parameters)
			}
		}
	}
	return any
}

// weighs says whether the parameters of a coding don't rule it out. A weight that isn't one does.
func weighs(parameters string) bool {
	name, q, has := strings.Cut(parameters, "=")
	if !has || !strings.EqualFold(strings.TrimSpace(name), "q") {
		return true
	}
	weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
	return err == nil && weight > 0
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

// gzipped is a document between a few members of ours as one gzip member, made of the
// blocks into which the document was deflated when it was first asked for.
func gzipped(head []byte, d mounts.Document, tail []byte) [][]byte {
	return cache.GzipMember(cache.Plain(head), cache.Packed(d), cache.Plain(tail))
}
