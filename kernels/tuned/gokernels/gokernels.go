// Package gokernels carries the source of the tuned Go kernels, which generated
// packages get a copy of. Each kernel is a package of its own that imports the
// standard library only.
package gokernels

import "embed"

// FS has a directory per package: conv/conv.go, …
//
//go:embed conv/conv.go conv/params.go depthwise/depthwise.go depthwise/params.go
//go:embed rows/prefetch.go rows/attention.go rows/bytes.go rows/conv.go rows/depthwise.go rows/depthwisebytes.go rows/edges.go rows/few.go rows/fewbytes.go rows/epilogue.go rows/groups.go rows/linear.go rows/matmul.go rows/params.go rows/pool.go rows/share.go rows/slide.go rows/sweep.go rows/tile.go rows/winograd.go
//go:embed rows/tile_amd64.go rows/tile_amd64.s rows/tile_arm64.go rows/tile_arm64.s rows/tile_other.go
var FS embed.FS
