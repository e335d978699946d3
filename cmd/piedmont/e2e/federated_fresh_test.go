//go:build e2e

package e2e

import "time"

// freshFor is how long the mount remembered may answer from memory.
const freshFor = 2 * time.Second
