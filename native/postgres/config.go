package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pingAfter is how long a connection lies unused until it is tried before it is used.
// One that broke meanwhile costs a commit more than a round trip: it must be found out
// whether the commit was applied.
const pingAfter = 15 * time.Second

// parse makes a pool's configuration. What the pool and the driver call options in the
// URL keep their meaning there.
func parse(url string, o Options) (*pgxpool.Config, error) {
	bare, err := pgx.ParseConfig(url)
	var file *fs.PathError
	if errors.As(err, &file) {
		return nil, fmt.Errorf("a file that the database URL names can't be read: %w", file.Err)
	}
	if err != nil {
		return nil, ErrURL
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, ErrURL
	}
	if o.MaxConns > 0 {
		config.MaxConns = int32(o.MaxConns)
	} else if _, ok := bare.RuntimeParams["pool_max_conns"]; !ok {
		config.MaxConns = defaultMaxConns
	}
	if o.MinConns > 0 {
		config.MinConns = int32(o.MinConns)
	}
	if o.ConnectTimeout > 0 {
		config.ConnConfig.ConnectTimeout = o.ConnectTimeout
	} else if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = defaultConnectTimeout
	}
	if given := config.ConnConfig.RuntimeParams; given["application_name"] == "" {
		given["application_name"] = "piedmont"
	}
	config.PingTimeout = config.ConnConfig.ConnectTimeout
	config.ShouldPing = func(_ context.Context, p pgxpool.ShouldPingParams) bool { return p.IdleDuration > pingAfter }
	return config, nil
}
