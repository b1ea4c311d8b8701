package raise

import (
	"path/filepath"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// location returns the innermost frame outside of PyTorch.
func location(frames []pte.Frame) ir.Location {
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		name := strings.ReplaceAll(f.Filename, `\`, "/")
		if name == "" || strings.Contains(name, "/torch/") || strings.Contains(name, "/executorch/exir/") {
			continue
		}
		return ir.Location{File: filepath.Base(name), Line: int(f.Line)}
	}
	return ir.Location{}
}
