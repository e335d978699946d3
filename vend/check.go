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
	l, err := ParseLocation(p.Prefix.String() + "/.piedmont-check-" + rand.Text())
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
