package survey

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"time"
)

// maxLine bounds a line of a journal: a table with a hundred writers has some tens of kilobytes.
const maxLine = 4 << 20

// syncEvery is how much of a survey a crash of the machine may cost.
const syncEvery = 5 * time.Second

// Journal is the file that a survey writes its findings to as it goes, one line each, and by which
// it goes on. A finding that stands there is safe from a kill of the process. It is only ever
// appended to: what was Unknown may stand there again, and the last time counts.
type Journal struct {
	path   string
	file   *os.File
	size   int64 // of the whole lines
	synced time.Time
}

// OpenJournal opens a journal, or makes one. It fails where another process has it.
func OpenJournal(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("another process writes it")
		}
		return nil, errors.Join(fmt.Errorf("open the journal %s: %w", path, err), f.Close())
	}
	return &Journal{path: path, file: f}, nil
}

// read calls line with each whole line. A last line without its end was being written when the
// process died: it is cut off.
func (j *Journal) read(line func(Line) error) error {
	r := bufio.NewReaderSize(j.file, 64<<10)
	for number := 1; ; number++ {
		text, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return j.cut()
		}
		if err != nil {
			return fmt.Errorf("read line %d of the journal %s: %w", number, j.path, err)
		}
		var l Line
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("line %d of %s is none of a journal's: %w", number, j.path, err)
		}
		if (number == 1) != (l.Survey != nil) {
			return fmt.Errorf("line %d of %s is none of a journal's", number, j.path)
		}
		if err := line(l); err != nil {
			return err
		}
		j.size += int64(len(text))
	}
}

// readLine is a line with its end, io.EOF where the end is missing.
func readLine(r *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if err == nil && long == nil {
			return part, nil
		}
		if long = append(long, part...); len(long) > maxLine {
			return nil, errors.New("it is too long")
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return long, err
		}
	}
}

func (j *Journal) cut() error {
	err := j.file.Truncate(j.size)
	if err == nil {
		_, err = j.file.Seek(j.size, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("cut off the last line of the journal %s: %w", j.path, err)
	}
	return nil
}

// write appends a line.
func (j *Journal) write(l Line, now time.Time) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	n, err := j.file.Write(append(text, '\n'))
	j.size += int64(n)
	if err == nil && now.Sub(j.synced) >= syncEvery {
		j.synced = now
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// Close makes sure that the journal is on the disk, and lets others have it.
func (j *Journal) Close() error {
	if err := errors.Join(j.file.Sync(), j.file.Close()); err != nil {
		return fmt.Errorf("close the journal: %w", err)
	}
	return nil
}

// match refuses the journal of another survey.
func (j *Journal) match(had, want Header) error {
	switch {
	case had.Version != Version:
		return fmt.Errorf("the journal %s is of another release of this command: name another file", j.path)
	case !slices.Equal(had.Mounts, want.Mounts):
		return fmt.Errorf("the journal %s is of a survey of %s, and this one is of %s: name another file", j.path, describe(had.Mounts), describe(want.Mounts))
	}
	return nil
}

// describe names mounts, by their identities where nothing else tells.
func describe(mounts []Source) string {
	var b bytes.Buffer
	for i, m := range mounts {
		if i > 0 {
			b.WriteString(", ")
		}
		name := m.Mount
		if name == "" {
			name = "(root)"
		}
		fmt.Fprintf(&b, "%s (%s %s)", name, m.Kind, m.Identity)
	}
	return b.String()
}
