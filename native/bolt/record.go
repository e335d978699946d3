package bolt

import (
	"bytes"
	"fmt"

	"piedmont/native"
)

// versionBytes is what precedes the value of a record in the file.
const versionBytes = len(native.Version{})

// encode is a record as the file has it: its version, then its value.
func encode(c native.Change) []byte {
	b := make([]byte, 0, versionBytes+len(c.Value))
	return append(append(b, c.Version[:]...), c.Value...)
}

// decode copies a record out of the file.
func decode(key native.Key, stored []byte) (native.Record, error) {
	if err := checkRecord([]byte(key), stored); err != nil {
		return native.Record{}, err
	}
	return native.Record{
		Key:     key,
		Version: native.Version(stored[:versionBytes]),
		Value:   append(make([]byte, 0, len(stored)-versionBytes), stored[versionBytes:]...),
	}, nil
}

// checkRecord refuses what was never written, before any of it is copied: in a damaged
// file a length may say anything.
func checkRecord(key, stored []byte) error {
	if len(key) > native.MaxKeyBytes {
		return fmt.Errorf("%w: a key has %d bytes", ErrDamaged, len(key))
	}
	if len(stored) < versionBytes || len(stored) > versionBytes+native.MaxValueBytes {
		return fmt.Errorf("%w: the record %q has %d bytes", ErrDamaged, bytes.Clone(key), len(stored))
	}
	return nil
}
