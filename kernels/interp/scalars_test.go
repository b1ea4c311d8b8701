package interp

import (
	"testing"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// TestScalars runs operators on Python numbers whose operands are known to the
// compiler, known by symbol, or known only at run time.
func TestScalars(t *testing.T) {
	s := sym.NewSymbol("s", 2, 100)
	size := &ir.Value{Name: "n", Type: ir.SymInt(s.Expr())}
	fl := &ir.Value{Name: "f", Type: ir.Type{Kind: ir.FloatKind}}
	data := &ir.Value{Name: "d", Type: ir.Type{Kind: ir.IntKind}}
	yes := &ir.Value{Name: "b", Type: ir.Type{Kind: ir.BoolKind}}
	ref := func(v *ir.Value) ir.Arg { return ir.Ref{Value: v} }
	i := func(n int64) Value { return Value{Kind: ir.IntKind, Scalar: expr.Value{I: n}} }
	f := func(x float64) Value { return Value{Kind: ir.FloatKind, Scalar: expr.Value{F: x}} }
	b := func(x int64) Value { return Value{Kind: ir.BoolKind, Scalar: expr.Value{I: x}} }
	for _, tt := range []struct {
		op   string
		args []ir.Arg
		want Value
	}{
		{"_operator.add", []ir.Arg{ir.Int(2), ir.Int(3)}, i(5)},
		{"_operator.add", []ir.Arg{ref(size), ir.Int(3)}, i(10)},
		{"_operator.add", []ir.Arg{ref(data), ref(size)}, i(-4)},
		{"_operator.add", []ir.Arg{ref(fl), ref(size)}, f(9.5)},
		{"_operator.floordiv", []ir.Arg{ref(size), ir.Int(2)}, i(3)},
		{"_operator.floordiv", []ir.Arg{ref(data), ir.Int(2)}, i(-6)},
		{"_operator.floordiv", []ir.Arg{ref(fl), ir.Int(2)}, f(1)},
		{"_operator.mod", []ir.Arg{ref(data), ir.Int(4)}, i(1)},
		{"_operator.mod", []ir.Arg{ref(size), ir.Int(4)}, i(3)},
		{"_operator.pow", []ir.Arg{ref(size), ir.Int(2)}, i(49)},
		{"_operator.pow", []ir.Arg{ref(data), ir.Int(3)}, i(-1331)},
		{"_operator.pow", []ir.Arg{ref(fl), ir.Int(2)}, f(6.25)},
		{"_operator.truediv", []ir.Arg{ref(size), ir.Int(2)}, f(3.5)},
		{"_operator.neg", []ir.Arg{ref(size)}, i(-7)},
		{"_operator.neg", []ir.Arg{ref(fl)}, f(-2.5)},
		{"_operator.lt", []ir.Arg{ref(size), ir.Int(8)}, b(1)},
		{"_operator.lt", []ir.Arg{ref(fl), ir.Int(2)}, b(0)},
		{"_operator.eq", []ir.Arg{ref(data), ir.Int(-11)}, b(1)},
		{"_operator.and_", []ir.Arg{ref(yes), ir.BoolArg(false)}, b(0)},
		{"_operator.or_", []ir.Arg{ref(yes), ir.BoolArg(false)}, b(1)},
		{"torch.sym_not", []ir.Arg{ref(yes)}, b(0)},
		{"torch.sym_max", []ir.Arg{ref(size), ir.Int(9)}, i(9)},
		{"torch.sym_min", []ir.Arg{ref(data), ir.Int(9)}, i(-11)},
		{"torch.sym_float", []ir.Arg{ref(size)}, f(7)},
		{"torch.sym_int", []ir.Arg{ref(fl)}, i(2)},
		{"math.trunc", []ir.Arg{ir.Float(-2.5)}, i(-2)},
		{"math.floor", []ir.Arg{ir.Float(-2.5)}, i(-3)},
		{"math.ceil", []ir.Arg{ref(fl)}, i(3)},
	} {
		m := New(ops.Standard())
		m.Set(size, i(7))
		m.Set(fl, f(2.5))
		m.Set(data, i(-11))
		m.Set(yes, b(1))
		n := &ir.Node{Name: "n", Op: tt.op}
		for _, a := range tt.args {
			n.Args = append(n.Args, ir.NamedArg{Value: a})
		}
		c, err := m.Table.Bind(n)
		if err != nil {
			t.Errorf("%s%v: %v", tt.op, tt.args, err)
			continue
		}
		if c.Outs[0].Kind != tt.want.Kind {
			t.Errorf("%s%v: inferred kind %v, want %v", tt.op, tt.args, c.Outs[0].Kind,
				tt.want.Kind)
		}
		out := &ir.Value{Name: "out", Type: c.Outs[0]}
		n.Outputs = []*ir.Value{out}
		if err := m.Node(n); err != nil {
			t.Errorf("%s%v: %v", tt.op, tt.args, err)
			continue
		}
		if got, _ := m.Get(out); got.Kind != tt.want.Kind || got.Scalar != tt.want.Scalar {
			t.Errorf("%s%v = %+v, want %+v", tt.op, tt.args, got, tt.want)
		}
	}
}

// TestScan builds loops with Builder.Scan and runs them.
func TestScan(t *testing.T) {
	xs := &ir.Value{Name: "xs", Type: ir.StaticTensor(ir.Int64, 4, 2)}
	init := &ir.Value{Name: "init", Type: ir.StaticTensor(ir.Int64, 2)}
	for _, reverse := range []bool{false, true} {
		var last, ys []*ir.Value
		names := ir.NewNames(&ir.Method{Graph: &ir.Graph{Inputs: []*ir.Value{xs, init}}})
		g, err := ir.BuildGraph(names, []*ir.Value{xs, init},
			func(e *ir.Emitter) ([]ir.Arg, error) {
				b := ops.NewBuilder(ops.Standard(), e)
				var err error
				last, ys, err = b.Scan([]*ir.Value{init}, []*ir.Value{xs}, reverse,
					func(b *ops.Builder,
						carry, x []*ir.Value) (next, yields []*ir.Value) {
						sum := b.Op("aten.add.Tensor", carry[0], x[0])
						return []*ir.Value{sum}, []*ir.Value{b.Op("aten.neg.default", sum)}
					})
				if err != nil {
					return nil, err
				}
				return []ir.Arg{ir.Ref{Value: last[0]}, ir.Ref{Value: ys[0]}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		ints := func(sizes []int64, ns ...int64) Value {
			var data []byte
			for _, n := range ns {
				data = tensor.Append(data, ir.Int64, float64(n))
			}
			return Tensor(ir.Int64, sizes, data)
		}
		outs, err := New(ops.Standard()).Graph(g, []Value{ints([]int64{4, 2}, 1, 2, 3, 4, 5, 6, 7,
			8), ints([]int64{2}, 100, 200)})
		if err != nil {
			t.Fatal(err)
		}
		wantLast := ints([]int64{2}, 116, 220)
		wantYs := ints([]int64{4, 2}, -101, -202, -104, -206, -109, -212, -116, -220)
		if reverse {
			wantYs = ints([]int64{4, 2}, -116, -220, -115, -218, -112, -214, -107, -208)
		}
		for i, want := range []Value{wantLast, wantYs} {
			if msg := differ(ir.Int64, outs[i].Tensor.Data, want.Tensor.Data, 0, 1); msg != "" {
				t.Errorf("reverse %v: output %d %s", reverse, i, msg)
			}
		}
	}
}

// TestScanErrors wants errors for bodies that do not fit.
func TestScanErrors(t *testing.T) {
	x := &ir.Value{Name: "x", Type: ir.StaticTensor(ir.Float32, 4, 2)}
	_, err := ir.BuildGraph(ir.NewNames(&ir.Method{Graph: &ir.Graph{}}), nil,
		func(e *ir.Emitter) ([]ir.Arg, error) {
			b := ops.NewBuilder(ops.Standard(), e)
			if _, _, err := b.Scan(nil, nil, false, nil); err == nil {
				t.Error("a scan over nothing is accepted")
			}
			if _, _, err := b.Scan(nil, []*ir.Value{x}, false, func(b *ops.Builder, _,
				e []*ir.Value) ([]*ir.Value, []*ir.Value) {
				return e, nil
			}); err == nil {
				t.Error("more carried values than there are is accepted")
			}
			_, _, err := b.Scan(nil, []*ir.Value{x}, false, func(b *ops.Builder, _,
				e []*ir.Value) ([]*ir.Value, []*ir.Value) {
				return nil, []*ir.Value{b.Op("aten.nothing.default", e[0])}
			})
			return nil, err
		})
	if err == nil {
		t.Error("an unknown operator in a body is accepted")
	}
}
