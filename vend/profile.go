package vend

import (
	"fmt"
	"slices"
	"strings"

	"piedmont/mounts"
)

// Profile is a part of a storage and the means to reach it.
type Profile struct {
	Name   string
	Prefix Location
	Files  Files
}

// Set is the profiles that one mount may use. It never changes.
type Set struct {
	mount    string
	profiles []*Profile // longest prefix first
}

// NewSet makes the set of profiles of a mount, which errors name. Prefixes may lie inside
// each other; it refuses a profile without name, prefix or Files and two profiles of one
// name or one prefix.
func NewSet(mount string, profiles ...*Profile) (*Set, error) {
	s := &Set{mount: mount, profiles: slices.Clone(profiles)}
	for i, p := range profiles {
		if p.Name == "" || p.Prefix.IsZero() || p.Files == nil {
			return nil, fmt.Errorf("storage profiles of mount %s: profile %q lacks its name, prefix or files", mount, p.Name)
		}
		for _, o := range profiles[:i] {
			if o.Name == p.Name || o.Prefix.Equal(p.Prefix) {
				return nil, fmt.Errorf("storage profiles of mount %s: %q and %q have the same name or prefix", mount, o.Name, p.Name)
			}
		}
	}
	slices.SortStableFunc(s.profiles, func(a, b *Profile) int {
		return len(b.Prefix.canonical) - len(a.Prefix.canonical)
	})
	return s, nil
}

// Find parses a location and finds the profile with the longest prefix that it lies
// under. The error is a BadRequest: ParseLocation's, or that there is no such profile.
func (s *Set) Find(location string) (*Profile, Location, error) {
	l, err := ParseLocation(location)
	if err != nil {
		return nil, Location{}, err
	}
	p, err := s.Profile(l)
	return p, l, err
}

// Profile is Find for a location that is parsed already.
func (s *Set) Profile(l Location) (*Profile, error) {
	for _, p := range s.profiles {
		if l.Under(p.Prefix) {
			return p, nil
		}
	}
	return nil, &mounts.Error{
		Kind: mounts.BadRequest, Op: "find storage profile",
		Detail: fmt.Sprintf("Invalid location: %s lies under no storage profile of %s", clip(l.Verbatim(), 300), s.describe()),
	}
}

// describe names the mount in messages.
func (s *Set) describe() string {
	if s.mount == "" {
		return "the root mount"
	}
	return "mount '" + s.mount + "'"
}

// Profiles are the profiles of the set, those with the longest prefix first.
func (s *Set) Profiles() []*Profile { return slices.Clone(s.profiles) }

// String names the profiles, for logs.
func (s *Set) String() string {
	names := make([]string, len(s.profiles))
	for i, p := range s.profiles {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
