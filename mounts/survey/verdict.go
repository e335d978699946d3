package survey

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
	"piedmont/vend"
)

// verdict is what an error says of a table or view.
type verdict struct {
	state  State
	reason string
	detail string
}

// judge is the verdict of an error that came instead of an answer. read: the pointer was there,
// it is the document that isn't.
func judge(err error, read bool) verdict {
	v := verdict{state: Unknown, reason: strings.ReplaceAll(mounts.KindOf(err).String(), " ", "-"), detail: explain(err)}
	switch kind := mounts.KindOf(err); {
	case kind == mounts.NoSuchTable || kind == mounts.NoSuchView || kind == mounts.NoSuchNamespace:
		v.state = Gone
	case kind == mounts.NotFound:
		v.state, v.reason = Broken, FileGone
	case kind == mounts.Unsupported || kind == mounts.Internal && holds(err, mounts.BadRequest):
		v.state, v.reason = Broken, NoStorageProfile
	case kind == mounts.BadGateway && holds(err, mounts.BadRequest):
		v.state, v.reason = Broken, NoMetadataLocation // none that could be a file's
	case (kind == mounts.Internal || kind == mounts.BadGateway) && (read || unreadable(err)):
		v.state, v.reason = Broken, NotMetadata
	}
	return v
}

// holds says whether below the outermost *mounts.Error there is one of that kind.
func holds(err error, kind mounts.Kind) bool {
	var e *mounts.Error
	for errors.As(err, &e) {
		if err = e.Err; mounts.Is(err, kind) {
			return true
		}
	}
	return false
}

// unreadable says whether a file was read and is none.
func unreadable(err error) bool {
	var text *rawjson.Error
	var packed flate.CorruptInputError
	return errors.As(err, &text) || errors.As(err, &packed) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, vend.ErrTooLarge)
}

// unanswered says whether the question may be put again: who was asked didn't say anything.
func unanswered(err error) bool {
	return mounts.Is(err, mounts.Unavailable) || mounts.Is(err, mounts.Timeout)
}

// maxDetail bounds what an error's text takes.
const maxDetail = 500

// explain is an error for who looks after the catalogs: with what stays hidden from clients.
func explain(err error) string { return clipTo(err.Error(), maxDetail) }
