package metadata

import (
	"encoding/json"
	"errors"
	"strconv"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
)

// maxDepth bounds the brackets in a commit or create body. A level of a schema takes up
// to three, and maxTypeDepth levels must fit.
const maxDepth = 400

func badRequest(detail string) error {
	return &mounts.Error{Kind: mounts.BadRequest, Detail: detail}
}

func commitFailed(detail string) error {
	return &mounts.Error{Kind: mounts.CommitFailed, Detail: detail}
}

// reader decodes members and keeps the first thing that is wrong, so that a decoder
// reads like a list of members and asks for the error once, at its end. Until then it
// works on zero values.
type reader struct {
	what string // "commit", "table metadata": the start of each message
	err  error
}

// fail keeps the first error: "Invalid commit: updates[3].snapshot.snapshot-id: missing".
func (r *reader) fail(path, reason string) {
	if r.err != nil {
		return
	}
	if path != "" {
		path += ": "
	}
	r.err = badRequest("Invalid " + r.what + ": " + path + reason)
}

// object is a JSON object that is being decoded, and the path that leads to it.
type object struct {
	rawjson.Object
	r    *reader
	path string
}

// request opens a body that a client sent. What isn't one JSON object, holds a key twice
// anywhere or nests too deeply gives an empty one, and an error in r.
func (r *reader) request(body []byte) *object {
	if err := rawjson.CheckUnique(body, maxDepth); err != nil {
		r.fail("", reasonOf(err))
		return &object{r: r}
	}
	return r.object(body, "")
}

// object splits raw. What isn't an object gives an empty one, and an error in r.
func (r *reader) object(raw json.RawMessage, path string) *object {
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		r.fail(path, reasonOf(err))
	}
	return &object{Object: o, r: r, path: path}
}

// elements splits an array.
func (r *reader) elements(raw json.RawMessage, path string) []json.RawMessage {
	all, err := rawjson.Elements(raw)
	if err != nil {
		r.fail(path, reasonOf(err))
	}
	return all
}

// reasonOf is an error of rawjson without the words that all of them share.
func reasonOf(err error) string {
	var e *rawjson.Error
	if !errors.As(err, &e) {
		return "not valid JSON"
	}
	if e.Offset == 0 {
		return e.Reason
	}
	return e.Reason + " at byte " + strconv.Itoa(e.Offset)
}

func (o *object) at(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// has says whether key is there and not null.
func (o *object) has(key string) bool {
	raw, _ := o.Get(key)
	return !rawjson.IsNull(raw)
}

// need is the raw value of a member that must be there. Null is as good as missing.
func (o *object) need(key string) (json.RawMessage, bool) {
	raw, _ := o.Get(key)
	if rawjson.IsNull(raw) {
		o.r.fail(o.at(key), "missing")
		return nil, false
	}
	return raw, true
}

func (o *object) str(key string) string {
	raw, ok := o.need(key)
	if !ok {
		return ""
	}
	s, ok := rawjson.String(raw)
	if !ok {
		o.r.fail(o.at(key), "expected a string")
	}
	return s
}

// optStr is empty where the member is missing.
func (o *object) optStr(key string) string {
	if !o.has(key) {
		return ""
	}
	return o.str(key)
}

func (o *object) long(key string) int64 {
	raw, ok := o.need(key)
	if !ok {
		return 0
	}
	n, ok := rawjson.Int(raw)
	if !ok {
		o.r.fail(o.at(key), "expected an integer of 64 bits")
	}
	return n
}

func (o *object) optLong(key string) (n int64, ok bool) {
	if !o.has(key) {
		return 0, false
	}
	return o.long(key), true
}

func (o *object) int(key string) int {
	raw, ok := o.need(key)
	if !ok {
		return 0
	}
	n, ok := rawjson.Int32(raw)
	if !ok {
		o.r.fail(o.at(key), "expected an integer of 32 bits")
	}
	return n
}

func (o *object) optInt(key string) (n int, ok bool) {
	if !o.has(key) {
		return 0, false
	}
	return o.int(key), true
}

func (o *object) optBool(key string) bool {
	raw, _ := o.Get(key)
	if !rawjson.IsNull(raw) && string(raw) != "true" && string(raw) != "false" {
		o.r.fail(o.at(key), "expected true or false")
	}
	return string(raw) == "true"
}

// child is the member's object.
func (o *object) child(key string) *object {
	raw, ok := o.need(key)
	if !ok {
		return &object{r: o.r, path: o.at(key)}
	}
	return o.r.object(raw, o.at(key))
}

// children are the objects in the member's array, which must be there.
func (o *object) children(key string) []*object {
	raw, ok := o.need(key)
	if !ok {
		return nil
	}
	var all []*object
	for i, e := range o.r.elements(raw, o.at(key)) {
		all = append(all, o.r.object(e, o.at(key)+"["+strconv.Itoa(i)+"]"))
	}
	return all
}

// optChildren is empty where the member is missing.
func (o *object) optChildren(key string) []*object {
	if !o.has(key) {
		return nil
	}
	return o.children(key)
}

// longs are the integers in the member's array, which must be there.
func (o *object) longs(key string) []int64 {
	raw, ok := o.need(key)
	if !ok {
		return nil
	}
	var all []int64
	for i, e := range o.r.elements(raw, o.at(key)) {
		n, ok := rawjson.Int(e)
		if !ok {
			o.r.fail(o.at(key)+"["+strconv.Itoa(i)+"]", "expected an integer of 64 bits")
		}
		all = append(all, n)
	}
	return all
}

// strings are the texts in the member's array, which must be there.
func (o *object) strings(key string) []string {
	raw, ok := o.need(key)
	if !ok {
		return nil
	}
	var all []string
	for i, e := range o.r.elements(raw, o.at(key)) {
		s, ok := rawjson.String(e)
		if !ok {
			o.r.fail(o.at(key)+"["+strconv.Itoa(i)+"]", "expected a string")
		}
		all = append(all, s)
	}
	return all
}

// stringMap is the member's object, every value of which must be a string.
func (o *object) stringMap(key string) map[string]string {
	c := o.child(key)
	all := make(map[string]string, c.Len())
	for k, raw := range c.All() {
		s, ok := rawjson.String(raw)
		if !ok {
			o.r.fail(c.path, "every value must be a string")
		}
		all[k] = s
	}
	return all
}

// optStringMap is empty where the member is missing.
func (o *object) optStringMap(key string) map[string]string {
	if !o.has(key) {
		return map[string]string{}
	}
	return o.stringMap(key)
}

// optObject checks that the member is an object, if it is there.
func (o *object) optObject(key string) {
	if raw, ok := o.Get(key); ok && !rawjson.IsNull(raw) && raw[0] != '{' {
		o.r.fail(o.at(key), "expected an object")
	}
}

// dropNulls removes members that are null: Java's reader takes a null for a wrong type
// where it lets the member be absent, and could no longer read the table.
func (o *object) dropNulls(keys ...string) {
	for _, key := range keys {
		if raw, ok := o.Get(key); ok && rawjson.IsNull(raw) {
			o.Delete(key)
		}
	}
}

// unknownAction repeats no more of a word than could be one.
func unknownAction(action string) string {
	const longest = 64
	if action == "" || len(action) > longest {
		return "unknown update action"
	}
	return "unknown update action " + strconv.Quote(action)
}
