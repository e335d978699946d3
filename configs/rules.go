package configs

import (
	"fmt"
	"slices"
)

// Rules are what the packages that a configuration is for say of its values. They are given,
// since this package imports none of them. One that is nil isn't asked. What a rule's error
// says is shown, unless the value came from ${env:} or ${file:}.
type Rules struct {
	// Location refuses what is no location of a storage profile or a warehouse.
	Location func(location string) error
	// Within says whether a location lies under a prefix. Both have passed Location.
	Within func(location, prefix string) bool
	// Tree refuses mounts that can't stand in one tree of that name, by their At and Case.
	Tree func(name string, list []Mount) error
	// Source refuses the path of a mount's source.
	Source func(levels []string) error
	// NativeID refuses the id of a native mount.
	NativeID func(id string) error
	// KeyID refuses the id of an API key.
	KeyID func(id string) error
}

// obey asks the rules about what the configuration's own checks have passed.
func (v *validator) obey(r Rules, c *Config) {
	for i, s := range c.Storage {
		v.rule(fmt.Sprintf("storage[%d].location", i), "a location", r.Location, s.Location)
	}
	for i := range c.Mounts {
		v.obeyMount(r, c, i)
	}
	for i, k := range c.Auth.Keys {
		v.rule(fmt.Sprintf("auth.keys[%d].id", i), "a key's id", r.KeyID, k.ID)
	}
	v.tree(r, c)
}

func (v *validator) obeyMount(r Rules, c *Config, i int) {
	m, path := &c.Mounts[i], fmt.Sprintf("mounts[%d]", i)
	if r.Source != nil && !v.wrong(path+".source") {
		v.verdict("a namespace", r.Source(m.Source), path+".source")
	}
	if m.Native == nil {
		return
	}
	v.rule(path+".native.id", "the id of a native mount", r.NativeID, m.Native.ID)
	at := path + ".native.warehouse"
	v.rule(at, "a location", r.Location, m.Native.Warehouse)
	if r.Within == nil || v.wrong(at) || v.wrong(path+".storage") {
		return
	}
	for j, s := range c.Storage {
		if !slices.Contains(m.Storage, s.Name) {
			continue
		}
		if v.wrong(fmt.Sprintf("storage[%d].location", j)) || r.Within(m.Native.Warehouse, s.Location) {
			return
		}
	}
	v.fault(at, "it lies under none of the mount's storage profiles")
}

// tree asks for each mount alone, which shows whose fault it is, and then for all.
func (v *validator) tree(r Rules, c *Config) {
	if r.Tree == nil {
		return
	}
	ats, wrong := []string{"name"}, v.wrong("name")
	for i, m := range c.Mounts {
		at := fmt.Sprintf("mounts[%d].at", i)
		ats = append(ats, at)
		if !v.wrong(at) {
			v.verdict("a mount's path", r.Tree(c.Name, []Mount{m}), at, "name")
		}
		wrong = wrong || v.wrong(at)
	}
	if !wrong {
		v.verdict("a tree of mounts", r.Tree(c.Name, c.Mounts), append([]string{"mounts"}, ats...)...)
	}
}

// rule asks about one text, unless it is missing or wrong already.
func (v *validator) rule(path, what string, rule func(string) error, value string) {
	if rule != nil && value != "" && !v.wrong(path) {
		v.verdict(what, rule(value), path)
	}
}

// verdict adds a rule's error at the first path. It may repeat what stands at any of them, or
// inside.
func (v *validator) verdict(what string, err error, paths ...string) {
	if err == nil {
		return
	}
	for _, path := range paths {
		for from, secret := range v.secret {
			if secret && within(from, path) {
				v.fault(paths[0], "not %s; why isn't said, since it would show what ${env:} or ${file:} gave", what)
				return
			}
		}
	}
	v.fault(paths[0], "%s", err)
}
