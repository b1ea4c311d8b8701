// Package golang is Go code that generated packages get a copy of: access to
// memory as typed slices, and goroutines that share kernels.
package golang

import "embed"

// Source is the source of this package.
//
//go:embed memory.go threads.go
var Source embed.FS
