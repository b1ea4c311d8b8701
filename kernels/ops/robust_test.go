package ops_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// TestAnyArguments calls every entry with arguments of every sort, most of them
// wrong. Errors are fine, panics are not.
func TestAnyArguments(t *testing.T) {
	r := samples.NewRand(3)
	table := ops.Standard()
	s := sym.NewSymbol("s0", 0, 50)
	bound := 0
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		for range 100 {
			n := &ir.Node{Name: "n", Op: name}
			for _, p := range op.ParsedSchema().Args {
				if (p.HasDefault || p.Type.Optional) && r.IntN(2) == 0 {
					continue
				}
				n.Args = append(n.Args, ir.NamedArg{Name: p.Name, Value: anyArg(r, p.Type, s)})
			}
			if err := useEntry(table, n, &bound); err != nil {
				t.Errorf("%s(%v): %v", name, describeCall(n), err)
				break
			}
		}
	}
	if bound < 1000 {
		t.Errorf("only %d calls were right", bound)
	}
}

func useEntry(table *ops.Table, n *ir.Node, bound *int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	c, e := table.Bind(n)
	if e != nil {
		return nil
	}
	*bound++
	op := c.Op
	if op.View != nil {
		views, _ := op.View(c)
		for i, v := range views {
			v.Map(coordsOf(c.Outs[i]))
		}
	}
	if op.Compute != nil {
		_, _ = op.Compute(c)
	}
	if op.Loops != nil {
		_, _ = op.Loops(c)
	}
	if op.Value != nil && len(c.Scalars()) == 0 {
		_, _ = op.Value(c)
	}
	if op.ScalarOp != nil {
		_, _ = op.ScalarOp(c)
	}
	if op.Decompose != nil {
		_, _ = ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil,
			func(e *ir.Emitter) ([]ir.Arg, error) {
				_, err := ops.NewBuilder(table, e).Decompose(c)
				return nil, err
			})
	}
	return nil
}

// anyArg returns an argument that fits t nine times out of ten.
func anyArg(r *samples.Rand, t *aten.Type, s *sym.Symbol) ir.Arg {
	if r.IntN(10) == 0 {
		t = &aten.Type{Name: []string{"Tensor", "int", "float", "bool", "str", "None",
			"Scalar"}[r.IntN(7)]}
	}
	if t.IsList() {
		list := ir.List{}
		n := r.IntN(4)
		if t.Size > 0 && r.IntN(4) > 0 {
			n = t.Size
		}
		for range n {
			list = append(list, anyArg(r, t.Elems[0], s))
		}
		return list
	}
	if t.Optional && r.IntN(3) == 0 {
		return ir.None{}
	}
	switch t.Name {
	case "Tensor":
		return ir.Ref{Value: &ir.Value{Name: "x", Type: anyTensor(r, s)}}
	case "int", "SymInt":
		switch r.IntN(12) {
		case 0:
			return ir.Ref{Value: &ir.Value{Name: "n", Type: ir.SymInt(s.Expr())}}
		case 1:
			return ir.Int([]int64{math.MaxInt64, math.MinInt64, -100, 1 << 40}[r.IntN(4)])
		}
		return ir.Int(r.IntN(6) - 2)
	case "Scalar", "number":
		switch r.IntN(8) {
		case 0:
			return ir.Ref{Value: &ir.Value{Name: "f", Type: ir.Type{Kind: ir.FloatKind}}}
		case 1:
			return ir.Complex(1i)
		case 2:
			return ir.BoolArg(true)
		case 3:
			return ir.Float(math.NaN())
		case 4:
			return ir.Ref{Value: &ir.Value{Name: "n", Type: ir.Type{Kind: ir.IntKind}}}
		}
		return ir.Int(r.IntN(5) - 2)
	case "float", "SymFloat":
		return ir.Float([]float64{0, 0.5, 1, -1, math.Inf(1), math.NaN()}[r.IntN(6)])
	case "bool", "SymBool":
		return ir.BoolArg(r.IntN(2) == 0)
	case "str":
		return ir.Str([]string{"none", "tanh", "floor", "same", "valid", "constant", "reflect",
			"mean", ""}[r.IntN(9)])
	case "ScalarType":
		return ir.DTypeArg(1 + r.IntN(18))
	case "Layout":
		return ir.LayoutArg(7)
	case "Device":
		return ir.Device("cpu")
	case "MemoryFormat":
		return ir.MemoryFormat(1 + r.IntN(4))
	}
	return ir.None{}
}

func anyTensor(r *samples.Rand, s *sym.Symbol) ir.Type {
	d := []ir.DType{ir.Float32, ir.Float32, ir.Float32, ir.Int64, ir.Int64, ir.Bool, ir.Float16,
		ir.BFloat16, ir.Float64, ir.Uint8, ir.Complex64, ir.Uint16, ir.Float8E4M3FN}[r.IntN(13)]
	sizes := make([]sym.Expr, r.IntN(5))
	for i := range sizes {
		sizes[i] = sym.Int(r.Int64N(4))
		if r.IntN(10) == 0 {
			sizes[i] = s.Expr()
		}
	}
	t := ir.TensorOf(d, sizes...)
	if len(sizes) > 1 && r.IntN(3) == 0 {
		t.Sizes[0], t.Sizes[1] = t.Sizes[1], t.Sizes[0]
		t.Strides[0], t.Strides[1] = t.Strides[1], t.Strides[0]
	}
	return t
}

func describeCall(n *ir.Node) string {
	out := ""
	for _, a := range n.Args {
		if r, ok := a.Value.(ir.Ref); ok {
			out += fmt.Sprintf("%s=%v, ", a.Name, r.Value.Type)
			continue
		}
		out += fmt.Sprintf("%s=%v, ", a.Name, a.Value)
	}
	return out
}
