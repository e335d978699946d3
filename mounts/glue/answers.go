package glue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"piedmont/mounts/guard"
)

// reduce reads a page of tables and leaves of each what a list needs; most of it is columns, of
// which the SDK would make nine times their bytes. No more of the page is in memory at once
// than one member of one table. The answer must be one JSON object that holds a list
// of tables, and no member twice.
func reduce(r io.Reader) ([]byte, error) {
	source := &remembering{r: r}
	d := json.NewDecoder(source)
	var page reduced
	err := members(d, func(key string) error {
		switch key {
		case "TableList":
			page.TableList = []reducedTable{}
			return array(d, func() error {
				t, err := reduceTable(d)
				page.TableList = append(page.TableList, t)
				return err
			})
		case "NextToken":
			return d.Decode(&page.NextToken)
		}
		return skip(d)
	})
	if err == nil {
		err = ended(d)
	}
	if err == nil && page.TableList == nil {
		err = errNoResult
	}
	switch {
	case source.err != nil: // the connection is to blame, not the answer
		return nil, source.err
	case err != nil:
		return nil, guard.Broken(notGlue, err)
	}
	return json.Marshal(page)
}

// remembering keeps the error that reading ended with, if it wasn't the end.
type remembering struct {
	r   io.Reader
	err error
}

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

type reduced struct {
	TableList []reducedTable
	NextToken *string `json:",omitempty"`
}

type reducedTable struct {
	Name               string
	TableType          string             `json:",omitempty"`
	IsMultiDialectView bool               `json:",omitempty"`
	TargetTable        *struct{}          `json:",omitempty"`
	StorageDescriptor  *reducedDescriptor `json:",omitempty"`
	Parameters         map[string]string  `json:",omitempty"`
}

type reducedDescriptor struct{ InputFormat string }

// keptParameters tell what a table is. No value that does is longer than maxKept bytes.
var keptParameters = []string{paramTableType, paramProvider, paramTrinoView, paramComment}

const maxKept = 256

func reduceTable(d *json.Decoder) (reducedTable, error) {
	var t reducedTable
	err := members(d, func(key string) error {
		switch key {
		case "Name":
			return d.Decode(&t.Name)
		case "TableType":
			return d.Decode(&t.TableType)
		case "IsMultiDialectView":
			return d.Decode(&t.IsMultiDialectView)
		case "TargetTable":
			return d.Decode(&t.TargetTable)
		case "StorageDescriptor":
			return d.Decode(&t.StorageDescriptor)
		case "Parameters":
			var all map[string]string
			err := d.Decode(&all)
			t.Parameters = keep(all)
			return err
		}
		return skip(d)
	})
	if err == nil && t.Name == "" {
		err = errors.New("a table without a name")
	}
	return t, err
}

// keep is what a list needs of a table's parameters, nil for none.
func keep(all map[string]string) map[string]string {
	var kept map[string]string
	for _, key := range keptParameters {
		if value, ok := all[key]; ok && len(value) <= maxKept {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

// members walks over the members of an object. member reads the value.
func members(d *json.Decoder, member func(key string) error) error {
	if err := delimiter(d, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string) // nothing else is there in an object
		if seen[key] {
			return errors.New("a member stands twice")
		}
		seen[key] = true
		if err := member(key); err != nil {
			return err
		}
	}
	return delimiter(d, '}')
}

// array walks over the elements of an array.
func array(d *json.Decoder, element func() error) error {
	if err := delimiter(d, '['); err != nil {
		return err
	}
	for d.More() {
		if err := element(); err != nil {
			return err
		}
	}
	return delimiter(d, ']')
}

func delimiter(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("want %s at %d", want, d.InputOffset())
	}
	return nil
}

// skip reads one value and forgets it.
func skip(d *json.Decoder) error {
	var value json.RawMessage
	return d.Decode(&value)
}

// ended makes sure that nothing follows.
func ended(d *json.Decoder) error {
	_, err := d.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("something follows the answer")
	}
	return err
}
