package c

import (
	"embed"
	"sync"

	"github.com/etgen/etgen/templates/expand"
)

//go:embed helpers/*.tmpl
var helperFiles embed.FS

// Helpers has the helper functions that generated C calls. Each is emitted only where it is used.
var Helpers = sync.OnceValue(func() expand.Templates {
	return expand.ParseFiles(helperFiles, "helpers/*.tmpl")
})
