package cache

import (
	"encoding/binary"
	"hash/crc32"
)

// Deflater is a text that knows its DEFLATE blocks; see Document.Deflated. A Document is
// one.
type Deflater interface {
	Raw() []byte
	Deflated() (blocks []byte, crc uint32)
}

// Part is a piece of the text of a gzip member: a document, or plain bytes.
type Part struct {
	plain    []byte
	document Deflater
}

// Plain is a part that is stored as it is. What stands around documents in answers is
// short, and what isn't compressed says nothing about secrets in it by its length.
func Plain(b []byte) Part { return Part{plain: b} }

// Packed is a part whose DEFLATE blocks are at hand.
func Packed(d Deflater) Part { return Part{document: d} }

// GzipMember gives the parts, one after the other, as one gzip member (RFC 1952) and not
// one for each: some readers stop behind the first member. It is the concatenation of
// the slices returned, which must not be changed: the blocks of a document are its own, so
// that a large one is not copied. It compresses only what a document has not compressed
// yet.
func GzipMember(parts ...Part) [][]byte {
	slices := make([][]byte, 0, len(parts)+1)
	own := append(make([]byte, 0, 512), 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255) // DEFLATE, no flags, no time, fastest, unknown system
	var crc, size uint32                                                      // the format keeps the size modulo 2^32
	for _, p := range parts {
		if p.document == nil {
			own = appendStored(own, p.plain)
			crc = crc32.Update(crc, crc32.IEEETable, p.plain)
			size += uint32(len(p.plain))
			continue
		}
		blocks, partCRC := p.document.Deflated()
		n := len(p.document.Raw())
		slices = append(slices, own, blocks)
		own = own[len(own):] // goes on behind what was handed out
		crc = combine(crc, partCRC, n)
		size += uint32(n)
	}
	own = append(own, 3, 0) // an empty final block
	own = binary.LittleEndian.AppendUint32(own, crc)
	return append(slices, binary.LittleEndian.AppendUint32(own, size))
}

// maxStored is the most that one stored block holds (RFC 1951, 3.2.4).
const maxStored = 1<<16 - 1

// appendStored appends b as stored blocks, none of them final. They begin and end at byte
// borders if what is before them does.
func appendStored(dst, b []byte) []byte {
	for len(b) > 0 {
		n := min(len(b), maxStored)
		dst = append(dst, 0, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		dst = append(dst, b[:n]...)
		b = b[n:]
	}
	return dst
}

// storedSize is how much appendStored appends for n bytes.
func storedSize(n int) int { return n + 5*((n+maxStored-1)/maxStored) }

// combine is the CRC-32 of two texts, one after the other, from that of each and the
// second's length. A CRC is the remainder of a division of polynomials over GF(2):
// appending n bytes multiplies the first by x^8n, and the inversions at start and end
// cancel out.
func combine(first, second uint32, secondLen int) uint32 {
	return multiply(first, power(secondLen)) ^ second
}

// The polynomials are written as CRC-32 has them: the highest bit is the factor of x^0.
const (
	one  = 1 << 31
	x8   = 1 << 23
	poly = crc32.IEEE
)

// power is x^8n modulo the polynomial.
func power(n int) uint32 {
	result, square := uint32(one), uint32(x8)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			result = multiply(result, square)
		}
		square = multiply(square, square)
	}
	return result
}

// multiply is the product of two polynomials modulo the CRC's.
func multiply(a, b uint32) uint32 {
	var product uint32
	for ; a != 0; a <<= 1 {
		if a&one != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= poly
		}
	}
	return product
}
