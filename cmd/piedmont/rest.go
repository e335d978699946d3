package main

import (
	"errors"

	"piedmont/configs"
	"piedmont/mounts"
	"piedmont/vend"
)

func openREST(configs.Mount, *vend.Set) (mounts.Mount, error) { return nil, errors.New("rest mounts") }
