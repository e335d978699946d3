package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/twmb/avro"
	"github.com/twmb/avro/ocf"
)

// listedManifest is what is read of an entry of a manifest list.
type listedManifest struct {
	Path string `avro:"manifest_path"`
}

// manifestEntry is what is read of an entry of a manifest. See "Manifests" in Iceberg's
// table spec.
type manifestEntry struct {
	Status   int `avro:"status"`
	DataFile struct {
		Path string `avro:"file_path"`
	} `avro:"data_file"`
}

// entryDeleted is the status of an entry that says that its file left the table.
const entryDeleted = 2

const (
	// maxNamesBytes bounds the names in one Avro file, which may unpack to a thousand times
	// its size; each counts for recordBytes more, also those that aren't wanted.
	maxNamesBytes = 256 << 20
	recordBytes   = 64
)

// manifestsIn reads which manifests a manifest list names.
func manifestsIn(ctx context.Context, list []byte) ([]string, error) {
	return namesIn(ctx, list, members{"manifest_path": nil}, func(m *listedManifest) (string, bool) { return m.Path, true })
}

// filesIn reads which data and delete files of a manifest are in the table.
func filesIn(ctx context.Context, manifest []byte) ([]string, error) {
	return namesIn(ctx, manifest, members{"status": nil, "data_file": {"file_path": nil}}, func(e *manifestEntry) (string, bool) {
		return e.DataFile.Path, e.Status != entryDeleted
	})
}

// namesIn reads the names that are wanted of an Avro file's records.
func namesIn[T any](ctx context.Context, file []byte, read members, name func(*T) (name string, wanted bool)) ([]string, error) {
	var names []string
	left := maxNamesBytes
	err := eachRecord(ctx, file, read, func(record *T) error {
		path, wanted := name(record)
		if left -= len(path) + recordBytes; left < 0 {
			return errors.New("more names than a purge can hold")
		}
		switch {
		case !wanted:
		case path == "":
			return errors.New("a record without a path")
		default:
			names = append(names, path)
		}
		return nil
	})
	return names, err
}

// members are the fields of a record to be read; those of a record inside it, or nil for all.
type members map[string]members

// only takes all other fields out of a schema: its reader passes over them, so that neither
// statistics of columns nor what a newer format adds is decoded. A schema that lacks one
// of the members is of something else.
func (m members) only(record *avro.SchemaNode) error {
	record.Fields = slices.DeleteFunc(record.Fields, func(f avro.SchemaField) bool {
		_, ok := m[f.Name]
		return !ok
	})
	if len(record.Fields) != len(m) {
		return errors.New("not the schema of a manifest or of a manifest list")
	}
	for i := range record.Fields {
		if inner := m[record.Fields[i].Name]; inner != nil {
			if err := inner.only(&record.Fields[i].Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachRecord decodes those members of each record of an Avro file. The context's end ends
// it: a file may unpack to what takes minutes.
func eachRecord[T any](ctx context.Context, file []byte, wanted members, each func(*T) error) (err error) {
	defer func() {
		if p := recover(); p != nil { // the file is whatever lies in storage
			err = fmt.Errorf("decode Avro: panic: %v", p)
		}
	}()
	r, err := ocf.NewReader(bytes.NewReader(file), ocf.WithReaderSchemaFunc(func(r *ocf.Reader) (*avro.Schema, error) {
		root := r.Schema().Root()
		if err := wanted.only(root); err != nil {
			return nil, err
		}
		return root.Schema()
	}))
	if err != nil {
		return fmt.Errorf("open Avro file: %w", err)
	}
	for {
		var record T
		if err := r.Decode(&record); errors.Is(err, io.EOF) {
			return r.Close()
		} else if err != nil {
			return errors.Join(fmt.Errorf("decode Avro record: %w", err), r.Close())
		}
		if err := errors.Join(ctx.Err(), each(&record)); err != nil {
			return errors.Join(err, r.Close())
		}
	}
}
