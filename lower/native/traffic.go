package native

import (
	"math"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/schedule"
)

// maxTraffic bounds what is counted.
const maxTraffic = 1 << 60

// traffic estimates the bytes that are read and written of each root while stmts run. What
// loops load and store is counted. A tuned kernel reads an operand, or what it copied of it
// to scratch memory, once for each multiply-accumulate and column of its tile, and once at
// least; it writes its result once.
func traffic(stmts []Stmt) map[*Buffer]int64 {
	moved := map[*Buffer]float64{}
	addTraffic(moved, stmts, 1)
	bytes := map[*Buffer]int64{}
	for b, n := range moved {
		bytes[b] = int64(math.Min(n, maxTraffic))
	}
	return bytes
}

func addTraffic(moved map[*Buffer]float64, stmts []Stmt, times float64) {
	for _, s := range stmts {
		inner := times
		switch s := s.(type) {
		case *Call:
			for i, n := range s.moved() {
				moved[Root(s.Args[i])] += times * n * float64(s.Args[i].DType.Size())
			}
		case *For:
			inner *= expr.Count(s.Extent)
		case *Await:
			inner *= float64(s.Extent)
			row := float64(s.Step) * float64(s.Window.MaxLen*int64(s.Window.DType.Size()))
			if n, ok := s.Window.Sizes[2].Const(); ok && n > 0 { // each row comes, and may move up
				moved[Root(s.Window)] += 3 * inner * row / float64(n)
			}
		}
		for _, block := range Blocks(s) {
			addTraffic(moved, *block, inner)
		}
	}
}

// moved estimates the elements that c reads and writes of each argument.
func (c *Call) moved() []float64 {
	if c.Kernel.Loop != nil {
		values := map[*sym.Symbol]sym.Expr{}
		for i, s := range c.Kernel.Params {
			values[s] = c.Ints[i]
		}
		return schedule.Moved(c.Kernel.Loop, values)
	}
	t := c.Kernel.Tuned
	list := make([]float64, len(c.Args))
	reads := expr.Count(t.MACs) / float64(max(t.Tile.Cols, 1))
	for i, b := range c.Args {
		list[i] = float64(max(b.MaxLen, 0))
		if read, _ := c.Kernel.Uses(i); read && i <= len(t.Operands) || c.Kernel.IsScratch(i) {
			list[i] = math.Max(list[i], reads)
		}
	}
	return list
}
