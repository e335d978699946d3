package native

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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

// manifestsIn reads which manifests a manifest list names.
func manifestsIn(list []byte) ([]string, error) {
	var paths []string
	err := eachRecord(list, func(m *listedManifest) error {
		if m.Path == "" {
			return errors.New("a manifest without a path")
		}
		paths = append(paths, m.Path)
		return nil
	})
	return paths, err
}

// filesIn reads which data and delete files of a manifest are in the table.
func filesIn(manifest []byte) ([]string, error) {
	var paths []string
	err := eachRecord(manifest, func(e *manifestEntry) error {
		switch {
		case e.Status == entryDeleted:
		case e.DataFile.Path == "":
			return errors.New("an entry without a file")
		default:
			paths = append(paths, e.DataFile.Path)
		}
		return nil
	})
	return paths, err
}

// eachRecord decodes the records of an Avro file. Fields that T doesn't have are passed
// over, so a newer format's are no obstacle.
func eachRecord[T any](file []byte, each func(*T) error) (err error) {
	defer func() {
		if p := recover(); p != nil { // the file is whatever lies in storage
			err = fmt.Errorf("decode Avro: panic: %v", p)
		}
	}()
	r, err := ocf.NewReader(bytes.NewReader(file))
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
		if err := each(&record); err != nil {
			return errors.Join(err, r.Close())
		}
	}
}
