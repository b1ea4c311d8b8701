package way

import (
	_ "embed"
	"strings"
)

//go:embed support/pool.c
var poolSource string

// cPool defines the function that runs the kernels of a package in parts.
func cPool(name string) string {
	return strings.NewReplacer("NAME", name, "THREADS", strings.ToUpper(name)+"_THREADS").Replace(
		poolSource)
}
