// Package executorch holds the .pte files that etgen writes against those that
// ExecuTorch's own exporter wrote of the same models: how large the files are,
// how much memory they plan, how many instructions they take. The table in
// docs/executorch.md is what it finds.
package executorch

import (
	"fmt"

	"github.com/etgen/etgen/ir/pte"
)

// Figures are what a program costs.
type Figures struct {
	File         int64 // bytes, external data included
	Planned      int64 // bytes of planned memory, all methods and buffers
	Calls        int   // instructions that call kernels
	Instructions int   // all of them

	// Inputs are the bytes of the largest inputs that the program takes.
	Inputs int64
}

// Measure counts a program that takes so many bytes in files. A program with
// delegates has no figures: what their data costs is not to be seen.
func Measure(p *pte.Program, bytes int64) (Figures, error) {
	f := Figures{File: bytes}
	for _, plan := range p.Plans {
		if len(plan.Delegates) > 0 {
			return Figures{}, fmt.Errorf("method %s has delegates", plan.Name)
		}
		for _, n := range plan.BufferSizes {
			f.Planned += n
		}
		for _, i := range plan.Inputs {
			if t, ok := plan.Values[i].(*pte.Tensor); ok {
				n, _ := t.NBytes()
				f.Inputs += n
			}
		}
		for _, c := range plan.Chains {
			f.Instructions += len(c.Instructions)
			for _, in := range c.Instructions {
				if _, ok := in.(pte.KernelCall); ok {
					f.Calls++
				}
			}
		}
	}
	return f, nil
}

// all are the figures in the order of the table.
func (f Figures) all() []int64 {
	return []int64{f.File, f.Planned, int64(f.Calls), int64(f.Instructions)}
}

// figureNames name them.
var figureNames = []string{"file size", "planned bytes", "kernel calls", "instructions"}

// Larger names the figures in which f is larger than g, with both numbers.
func (f Figures) Larger(g Figures) []string {
	var larger []string
	mine, theirs := f.all(), g.all()
	for i, n := range mine {
		if n > theirs[i] {
			larger = append(larger, fmt.Sprintf("%s %d, not %d", figureNames[i], f.all()[i],
				g.all()[i]))
		}
	}
	return larger
}
