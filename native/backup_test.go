package native_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"piedmont/native"
	"piedmont/native/bolt"
)

var backupHeader = native.BackupHeader{MadeAt: time.Unix(1_900_000_000, 0), MadeBy: "1.2.3-test"}

func openBolt(t *testing.T) *bolt.Registry {
	t.Helper()
	r, err := bolt.Open(filepath.Join(t.TempDir(), "registry.db"), bolt.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// everything is all that a registry holds.
func everything(t *testing.T, r native.Snapshotter) (recs []native.Record) {
	t.Helper()
	require.NoError(t, r.Snapshot(t.Context(), func(rec native.Record) error {
		recs = append(recs, rec)
		return nil
	}))
	return recs
}

func record(key native.Key, value string) native.Record {
	return native.Record{Key: key, Value: []byte(value), Version: native.NewVersion()}
}

// fill writes records at their versions.
func fill(t *testing.T, r native.Registry, recs []native.Record) {
	t.Helper()
	for len(recs) > 0 {
		n := min(len(recs), 1_000)
		var changes []native.Change
		for _, rec := range recs[:n] {
			changes = append(changes, native.Change{Key: rec.Key, Value: rec.Value, Version: rec.Version})
		}
		require.NoError(t, r.Commit(t.Context(), nil, changes))
		recs = recs[n:]
	}
}

// recordsOf are n records as a catalog has them, in the order of their keys.
func recordsOf(n int) []native.Record {
	recs := make([]native.Record, n)
	for i := range recs {
		recs[i] = record(native.Key(fmt.Sprintf("omain\x00db\x00t%07d", i)), strings.Repeat("v", i%300))
	}
	return recs
}

// largeRecords are so large that a restore commits 15 at a time.
func largeRecords(n int) []native.Record {
	recs := recordsOf(n)
	for i := range recs {
		recs[i].Value = bytes.Repeat([]byte{byte(i)}, 512<<10)
	}
	return recs
}

// backup is the file of a backup.
func backup(t *testing.T, r native.Snapshotter) []byte {
	t.Helper()
	var file bytes.Buffer
	_, err := native.WriteBackup(t.Context(), &file, r, backupHeader)
	require.NoError(t, err)
	return file.Bytes()
}

// backupOf is the file of a backup of these records.
func backupOf(t *testing.T, recs []native.Record) []byte {
	t.Helper()
	return backup(t, listed(recs))
}

// listed are records that are there without a registry.
type listed []native.Record

func (l listed) Snapshot(_ context.Context, each func(native.Record) error) error {
	for _, r := range l {
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads a backup to its end.
func readAll(file []byte) (recs []native.Record, h native.BackupHeader, err error) {
	b, err := native.NewBackupReader(bytes.NewReader(file))
	if err != nil {
		return nil, h, err
	}
	for {
		r, err := b.Next()
		if errors.Is(err, io.EOF) {
			return recs, b.Header(), nil
		}
		if err != nil {
			_, again := b.Next()
			if again == nil || errors.Is(again, io.EOF) {
				return recs, b.Header(), fmt.Errorf("an error of reading doesn't last: %w, then %w", err, again)
			}
			return recs, b.Header(), err
		}
		recs = append(recs, r)
	}
}

func restore(t *testing.T, r native.Registry, file []byte) error {
	t.Helper()
	b, err := native.NewBackupReader(bytes.NewReader(file))
	require.NoError(t, err)
	return native.Restore(t.Context(), r, b, time.Now(), func(uint64) {})
}

// TestBackupRoundTrip: what is restored is what was backed up, versions too, but for the
// keys that tokens are signed with.
func TestBackupRoundTrip(t *testing.T) {
	from := openBolt(t)
	want := recordsOf(12_345)
	want = append(want, record("rme\x00key", "receipt"), record("x\x00\x00\x00\x01rme", ""), record("\xff future", "of a kind nobody knows"))
	for i := range 20 {
		want = append(want, record(native.Key(fmt.Sprintf("~%02d", i)), strings.Repeat("large", native.MaxValueBytes/5)))
	}
	want = append(want, record(native.Key(strings.Repeat("~", native.MaxKeyBytes)), ""))
	fill(t, from, want)
	require.NoError(t, native.SigningKeys{Registry: from}.AddSigningKey(t.Context(), "key", []byte("a secret")))

	file := backup(t, from)
	got, h, err := readAll(file)
	require.NoError(t, err)
	assert.Equal(t, backupHeader, h)
	assert.Len(t, got, len(want))
	unpacked, err := gzip.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	text, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "a secret")

	to := openBolt(t)
	b, err := native.NewBackupReader(bytes.NewReader(file))
	require.NoError(t, err)
	var steps []uint64
	require.NoError(t, native.Restore(t.Context(), to, b, time.Now(), func(n uint64) { steps = append(steps, n) }))
	require.NoError(t, native.CheckRestored(t.Context(), to))
	assert.Equal(t, uint64(len(want)), b.Records())
	assert.Equal(t, uint64(len(want)), steps[len(steps)-1])
	assert.Greater(t, len(steps), 4, "it went on in steps")
	all := everything(t, from)
	sameState(t, without(all, "k"), everything(t, to))

	// An empty registry can be backed up too.
	empty := openBolt(t)
	got, _, err = readAll(backup(t, empty))
	require.NoError(t, err)
	assert.Empty(t, got)
	require.NoError(t, restore(t, empty, backup(t, empty)))
	assert.Empty(t, everything(t, empty))
}

// sameState tells where two lists of records begin to differ: all of the difference would fill
// books.
func sameState(t *testing.T, want, got []native.Record) {
	t.Helper()
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i].Key != got[i].Key || want[i].Version != got[i].Version || !bytes.Equal(want[i].Value, got[i].Value) {
			t.Fatalf("record %d of %d isn't that of the %d wanted", i, len(got), len(want))
		}
	}
}

// without are the records that aren't of a kind.
func without(recs []native.Record, kind string) (rest []native.Record) {
	for _, r := range recs {
		if !strings.HasPrefix(string(r.Key), kind) {
			rest = append(rest, r)
		}
	}
	return rest
}

func TestBackupTruncatedAnywhere(t *testing.T) {
	file := backupOf(t, recordsOf(60))
	for n := range file {
		_, _, err := readAll(file[:n])
		require.ErrorIs(t, err, native.ErrBackupTruncated, "%d of %d bytes", n, len(file))
	}
}

// TestBackupDamagedAnywhere changes each byte. Where a reader takes the file, nothing of it
// that matters was changed: gzip's header has a time and a system that mean nothing here.
func TestBackupDamagedAnywhere(t *testing.T) {
	want := recordsOf(30)
	file := backupOf(t, want)
	refused := 0
	for i := range file {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			damaged := bytes.Clone(file)
			damaged[i] ^= flip
			got, _, err := readAll(damaged)
			if err == nil {
				sameState(t, want, got)
				continue
			}
			refused++
			known := errors.Is(err, native.ErrBackupDamaged) || errors.Is(err, native.ErrBackupTruncated) || errors.Is(err, native.ErrNoBackup)
			require.True(t, known, "byte %d: %v", i, err)
		}
	}
	assert.GreaterOrEqual(t, refused, 3*(len(file)-10), "only gzip's header has bits without a meaning, and its padding")
}

// inside makes a file of what is inside a backup, with the sum that belongs to it.
func inside(parts ...string) []byte {
	content := strings.Join(parts, "")
	sum := sha256.Sum256([]byte(content))
	return packed(content + string(sum[:]))
}

func packed(content string) []byte {
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	_, _ = io.WriteString(w, content)
	_ = w.Close()
	return file.Bytes()
}

func number(bits int, n uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, n)[8-bits/8:])
}

func TestBackupRefused(t *testing.T) {
	const magic = "piedmont backup\n"
	head := magic + number(16, 1) + number(64, 0) + "\x03rel"
	entry := func(key, value string) string {
		return "r" + number(16, uint64(len(key))) + key + strings.Repeat("v", 16) + number(32, uint64(len(value))) + value
	}
	end := func(n uint64) string { return "e" + number(64, n) }
	whole := inside(head, entry("a", "1"), entry("b", ""), end(2))
	recs, h, err := readAll(whole)
	require.NoError(t, err)
	require.Equal(t, "rel", h.MadeBy)
	require.Len(t, recs, 2)
	short := strings.TrimSuffix(entry("a", ""), number(32, 0))
	for _, c := range []struct {
		name string
		file []byte
		want error
	}{
		{"nothing", nil, native.ErrBackupTruncated},
		{"a text", []byte("registry: {bolt: {}}"), native.ErrNoBackup},
		{"one byte", []byte("x"), native.ErrBackupTruncated},
		{"another archive", inside("ustar and so on, longer than the magic"), native.ErrNoBackup},
		{"a newer format", inside(magic, number(16, 2), "whatever it says"), native.ErrBackupNewer},
		{"format 0", inside(magic, number(16, 0)), native.ErrBackupDamaged},
		{"an unknown part", inside(head, "s", end(0)), native.ErrBackupDamaged},
		{"an empty key", inside(head, entry("", ""), end(1)), native.ErrBackupDamaged},
		{"a key too long", inside(head, entry(strings.Repeat("k", native.MaxKeyBytes+1), ""), end(1)), native.ErrBackupDamaged},
		{"a value too long", inside(head, short, number(32, native.MaxValueBytes+1)), native.ErrBackupDamaged},
		{"a value of 4 GiB", inside(head, short, number(32, 1<<32-1)), native.ErrBackupDamaged},
		{"a key twice", inside(head, entry("a", ""), entry("a", ""), end(2)), native.ErrBackupDamaged},
		{"keys out of order", inside(head, entry("b", ""), entry("a", ""), end(2)), native.ErrBackupDamaged},
		{"a record too few", inside(head, entry("a", ""), end(2)), native.ErrBackupDamaged},
		{"a record too many", inside(head, entry("a", ""), end(0)), native.ErrBackupDamaged},
		{"another's sum", packed(head + entry("a", "") + end(1) + strings.Repeat("s", 32)), native.ErrBackupDamaged},
		{"bytes behind it", append(bytes.Clone(whole), 0), native.ErrBackupDamaged},
		{"a second one behind it", append(bytes.Clone(whole), whole...), native.ErrBackupDamaged},
		{"bytes behind its end", inside(head, end(0), strings.Repeat("x", 40)), native.ErrBackupDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := readAll(c.file)
			require.ErrorIs(t, err, c.want)
		})
	}
	cause := errors.New("the disk is gone")
	_, err = native.NewBackupReader(io.MultiReader(bytes.NewReader(whole[:20]), failingStream{cause}))
	require.ErrorIs(t, err, cause)
}

// failingStream is a reader and writer that has failed.
type failingStream struct{ err error }

func (f failingStream) Read([]byte) (int, error)  { return 0, f.err }
func (f failingStream) Write([]byte) (int, error) { return 0, f.err }

func TestWriteBackupFails(t *testing.T) {
	full := errors.New("no space left")
	_, err := native.WriteBackup(t.Context(), failingStream{full}, listed(recordsOf(10)), backupHeader)
	require.ErrorIs(t, err, full)
	for _, r := range []native.Record{
		record("", "no key"), record(native.Key(strings.Repeat("o", native.MaxKeyBytes+1)), ""),
		record("k2", strings.Repeat("v", native.MaxValueBytes+1)), record("a", strings.Repeat("v", native.MaxValueBytes+1)),
	} {
		var file bytes.Buffer
		_, err := native.WriteBackup(t.Context(), &file, listed{r}, backupHeader)
		if strings.HasPrefix(string(r.Key), "k2") {
			require.NoError(t, err, "what stays out doesn't matter")
			continue
		}
		require.Error(t, err)
		_, _, err = readAll(file.Bytes())
		require.Error(t, err, "what was written isn't whole")
	}
}

func TestRestoreNeedsAnEmptyRegistry(t *testing.T) {
	file := backupOf(t, recordsOf(10))
	for _, r := range []native.Record{record("nmain\x00\x00ns", "{}"), record("k\x00", "id"), record("\xff", "")} {
		to := openBolt(t)
		fill(t, to, []native.Record{r})
		require.ErrorIs(t, restore(t, to, file), native.ErrNotEmpty)
		sameState(t, []native.Record{r}, everything(t, to))
	}
	to := openBolt(t)
	require.NoError(t, restore(t, to, file))
	require.ErrorIs(t, restore(t, to, file), native.ErrNotEmpty, "what was restored")
}

// TestRestoreInterrupted stops a restore at each of its commits, before and after it is
// applied. What is left is refused, and the next restore makes good.
func TestRestoreInterrupted(t *testing.T) {
	want := largeRecords(35)
	file := backupOf(t, want)
	for stop := 1; stop <= 4; stop++ { // the mark, two full commits, the end
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("commit %d, applied %v", stop, applied), func(t *testing.T) {
				bare := openBolt(t)
				to := &faultyRegistry{Registry: bare}
				commits := 0
				count := func(failure error) error {
					if commits++; commits == stop {
						return failure
					}
					return nil
				}
				if applied {
					to.set(nil, func() error { return count(native.ErrUnknown) }, nil)
				} else {
					to.set(func(context.Context) error { return count(native.ErrNotApplied) }, nil, nil)
				}
				err := restore(t, to, file)
				if stop == 4 && applied {
					require.NoError(t, err, "it is found out that it had ended")
				} else {
					require.Error(t, err)
				}
				to.set(nil, nil, nil)
				left := everything(t, bare)
				switch {
				case stop == 1 && !applied:
					assert.Empty(t, left)
				case stop == 4 && applied:
					require.NoError(t, native.CheckRestored(t.Context(), to))
					sameState(t, want, left)
					return
				default:
					require.ErrorIs(t, native.CheckRestored(t.Context(), to), native.ErrRestoring)
					_, err := native.WriteBackup(t.Context(), io.Discard, bare, backupHeader)
					require.ErrorIs(t, err, native.ErrRestoring)
				}
				smaller := want[rand.IntN(30):]
				require.NoError(t, restore(t, to, backupOf(t, smaller)), "another backup will do too")
				sameState(t, smaller, everything(t, bare))
			})
		}
	}
}

// TestRestoreOfADamagedBackup: what it has brought stays refused.
func TestRestoreOfADamagedBackup(t *testing.T) {
	file := backupOf(t, largeRecords(20))
	to := openBolt(t)
	require.ErrorIs(t, restore(t, to, file[:len(file)-1]), native.ErrBackupTruncated)
	require.ErrorIs(t, native.CheckRestored(t.Context(), to), native.ErrRestoring)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b, err := native.NewBackupReader(bytes.NewReader(file))
	require.NoError(t, err)
	require.ErrorIs(t, native.Restore(ctx, to, b, time.Now(), func(uint64) {}), context.Canceled)
	require.NoError(t, restore(t, to, file))
	require.NoError(t, native.CheckRestored(t.Context(), to))
}

// TestRestoreOfACraftedBackup: nobody brings in keys to sign tokens with.
func TestRestoreOfACraftedBackup(t *testing.T) {
	for _, key := range []string{"k\x00", "kid", "b"} {
		file := inside("piedmont backup\n", number(16, 1), number(64, 0), "\x00",
			"r", number(16, uint64(len(key))), key, strings.Repeat("v", 16), number(32, 3), "own", "e", number(64, 1))
		to := openBolt(t)
		require.ErrorIs(t, restore(t, to, file), native.ErrBackupDamaged)
		for _, r := range everything(t, to) {
			assert.NotEqual(t, "own", string(r.Value))
		}
		require.ErrorIs(t, native.CheckRestored(t.Context(), to), native.ErrRestoring)
	}
}

// TestRestoreDisturbed: of two restores the later one wins, and the earlier changes nothing
// more; and a server that starts meanwhile is noticed.
func TestRestoreDisturbed(t *testing.T) {
	want := largeRecords(35)
	other := []native.Record{record("nmain\x00\x00other", "{}")}
	for name, disturb := range map[string]func(t *testing.T, r native.Registry){
		"by another restore": func(t *testing.T, r native.Registry) { require.NoError(t, restore(t, r, backupOf(t, other))) },
		"by one that began": func(t *testing.T, r native.Registry) {
			require.Error(t, restore(t, r, inside("piedmont backup\n", number(16, 1), number(64, 0), "\x00", "s")))
		},
		"by a server": func(t *testing.T, r native.Registry) {
			require.NoError(t, native.SigningKeys{Registry: r}.AddSigningKey(t.Context(), "key", []byte("secret")))
		},
	} {
		for _, at := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s behind commit %d", name, at+1), func(t *testing.T) {
				bare := openBolt(t)
				to := &faultyRegistry{Registry: bare}
				commits, during := 0, []native.Record(nil)
				to.set(nil, func() error {
					if commits++; commits == at+1 {
						disturb(t, bare)
						during = everything(t, bare)
					}
					return nil
				}, nil)
				require.ErrorIs(t, restore(t, to, backupOf(t, want)), native.ErrDisturbed)
				sameState(t, during, everything(t, bare))
				to.set(nil, nil, nil)
				if native.CheckRestored(t.Context(), bare) != nil {
					require.NoError(t, restore(t, bare, backupOf(t, want)))
					sameState(t, want, everything(t, bare))
				}
			})
		}
	}
}

// TestRestoreReads: an error of reading is no empty registry.
func TestRestoreReads(t *testing.T) {
	bare := openBolt(t)
	to := &faultyRegistry{Registry: bare}
	to.set(nil, nil, errors.New("gone"))
	require.ErrorContains(t, restore(t, to, backupOf(t, recordsOf(1))), "gone")
	require.ErrorContains(t, native.CheckRestored(t.Context(), to), "gone")
	assert.Empty(t, everything(t, bare))
}
