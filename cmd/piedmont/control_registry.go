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

	"piedmont/configs"
	"piedmont/native"
)

const (
	recordPath  = "/registry/record"
	recordsPath = "/registry/records"
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
	if err != nil || !ok {
		return err
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

func writeRecords(w io.Writer, list ...native.Record) error {
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

// errNoControl: who holds the registry can't be asked at all.
var errNoControl = errors.New("a server has the registry, or had it until it was stopped")

func openServersRegistry(c configs.Config) *serversRegistry {
	return &serversRegistry{askServer(c.Data, errNoControl)}
}

// Get implements native.Registry.
func (s *serversRegistry) Get(ctx context.Context, key native.Key) (r native.Record, ok bool, err error) {
	list, err := s.ask(ctx, recordPath, url.Values{"key": {string(key)}})
	if err != nil || len(list) == 0 {
		return r, false, err
	}
	return list[0], true, nil
}

// Scan implements native.Registry.
func (s *serversRegistry) Scan(ctx context.Context, prefix, after native.Key, limit int) ([]native.Record, error) {
	return s.ask(ctx, recordsPath, url.Values{"prefix": {string(prefix)}, "after": {string(after)}, "limit": {strconv.Itoa(limit)}})
}

// ask reads an answer to its end: one that breaks off is an error, never a shorter list.
func (s *serversRegistry) ask(ctx context.Context, path string, what url.Values) (list []native.Record, err error) {
	answer, err := s.client.do(ctx, http.MethodGet, path+"?"+what.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	for lines := json.NewDecoder(answer.Body); ; {
		var l recordLine
		err := lines.Decode(&l)
		if errors.Is(err, io.EOF) {
			return list, failure(answer)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read the registry of the running server: %w", err), failure(answer))
		}
		list = append(list, native.Record{Key: native.Key(l.Key), Value: l.Value, Version: l.Version})
	}
}

// Commit refuses: what is only looked at isn't changed.
func (s *serversRegistry) Commit(context.Context, []native.Condition, []native.Change) error {
	return fmt.Errorf("%w: the registry of a running server is only read", native.ErrNotApplied)
}

// Close implements native.Registry.
func (s *serversRegistry) Close() error { return s.client.close() }
