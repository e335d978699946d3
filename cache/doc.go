// Package cache keeps what was loaded within a bound of bytes, lets many callers share
// one load, and holds metadata documents in the forms in which they are served.
package cache
