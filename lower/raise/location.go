package raise

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// Innermost returns the innermost frame outside of PyTorch.
func Innermost(frames []pte.Frame) (_ pte.Frame, ok bool) {
	for _, f := range slices.Backward(frames) {
		name := strings.ReplaceAll(f.Filename, `\`, "/")
		if name != "" && !strings.Contains(name, "/torch/") &&
			!strings.Contains(name, "/executorch/exir/") {
			f.Filename = name
			return f, true
		}
	}
	return pte.Frame{}, false
}

// location is the place of the innermost frame. What it is in, a function or a
// module, files do not agree on.
func location(frames []pte.Frame) ir.Location {
	f, ok := Innermost(frames)
	if !ok {
		return ir.Location{}
	}
	return ir.Location{File: filepath.Base(f.Filename), Line: int(f.Line)}
}
