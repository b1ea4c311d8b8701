package compile

import (
	"context"
	"fmt"
	"math"

	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
)

// folding runs kernels in Go on constants: the program of them is built when the first is called.
type folding struct {
	kernels *custom.Kernels
	ctx     context.Context
	host    *custom.Host
	err     error
}

// Has implements lower.CustomKernels.
func (f *folding) Has(op string) bool {
	k := f.kernels.Function(op)
	return k != nil && !k.Schema.Mutates()
}

// Run implements lower.CustomKernels. A call that fails is left to run time.
func (f *folding) Run(c *ops.Call, outs [][]byte) (err error) {
	defer must.Catch(&err)
	args := seq.Map(c.Args, hostValue)
	for i, t := range c.Outs {
		args = append(args, hostTensor(t, outs[i]))
	}
	if f.host == nil && f.err == nil {
		f.host, f.err = f.kernels.Start(f.ctx)
	}
	must.Check(f.err)
	return f.host.Call(c.Op.Name(), args)
}

func (f *folding) close() {
	if f.host != nil {
		f.host.Close()
	}
}

func hostTensor(t ir.Type, data []byte) custom.Value {
	sizes, ok := t.StaticSizes()
	if !ok {
		must.Fail("%v has no fixed size", t)
	}
	return custom.Value{Data: data, Sizes: sizes, Elem: t.DType.GoElement()}
}

// hostValue is an argument that is constant.
func hostValue(a ir.Arg) custom.Value {
	switch a := a.(type) {
	case ir.None:
		return custom.Value{None: true}
	case ir.Ref:
		if a.Value.Const == nil {
			e, _ := a.Value.Type.Expr.Const()
			return custom.Value{Int: e, Bits: math.Float64bits(float64(e))}
		}
		return hostTensor(a.Value.Type, must.Get(ir.Tensor(a.Value.Const)))
	case ir.Int:
		return custom.Value{Int: int64(a), Bits: math.Float64bits(float64(a))}
	case ir.Float:
		return custom.Value{Bits: math.Float64bits(float64(a))}
	case ir.BoolArg:
		if a {
			return custom.Value{Int: 1}
		}
		return custom.Value{}
	case ir.Str:
		return custom.Value{Text: string(a)}
	case ir.List:
		var list custom.Value
		for _, x := range a {
			list.Values = append(list.Values, hostValue(x))
		}
		return list
	}
	panic(fmt.Errorf("kernels at compile time take no %T", a))
}
