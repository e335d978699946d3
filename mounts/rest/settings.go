package rest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"piedmont/mounts"
	"piedmont/mounts/guard"
)

const (
	// settingsAge is when a configuration is asked for again: what the upstream offers may change.
	settingsAge = 5 * time.Minute
	// settingsWait bounds what that may take, since the old one serves as well.
	settingsWait = 2 * time.Second
)

// settings is the upstream's configuration, asked for where it isn't known or is old. Callers
// share a question. Where it fails the old one serves on, or the next caller asks.
func (c *Catalog) settings(ctx context.Context) (*settings, error) {
	if s := c.known.Load(); c.recent(s) {
		return s, nil
	}
	return c.asking.Do(ctx, struct{}{}, func(ctx context.Context) (*settings, error) {
		old := c.known.Load()
		if c.recent(old) {
			return old, nil
		}
		wait := c.guard.Timeout()
		if old != nil {
			wait = min(wait/4, settingsWait)
		}
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		s, err := c.fetchSettings(ctx)
		if err == nil || old == nil {
			return s, err
		}
		kept := *old
		kept.asked = c.now() // a sick upstream isn't asked by each call
		c.known.CompareAndSwap(old, &kept)
		return &kept, nil
	})
}

func (c *Catalog) recent(s *settings) bool {
	return s != nil && c.now().Sub(s.asked) < settingsAge
}

func (c *Catalog) fetchSettings(ctx context.Context) (*settings, error) {
	address := join(c.base, "/v1/config")
	if c.warehouse != "" {
		address += "?warehouse=" + escapeQuery(c.warehouse)
	}
	asked := c.now()
	got, err := c.client.ask(ctx, question{method: http.MethodGet, url: address, limit: maxSmall})
	if text := c.misconfigured(err); text != "" {
		return nil, &guard.Fault{Kind: mounts.Unavailable, Text: text, Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("get the configuration: %w", err)
	}
	s, err := parseConfig(got.body, c.base)
	if err != nil {
		return nil, guard.Broken("gave an answer that is no configuration", err)
	}
	s.asked = asked
	for _, o := range s.ignored {
		if c.warned.add(o) {
			c.log.WarnContext(ctx, "the upstream's configuration leads to another host; that is ignored", "mount", c.name, "key", o.key)
		}
	}
	if a, ok := c.client.auth.(*oauth); ok {
		a.moveTo(s.oauth)
	}
	c.known.Store(s)
	return s, nil
}

// maxWarned is how many different overrides are warned of: one that is another each time
// shall not fill the log.
const maxWarned = 16

// warned is which overrides the log has told of, by their hashes: they are as long as the
// upstream likes.
type warned struct {
	mu   sync.Mutex
	seen map[[sha256.Size]byte]bool
}

// add is true for an override that is to be told of.
func (w *warned) add(o override) bool {
	h := sha256.Sum256([]byte(o.key + "\x00" + o.value))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[h] || len(w.seen) >= maxWarned {
		return false
	}
	if w.seen == nil {
		w.seen = map[[sha256.Size]byte]bool{}
	}
	w.seen[h] = true
	return true
}

// misconfigured says what may be wrong with the mount where the upstream has no configuration for
// it; empty for any other error.
func (c *Catalog) misconfigured(err error) string {
	refused, ok := err.(*statusError) //nolint:errorlint // a wrapped one is about a token
	if !ok || refused.status != http.StatusNotFound && refused.status != http.StatusBadRequest {
		return ""
	}
	versioned := strings.HasSuffix(strings.TrimSuffix(c.base.Path, "/"), "/v1")
	route := refused.status == http.StatusNotFound && (refused.typ == "" || refused.typ == typeNoEndpoint)
	switch {
	case route && versioned:
		return "has no catalog at the mount's uri: leave out its last /v1, which is added to it"
	case refused.typ == typeNoEndpoint:
		return "has no catalog at the mount's uri"
	case refused.typ == "":
		return ""
	case c.warehouse == "":
		return "gives no configuration to a mount that names no warehouse: name the one that is meant"
	}
	// The types differ: Polaris says NotFoundException.
	return "does not know the warehouse that the mount names"
}

// typeNoEndpoint is what some say of a route that they don't have.
const typeNoEndpoint = "NoSuchEndpointException"

// needs is the settings for an operation that the upstream must offer.
func (c *Catalog) needs(ctx context.Context, endpoint string) (*settings, error) {
	s, err := c.settings(ctx)
	if err == nil && !s.offers[endpoint] {
		err = errNotOffered
	}
	return s, err
}

var errNotOffered = &guard.Fault{Ours: true, Kind: mounts.Unsupported, Text: "does not offer this operation"}
