package strip

import "embed"

// Source is the source of this package.
//
//go:embed *.go *.s
var Source embed.FS
