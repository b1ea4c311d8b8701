package c

import "embed"

// Helpers holds the helper functions that generated C calls, as
// helpers/*.tmpl. Each is emitted only where it is used.
//
//go:embed helpers/*.tmpl
var Helpers embed.FS
