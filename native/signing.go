package native

import (
	"context"
	"errors"
)

// SigningKeys keeps the keys that tokens are signed with in a registry, so that replicas
// share them. It is what authz asks of a store.
type SigningKeys struct{ Registry Registry }

const currentSigningKey = Key(kindSigningKey + nul)

func signingKey(id string) Key { return Key(kindSigningKey + id) }

// SigningKey reads the key of that id.
func (s SigningKeys) SigningKey(ctx context.Context, id string) ([]byte, bool, error) {
	r, ok, err := s.Registry.Get(ctx, signingKey(id))
	return r.Value, ok, err
}

// CurrentSigningKey reads which key signs.
func (s SigningKeys) CurrentSigningKey(ctx context.Context) (string, bool, error) {
	r, ok, err := s.Registry.Get(ctx, currentSigningKey)
	return string(r.Value), ok, err
}

// AddSigningKey stores a key as the current one, unless there is one already.
func (s SigningKeys) AddSigningKey(ctx context.Context, id string, secret []byte) error {
	err := s.Registry.Commit(ctx,
		[]Condition{{Kind: Absent, Key: currentSigningKey}},
		[]Change{put(signingKey(id), secret), put(currentSigningKey, []byte(id))})
	if errors.Is(err, ErrConflict) {
		return nil // another process was faster: its key is the current one
	}
	return err
}
