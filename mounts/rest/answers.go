package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"piedmont/cache/rawjson"
	"piedmont/mounts"
)

// maxCommas bounds the parts of one list before it is split, since a part takes more
// memory than the two bytes it may consist of.
const maxCommas = 4 << 20

// parseList splits a page of a list into its entries. The list itself must be there, if
// null: an object without it is something else's answer, and must not read like an empty
// list. next may be empty in the answer too, and means none then.
func parseList(body []byte, key string) (elements []json.RawMessage, next string, err error) {
	if bytes.Count(body, []byte{','}) > maxCommas {
		return nil, "", errTooLarge
	}
	o, err := rawjson.ParseObject(body)
	if err != nil {
		return nil, "", err
	}
	if raw, ok := o.Get("next-page-token"); ok && !rawjson.IsNull(raw) {
		if next, ok = rawjson.String(raw); !ok {
			return nil, "", errors.New("next-page-token is no string")
		}
	}
	list, ok := o.Get(key)
	if !ok {
		return nil, "", errors.New("there are no " + key)
	}
	if rawjson.IsNull(list) {
		return nil, next, nil
	}
	if elements, err = rawjson.Elements(list); err != nil {
		return nil, "", fmt.Errorf("%s: %w", key, err)
	}
	return elements, next, nil
}

// parseIdentifier reads a TableIdentifier. Its names may break our rules.
func parseIdentifier(raw []byte) (id mounts.Identifier, err error) {
	o, err := rawjson.ParseObject(raw)
	if err != nil {
		return id, fmt.Errorf("an identifier: %w", err)
	}
	levels, _ := o.Get("namespace")
	if id.Namespace, err = parseLevels(levels); err != nil {
		return id, err
	}
	name, _ := o.Get("name")
	var ok bool
	if id.Name, ok = rawjson.String(name); !ok {
		return id, errors.New("a table's name is no string")
	}
	return id, nil
}

// parseLevels reads a namespace. Its names may break our rules.
func parseLevels(raw []byte) (mounts.Namespace, error) {
	elements, err := rawjson.Elements(raw)
	if err != nil {
		return nil, fmt.Errorf("a namespace: %w", err)
	}
	n := make(mounts.Namespace, len(elements))
	for i, e := range elements {
		var ok bool
		if n[i], ok = rawjson.String(e); !ok {
			return nil, errors.New("a level of a namespace is no string")
		}
	}
	return n, nil
}

// parseNamespace reads a GetNamespaceResponse. The properties are never nil.
func parseNamespace(body []byte) (n mounts.Namespace, properties map[string]string, err error) {
	o, err := rawjson.ParseObject(body)
	if err != nil {
		return nil, nil, err
	}
	levels, _ := o.Get("namespace")
	if n, err = parseLevels(levels); err != nil {
		return nil, nil, err
	}
	properties = map[string]string{}
	raw, _ := o.Get("properties")
	if rawjson.IsNull(raw) {
		return n, properties, nil
	}
	members, err := rawjson.ParseObject(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("properties: %w", err)
	}
	for key, value := range members.All() {
		s, ok := rawjson.String(value)
		if !ok {
			return nil, nil, errors.New("a property is no string")
		}
		properties[key] = s
	}
	return n, properties, nil
}

// parseLoad cuts a LoadTableResult. The metadata is exactly one JSON object and a part of
// the body's memory. What else the upstream says, its config and credentials, is not read.
func parseLoad(body []byte) (location string, metadata []byte, err error) {
	o, err := rawjson.ParseObject(body)
	if err != nil {
		return "", nil, err
	}
	metadata, _ = o.Get("metadata")
	if len(metadata) == 0 || metadata[0] != '{' {
		return "", nil, errors.New("metadata is no object")
	}
	if raw, ok := o.Get("metadata-location"); ok && !rawjson.IsNull(raw) {
		if location, ok = rawjson.String(raw); !ok {
			return "", nil, errors.New("metadata-location is no string")
		}
	}
	return location, metadata, nil
}
