package ops

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
)

// bitType is the integer that the bits of elements of a size, in bytes, are moved in.
func bitType(size int) (ir.DType, bool) {
	switch size {
	case 1:
		return ir.Uint8, true
	case 2:
		return ir.Int16, true
	case 4:
		return ir.Int32, true
	case 8:
		return ir.Int64, true
	}
	return 0, false
}

// viewDType looks at the bytes of self as elements of another dtype, little
// endian. If they are larger or smaller the last dimension shrinks or grows. The
// result is a copy: what is written to it in place does not reach self.
func viewDType() Op {
	return Op{
		Schema: "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
		Infer: func(c *Call) ([]ir.Type, error) {
			t := c.Tensor("self")
			d := c.DType("dtype", t.DType)
			from, to := int64(t.DType.Size()), int64(d.Size())
			if _, known := bitType(int(to)); !known || t.DType.IsComplex() || d.IsComplex() ||
				d == ir.Bool && t.DType != ir.Bool {
				return nil, c.Errorf("elements of %s as %s", t.DType, d)
			}
			out := t
			out.DType = d
			if from == to {
				return []ir.Type{out}, nil
			}
			last := t.Rank() - 1
			if last < 0 {
				return nil, c.Errorf("a tensor without dimensions has no elements of another size")
			}
			if s, ok := t.Strides[last].Const(); !ok || s != 1 {
				return nil, c.Errorf("the last dimension of %s is not dense", t)
			}
			scale := func(e sym.Expr) (sym.Expr, error) {
				if to < from {
					return sym.Mul(e, sym.Int(from/to)), nil
				}
				k := sym.Int(to / from)
				if n, ok := sym.Mod(e, k).Const(); !ok || n != 0 {
					return e, c.Errorf("%s is not made of whole elements of %s", t, d)
				}
				return sym.FloorDiv(e, k), nil
			}
			var errs [3]error
			out.Sizes, out.Strides = slices.Clone(t.Sizes), slices.Clone(t.Strides)
			out.Sizes[last], errs[0] = scale(t.Sizes[last])
			for i := range last {
				if out.Strides[i], errs[1] = scale(t.Strides[i]); errs[1] != nil {
					return nil, errs[1]
				}
			}
			out.Offset, errs[2] = scale(t.Offset)
			for _, err := range errs {
				if err != nil {
					return nil, err
				}
			}
			return []ir.Type{out}, nil
		},
		Compute: func(c *Call) ([]expr.Tensor, error) {
			t, o := c.Tensor("self"), c.Outs[0]
			from, to := t.DType.Size(), o.DType.Size()
			vars, at := indexVars(o.Sizes)
			mine, _ := bitType(from) // the integers of self's elements and the result's
			theirs, _ := bitType(to)
			load := func(at []sym.Expr) *expr.Expr {
				return expr.Bitcast(mine, c.Load("self", at...))
			}
			var x *expr.Expr
			last := len(at) - 1
			switch {
			case from == to:
				x = load(at)
			case to < from: // a part of an element
				k := sym.Int(int64(from / to))
				src := slices.Clone(at)
				src[last] = sym.FloorDiv(at[last], k)
				by := expr.Mul(expr.Idx(mine, sym.Mod(at[last], k)), expr.Int(mine, int64(8*to)))
				x = expr.Cast(theirs, expr.Shr(load(src), by))
			default: // several elements
				k := to / from
				mask := expr.Int(theirs, int64(1)<<(8*from)-1)
				for part := range k {
					src := slices.Clone(at)
					src[last] = sym.Add(sym.Mul(at[last], sym.Int(int64(k))), sym.Int(int64(part)))
					y := expr.Shl(expr.And(expr.Cast(theirs, load(src)), mask),
						expr.Int(theirs, int64(8*from*part)))
					if x == nil {
						x = y
					} else {
						x = expr.Or(x, y)
					}
				}
			}
			return []expr.Tensor{{DType: o.DType, Vars: vars, Body: expr.Bitcast(o.DType, x)}}, nil
		},
	}
}
