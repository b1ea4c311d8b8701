// Package gokernels carries the source of the tuned Go kernels, which generated
// packages get a copy of. Each kernel is a package of its own that imports the
// standard library only.
package gokernels

import "embed"

// FS has a directory per package: conv/conv.go, …
//
//go:embed conv/conv.go depthwise/depthwise.go matmul/matmul.go rows/*.go rows/*.s
var FS embed.FS
