package router

import (
	"encoding/json"
	"net/http"
	"strconv"
	"unicode/utf8"

	"piedmont/mounts"
)

// writeJSON writes a whole JSON answer, gzipped where that pays and the client takes it.
func writeJSON(w http.ResponseWriter, r *http.Request, code int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if len(body) >= gzipFrom && acceptsGzip(r) {
		packed := pack(body)
		defer packed.release()
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		body = packed.bytes()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		announce(r.Context(), len(body))
	}
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that went away hears nothing
	}
}

// answer marshals and writes a value of our own wire types.
func answer(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	writeJSON(w, r, http.StatusOK, b)
	return nil
}

func noContent(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// appendString appends a JSON string. Names are mostly letters that need no escape.
func appendString(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if b := s[i]; b < 0x20 || b == '"' || b == '\\' || b >= utf8.RuneSelf {
			quoted, _ := json.Marshal(s) // a string always marshals
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

func appendNamespace(dst []byte, n mounts.Namespace) []byte {
	dst = append(dst, '[')
	for i, level := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, level)
	}
	return append(dst, ']')
}

// appendNext ends a list. The last page has no token at all: some clients loop on an
// empty one.
func appendNext(dst []byte, next string) []byte {
	if next == "" {
		return append(dst, "]}"...)
	}
	dst = append(dst, `],"next-page-token":`...)
	dst = appendString(dst, next)
	return append(dst, '}')
}

// writeList writes a list that is encoded into memory that is used again.
func writeList(w http.ResponseWriter, r *http.Request, encode func(dst []byte) []byte) {
	buffer := joined.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
	b := encode((*buffer)[:0])
	writeJSON(w, r, http.StatusOK, b)
	if cap(b) <= maxPooled {
		*buffer = b
		joined.Put(buffer)
	}
}

// appendNamespaces appends a ListNamespacesResponse.
func appendNamespaces(dst []byte, names []mounts.Namespace, next string) []byte {
	dst = append(dst, `{"namespaces":[`...)
	for i, n := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendNamespace(dst, n)
	}
	return appendNext(dst, next)
}

// appendIdentifiers appends a ListTablesResponse for objects of one namespace.
func appendIdentifiers(dst []byte, in mounts.Namespace, names []string, next string) []byte {
	head := append([]byte(`{"namespace":`), appendNamespace(nil, in)...)
	head = append(head, `,"name":`...)
	dst = append(dst, `{"identifiers":[`...)
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, head...)
		dst = appendString(dst, name)
		dst = append(dst, '}')
	}
	return appendNext(dst, next)
}
