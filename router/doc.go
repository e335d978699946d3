// Package router is the HTTP edge: it speaks the Iceberg REST protocol to clients and the
// words of package mounts to everything behind it. It sees what a mount can do, never
// what kind it is.
//
// One request goes through: request id, authentication, the raw path split once, the
// tree's Resolve, authorization, the mount, and the answer. Handlers return errors; one
// function turns them into answers. See DESIGN.md.
package router
