package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"piedmont/configs"
	"piedmont/native"
	"piedmont/native/bolt"
)

const (
	recordPath  = "/registry/record"
	recordsPath = "/registry/records"
	// formatHeader says which format the records of an answer have: bolt's FormatVersion.
	formatHeader = "Piedmont-Registry-Format"
)

// recordLine is a record as the control writes it.
type recordLine struct {
	Key     []byte         `json:"key"`
	Value   []byte         `json:"value"`
	Version native.Version `json:"version"`
}

// readRecord answers with one record, or with nothing where there is none. Who asks could
// as well read the file, so no record is kept from them.
func (c *control) readRecord(w http.ResponseWriter, r *http.Request) error {
	record, ok, err := c.registry.Get(r.Context(), native.Key(r.FormValue("key")))
	switch {
	case err != nil:
		return err
	case !ok:
		return writeRecords(w)
	}
	return writeRecords(w, record)
}

// readRecords answers with records in the order of their keys, as Scan does.
func (c *control) readRecords(w http.ResponseWriter, r *http.Request) error {
	limit, err := strconv.Atoi(r.FormValue("limit"))
	if err != nil {
		return fmt.Errorf("the limit: %w", err)
	}
	list, err := c.registry.Scan(r.Context(), native.Key(r.FormValue("prefix")), native.Key(r.FormValue("after")), limit)
	if err != nil {
		return err
	}
	return writeRecords(w, list...)
}

func writeRecords(w http.ResponseWriter, list ...native.Record) error {
	w.Header().Set(formatHeader, strconv.Itoa(bolt.FormatVersion))
	lines := json.NewEncoder(w)
	for _, r := range list {
		if err := lines.Encode(recordLine{[]byte(r.Key), r.Value, r.Version}); err != nil {
			return err
		}
	}
	return nil
}

// serversRegistry is the registry of the server that runs on a data directory, to be read. Each
// question is a connection of its own, so one server may take the place of another meanwhile.
type serversRegistry struct{ client *controlClient }

var (
	// errNoControl: who holds the registry can't be asked at all.
	errNoControl = errors.New("a server has the registry, or had it until it was stopped")
	// errOtherFormat: its records would be misread.
	errOtherFormat = errors.New("the running server keeps its registry in another format: it is of another release")
	// errNotAsked: nothing in the answer can be believed.
	errNotAsked = errors.New("the running server answered with records that weren't asked for")
)

func openServersRegistry(c configs.Config) *serversRegistry {
	return &serversRegistry{askServer(c.Data, errNoControl)}
}

// Get implements native.Registry.
func (s *serversRegistry) Get(ctx context.Context, key native.Key) (r native.Record, ok bool, err error) {
	list, err := s.ask(ctx, recordPath, url.Values{"key": {string(key)}}, 1, func(k, _ native.Key) bool { return k == key })
	if err != nil || len(list) == 0 {
		return r, false, err
	}
	return list[0], true, nil
}

// Scan implements native.Registry.
func (s *serversRegistry) Scan(ctx context.Context, prefix, after native.Key, limit int) ([]native.Record, error) {
	most := limit
	if limit < 1 || limit > native.MaxScan {
		most = native.MaxScan
	}
	return s.ask(ctx, recordsPath, url.Values{"prefix": {string(prefix)}, "after": {string(after)}, "limit": {strconv.Itoa(limit)}}, most,
		func(k, last native.Key) bool {
			return strings.HasPrefix(string(k), string(prefix)) && k > max(after, last)
		})
}

// ask reads an answer to its end: one that breaks off is an error, never a shorter list. So is one
// with more records than most, or with a record that isn't wanted behind the one with the key last.
func (s *serversRegistry) ask(ctx context.Context, path string, what url.Values, most int, wanted func(k, last native.Key) bool) (list []native.Record, err error) {
	answer, err := s.client.do(ctx, http.MethodGet, path+"?"+what.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	if answer.Header.Get(formatHeader) != strconv.Itoa(bolt.FormatVersion) {
		return nil, errOtherFormat
	}
	last := native.Key("")
	for lines := json.NewDecoder(answer.Body); ; {
		var l recordLine
		err := lines.Decode(&l)
		if errors.Is(err, io.EOF) {
			return list, failure(answer)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read the registry of the running server: %w", err), failure(answer))
		}
		key := native.Key(l.Key)
		if len(list) == most || !wanted(key, last) || l.Version == (native.Version{}) {
			return nil, errNotAsked
		}
		last = key
		list = append(list, native.Record{Key: key, Value: l.Value, Version: l.Version})
	}
}

// Commit refuses: what is only looked at isn't changed.
func (s *serversRegistry) Commit(context.Context, []native.Condition, []native.Change) error {
	return fmt.Errorf("%w: the registry of a running server is only read", native.ErrNotApplied)
}

// Close implements native.Registry.
func (s *serversRegistry) Close() error { return s.client.close() }
