package router

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
)

const (
	// MaxBodyBytes bounds a request's body. The largest that clients send, a commit with a
	// schema of ten thousand columns, has about 2 MB.
	MaxBodyBytes = 4 << 20
	// maxBodyDepth bounds how deep JSON may nest.
	maxBodyDepth = 200
)

// body reads a request's body: one JSON object of at most MaxBodyBytes.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, &mounts.Error{Kind: mounts.BadRequest, Detail: "The request body has a Content-Encoding; send it plain"}
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, &mounts.Error{Kind: mounts.TooLarge, Detail: "The request body is larger than 4 MiB", Err: err}
		}
		return nil, &mounts.Error{Kind: mounts.BadRequest, Detail: "The request body ended early", Err: err}
	}
	if err := rawjson.CheckObject(b, maxBodyDepth); err != nil {
		return nil, &mounts.Error{Kind: mounts.BadRequest, Detail: "Malformed request body: want one JSON object: " + err.Error(), Err: err}
	}
	return b, nil
}

// decode reads the body into the wire form of a request, naming the member that is wrong.
// It returns the body too.
func decode(w http.ResponseWriter, r *http.Request, into any) ([]byte, error) {
	b, err := body(w, r)
	if err != nil {
		return nil, err
	}
	return b, unmarshal(b, into)
}

func unmarshal(b []byte, into any) error {
	err := json.Unmarshal(b, into)
	if err == nil {
		return nil
	}
	detail := "Malformed request body"
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		detail = "Malformed request body: " + wrong.Field + " can't be a JSON " + wrong.Value
	}
	return &mounts.Error{Kind: mounts.BadRequest, Detail: detail, Err: err}
}

// plain is a map that requests carry, of which every value must be a string: a null would
// else pass for an empty one.
func plain(member string, values map[string]*string) (map[string]string, error) {
	if values == nil {
		return nil, nil
	}
	m := make(map[string]string, len(values))
	for k, v := range values {
		if v == nil {
			return nil, &mounts.Error{Kind: mounts.BadRequest, Detail: "Malformed request body: " + member + "." + k + " can't be a JSON null"}
		}
		m[k] = *v
	}
	return m, nil
}

// wireIdentifier is a table identifier as requests carry it.
type wireIdentifier struct {
	Namespace []string `json:"namespace"`
	Name      string   `json:"name"`
}

// identifier checks the identifier in a member of a body.
func (i *wireIdentifier) identifier(member string) (mounts.Identifier, error) {
	if i == nil || i.Name == "" || len(i.Namespace) == 0 {
		return mounts.Identifier{}, missing(member + ": namespace and name")
	}
	id := mounts.Identifier{Namespace: i.Namespace, Name: i.Name}
	return id, id.Validate()
}

func missing(member string) error {
	return &mounts.Error{Kind: mounts.BadRequest, Detail: "Malformed request body: missing " + member}
}
