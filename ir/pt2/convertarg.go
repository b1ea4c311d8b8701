package pt2

import (
	"fmt"

	"github.com/etgen/etgen/ir"
)

// arg converts an argument, resolving names in s.
func (c *converter) arg(s *scope, w *wireArg) (ir.Arg, error) {
	switch {
	case w.graph != nil:
		return nil, problem("a graph inside a list or an output")
	case w.name != "":
		v, err := s.lookup(w.name)
		if err != nil {
			return nil, err
		}
		return ir.Ref{Value: v}, nil
	case w.lit != nil:
		return enumArg(w)
	}
	list := make(ir.List, len(w.list))
	for i := range w.list {
		a, err := c.arg(s, &w.list[i])
		if err != nil {
			return nil, err
		}
		list[i] = a
	}
	return list, nil
}

func (s *scope) lookup(name string) (*ir.Value, error) {
	if v := s.values[name]; v != nil {
		return v, nil
	}
	if node, ok := s.later[name]; ok {
		return nil, problem("uses the value %q before node %q defines it", name, node).
			hint("the graph has a cycle or its nodes are out of order; export the model again")
	}
	return nil, problem("uses the value %q, which nothing defines", name).
		hint("the file is damaged; export the model again")
}

// enumArg gives literals of enumerations their own types.
func enumArg(w *wireArg) (ir.Arg, error) {
	n, _ := w.lit.(ir.Int)
	switch w.tag {
	case "as_scalar_type":
		d, err := dtypeOf(int64(n))
		return ir.DTypeArg(d), err
	case "as_layout":
		if n < 0 || n > layoutStrided {
			return nil, problem("unknown layout number %d", n)
		}
		return ir.LayoutArg(n), nil
	case "as_memory_format":
		if n < 1 || n > 4 {
			return nil, problem("unknown memory format number %d", n)
		}
		return ir.MemoryFormat(n), nil // same numbers
	}
	return w.lit, nil
}

// The numbers of torch.layout in the export schema.
const layoutStrided = 7

var layoutNames = [...]string{"unknown", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr",
	"sparse_bsc", "mkldnn"}

func layoutName(n int64) string {
	if n >= 0 && n < int64(len(layoutNames)) {
		return layoutNames[n]
	}
	return fmt.Sprintf("number %d", n)
}

// dtypeOf translates the ScalarType numbers of the export schema, which are
// not those of c10.
func dtypeOf(n int64) (ir.DType, error) {
	if n > 0 && n < int64(len(scalarTypes)) && scalarTypes[n] != ir.InvalidDType {
		return scalarTypes[n], nil
	}
	return ir.InvalidDType, problem("unknown dtype number %d", n)
}

var scalarTypes = [...]ir.DType{
	1: ir.Uint8, 2: ir.Int8, 3: ir.Int16, 4: ir.Int32, 5: ir.Int64,
	6: ir.Float16, 7: ir.Float32, 8: ir.Float64,
	9: ir.Complex32, 10: ir.Complex64, 11: ir.Complex128,
	12: ir.Bool, 13: ir.BFloat16, 28: ir.Uint16,
	29: ir.Float8E4M3FN, 30: ir.Float8E5M2, 31: ir.Float8E4M3FNUZ, 32: ir.Float8E5M2FNUZ,
	33: ir.Float8E8M0FNU,
	34: ir.Uint32, 35: ir.Uint64,
}

func deviceName(typ string, index int64) ir.Device {
	if index < 0 {
		return ir.Device(typ)
	}
	return ir.Device(fmt.Sprintf("%s:%d", typ, index))
}
