package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"piedmont/configs"
	"piedmont/vend"
	"piedmont/vend/local"
	"piedmont/vend/s3"
)

// openStorage makes the storage profiles, and says of each why it couldn't be made. It asks no
// storage anything.
func openStorage(ctx context.Context, list []configs.Storage) (map[string]*vend.Profile, []error) {
	profiles, errs := map[string]*vend.Profile{}, make([]error, len(list))
	for i, s := range list {
		if p, err := openProfile(ctx, s); err != nil {
			errs[i] = err
		} else {
			profiles[s.Name] = p
		}
	}
	return profiles, errs
}

func openProfile(ctx context.Context, s configs.Storage) (*vend.Profile, error) {
	prefix, err := vend.ParseLocation(s.Location)
	if err != nil {
		return nil, fmt.Errorf("location: %w", err)
	}
	p := &vend.Profile{Name: s.Name, Prefix: prefix}
	if s.S3 == nil {
		p.Files, err = local.New(s.Name, prefix)
		return p, err
	}
	p.Files, err = s3.New(ctx, s3.Options{
		Profile: s.Name, Prefix: prefix, Endpoint: s.S3.Endpoint, Region: s.S3.Region, PathStyle: s.S3.PathStyle,
		AccessKeyID: s.S3.AccessKeyID, SecretAccessKey: s.S3.SecretAccessKey,
	})
	return p, err
}

// errNoDirectory is of a local profile whose directory surely isn't there.
var errNoDirectory = errors.New("its directory doesn't exist: mount its disk, or make it")

// checkDirectory refuses a local profile whose location is no directory. The error is errNoDirectory
// where nothing is there: perhaps a disk isn't mounted, perhaps a path is mistyped. A disk that
// fails in another way is one that is down.
func checkDirectory(s configs.Storage, p *vend.Profile) error {
	if s.Local == nil {
		return nil
	}
	info, err := os.Stat("/" + p.Prefix.Key())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", errNoDirectory, err)
	case errors.Is(err, syscall.ENOTDIR), err == nil && !info.IsDir():
		return errors.New("its location is no directory")
	}
	return nil
}

// clientProperties is what engines are told of each profile with each table. Both keys of
// the region are needed: Java's clients read client.region, DuckDB and PyIceberg s3.region.
func clientProperties(list []configs.Storage) map[string]map[string]string {
	properties := map[string]map[string]string{}
	for _, s := range list {
		p := map[string]string{}
		if s.S3 != nil {
			p["client.region"], p["s3.region"] = s.S3.Region, s.S3.Region
			if s.S3.Endpoint != "" {
				p["s3.endpoint"] = s.S3.Endpoint
			}
			if s.S3.PathStyle {
				p["s3.path-style-access"] = "true"
			}
		}
		properties[s.Name] = p
	}
	return properties
}
