package vend

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"piedmont/mounts"
)

// Check tries whether a profile keeps the promises of Files, with one small file of a
// random name at its prefix that it deletes again. The error says what went wrong. Above
// all it finds a storage that ignores "create only if absent", which nothing else shows:
// commits there could overwrite each other's files.
func Check(ctx context.Context, p *Profile) error {
	l, err := probe(p)
	if err != nil {
		return err
	}
	first, second := []byte("first"), []byte("second")
	if err := p.Files.Create(ctx, l, first); err != nil {
		return fmt.Errorf("create a file in storage profile %s: %w", p.Name, err)
	}
	if err := checkContent(ctx, p, l, first, second); err != nil {
		return errors.Join(err, p.Files.Delete(ctx, l))
	}
	if err := p.Files.Delete(ctx, l); err != nil {
		return fmt.Errorf("delete a file in storage profile %s: %w", p.Name, err)
	}
	if _, err := p.Files.Read(ctx, l, 100); !mounts.Is(err, mounts.NotFound) {
		return fmt.Errorf("storage profile %s: reading a deleted file should answer that it is gone, not: %w", p.Name, orNothing(err))
	}
	return nil
}

// CheckRead tries whether a profile can be read, and writes nothing: it asks for a file of a
// random name, of which the storage has to say that it is gone. One that refuses that answers
// the same of tables' files: nobody could tell those that are lost.
func CheckRead(ctx context.Context, p *Profile) error {
	l, err := probe(p)
	if err != nil {
		return err
	}
	_, err = p.Files.Read(ctx, l, 100)
	switch {
	case mounts.Is(err, mounts.NotFound):
		return nil
	case errors.Is(err, ErrRefused) && p.Prefix.Scheme() == "s3":
		return fmt.Errorf("read a file that isn't there in storage profile %s: without the right to list (s3:ListBucket) S3 doesn't tell a missing file from a forbidden one, if the credentials are right: %w", p.Name, err)
	case err != nil:
		return fmt.Errorf("read a file that isn't there in storage profile %s: %w", p.Name, err)
	}
	return fmt.Errorf("storage profile %s: reading a file that nobody wrote should answer that it is gone, not give one", p.Name)
}

// probe is the location of a file that nobody else uses.
func probe(p *Profile) (Location, error) {
	return ParseLocation(p.Prefix.String() + "/.piedmont-check-" + rand.Text())
}

func checkContent(ctx context.Context, p *Profile, l Location, first, second []byte) error {
	got, err := p.Files.Read(ctx, l, 100)
	if err != nil {
		return fmt.Errorf("read a file in storage profile %s: %w", p.Name, err)
	}
	if !bytes.Equal(got, first) {
		return fmt.Errorf("storage profile %s: a file just written reads back as something else", p.Name)
	}
	if err := p.Files.Create(ctx, l, second); !errors.Is(err, ErrExists) {
		return fmt.Errorf("storage profile %s: creating a file that exists should be refused; the storage answered: %w", p.Name, orNothing(err))
	}
	got, err = p.Files.Read(ctx, l, 100)
	if err != nil || !bytes.Equal(got, first) {
		return fmt.Errorf("storage profile %s: a refused create changed the file: %w", p.Name, orNothing(err))
	}
	return nil
}

var errNothing = errors.New("no error")

func orNothing(err error) error {
	if err == nil {
		return errNothing
	}
	return err
}
