package main

import (
	"errors"
	"strings"

	"piedmont/authz"
	"piedmont/configs"
	"piedmont/mounts"
	"piedmont/native"
	"piedmont/vend"
)

// rules are those of the packages that a configuration is for.
func rules() configs.Rules {
	return configs.Rules{
		Location: func(location string) error {
			_, err := vend.ParseLocation(location)
			return plain(err)
		},
		Within: func(location, prefix string) bool {
			l, err1 := vend.ParseLocation(location)
			p, err2 := vend.ParseLocation(prefix)
			return err1 == nil && err2 == nil && l.Under(p)
		},
		Tree: func(name string, list []configs.Mount) error {
			points := make([]mounts.Point, len(list))
			for i, m := range list {
				points[i] = pointOf(m)
			}
			_, err := mounts.NewTree(name, points)
			return plain(err)
		},
		Source:   func(levels []string) error { return plain(mounts.Namespace(levels).Validate()) },
		NativeID: native.CheckID,
		KeyID:    authz.CheckKeyID,
	}
}

// plain is what an error says to a client, if it is for one.
func plain(err error) error {
	var e *mounts.Error
	if errors.As(err, &e) {
		return errors.New(e.Message())
	}
	return err
}

// pointOf is the point of a mount, without its catalog.
func pointOf(m configs.Mount) mounts.Point {
	p := mounts.Point{Source: m.Source, Lower: m.Case == "lower", Kind: "rest"}
	switch {
	case m.Native != nil:
		p.Kind = "native"
	case m.Glue != nil:
		p.Kind = "glue"
	case m.Hive != nil:
		p.Kind = "hive"
	}
	if m.At != "" {
		p.At = strings.Split(m.At, ".")
	}
	return p
}
