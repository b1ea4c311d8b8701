package tuned

import "strings"

// Tile is the register tile that a kernel's code works on: Rows of results by
// Cols, the columns being those of the packed weights. With Vector the code
// uses the widest vector registers its compiler has, which Cols fills, and
// takes the rows that suit them instead of Rows.
type Tile struct {
	Rows, Cols int
	Vector     bool
}

// tile returns the register tile for t. It depends on nothing else, so that all
// kernels of a program have the same.
func (t Target) tile() Tile {
	switch {
	case t.Lang == "go": // the Go compiler has 15 registers and no vectors
		return Tile{Rows: 2, Cols: 4}
	case t.Name == "cortex-m0" || t.Name == "riscv32": // every float operation is a call
		return Tile{Rows: 2, Cols: 2}
	case strings.HasPrefix(t.Name, "cortex-m"): // 32 floating registers, no vectors
		return Tile{Rows: 4, Cols: 4}
	case t.Name == "scalar": // any machine, 16 floating registers
		return Tile{Rows: 2, Cols: 4}
	}
	return Tile{Rows: 6, Cols: 16, Vector: true}
}

// Wide reports whether the kernels of a target may use the widest vectors there
// are, for which it counts how memory is aligned.
func Wide(t Target) bool { return t.Speed && t.tile().Vector }

// MCU reports whether a target is a microcontroller, whose memory is scarce.
func (t Target) MCU() bool { return strings.HasPrefix(t.Name, "cortex-m") || t.Name == "riscv32" }
