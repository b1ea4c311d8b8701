package rt

import (
	"cmp"
	"fmt"
	"math"

	"github.com/etgen/etgen/ir/must"
)

// prim is an operator of the runtime itself. Calls of these carry no second slot
// for the result: it is the last argument, or the one that is changed in place.
type prim struct {
	args   int
	writes int  // index of the argument that is written
	tensor bool // which is a tensor
	// prepare returns what executes a call; it fails as package must has it.
	prepare func(args []*EValue) func()
}

// kernel returns the operator as a kernel.
func (p prim) kernel(name string) Kernel {
	return Kernel{Name: name, Prepare: func(c *Call) (func() error, error) {
		run := p.prepare(c.Args)
		return func() error { return must.Try(run) }, nil
	}}
}

const viewOp = "executorch_prim::et_view.default"

// prims are the runtime's operators, with ExecuTorch's meaning: of
// integers / and % truncate in the operators for ints, // of the Scalar one
// floors, mixed arguments are computed as doubles.
var prims = map[string]prim{
	"aten::sym_size.int":        {3, 2, false, symSize},
	"aten::sym_numel":           {2, 1, false, symNumel},
	"aten::_local_scalar_dense": {2, 1, false, localScalar},

	"executorch_prim::add.Scalar": arithmetic(
		func(a, b int64) int64 { return a + b }, func(a, b float64) float64 { return a + b }),
	"executorch_prim::sub.Scalar": arithmetic(
		func(a, b int64) int64 { return a - b }, func(a, b float64) float64 { return a - b }),
	"executorch_prim::mul.Scalar": arithmetic(
		func(a, b int64) int64 { return a * b }, func(a, b float64) float64 { return a * b }),
	"executorch_prim::floordiv.Scalar": arithmetic(floorDiv, floorDivDoubles),
	"executorch_prim::truediv.Scalar": scalars(2, func(args []*EValue, out *EValue) {
		a, b := numbers(args)
		out.setDouble(a / b)
	}),

	"executorch_prim::eq.Scalar": compare(func(c int) bool { return c == 0 }),
	"executorch_prim::gt.Scalar": compare(func(c int) bool { return c > 0 }),
	"executorch_prim::lt.Scalar": compare(func(c int) bool { return c < 0 }),
	"executorch_prim::ge.Scalar": compare(func(c int) bool { return c >= 0 }),
	"executorch_prim::le.Scalar": compare(func(c int) bool { return c <= 0 }),

	"executorch_prim::floordiv.int":   ints(divide),
	"executorch_prim::mod.int":        ints(remainder),
	"executorch_prim::mod.Scalar":     ints(remainder),
	"executorch_prim::sym_max.Scalar": ints(func(a, b int64) int64 { return max(a, b) }),
	"executorch_prim::sym_min.Scalar": ints(func(a, b int64) int64 { return min(a, b) }),

	"executorch_prim::neg.Scalar":       scalars(1, negate),
	"executorch_prim::sym_float.Scalar": scalars(1, symFloat),
	"executorch_prim::sym_int.Scalar":   scalars(1, symInt),
	"executorch_prim::sym_not.Scalar": scalars(1, func(args []*EValue, out *EValue) {
		out.setBool(!truthOf(args))
	}),
	"executorch_prim::sym_ite.Scalar": scalars(3, symIfThenElse),
	"executorch_prim::ceil.Scalar":    rounding(math.Ceil),
	"executorch_prim::trunc.Scalar":   rounding(math.Trunc),
	"executorch_prim::round.Scalar":   rounding(math.RoundToEven),

	"executorch_prim::et_copy_index.tensor": {3, 0, true, copyIndex},
	viewOp:                                  {3, 2, true, view},
}

// PrimOp reports whether the runtime itself has the operator, so that programs
// that call it need no kernel: "executorch_prim::add.Scalar", "aten::sym_numel".
func PrimOp(name string) bool {
	_, ok := prims[name]
	return ok
}

// scalars is an operator of n scalars. f writes the result, which may be one of
// the arguments.
func scalars(n int, f func(args []*EValue, out *EValue)) prim {
	return prim{n + 1, n, false, func(args []*EValue) func() {
		return func() { f(args[:n], args[n]) }
	}}
}

func (v *EValue) setInt(x int64)      { *v = EValue{Kind: Int, Int: x} }
func (v *EValue) setDouble(x float64) { *v = EValue{Kind: Double, Double: x} }
func (v *EValue) setBool(x bool)      { *v = EValue{Kind: Bool, Bool: x} }

// number returns v as a double if it is an Int or a Double.
func number(v *EValue) (float64, bool) {
	switch v.Kind {
	case Int:
		return float64(v.Int), true
	case Double:
		return v.Double, true
	}
	return 0, false
}

// numbers returns two arguments as doubles.
func numbers(args []*EValue) (a, b float64) {
	a, ok1 := number(args[0])
	b, ok2 := number(args[1])
	if !ok1 || !ok2 {
		panic(badScalars(args))
	}
	return a, b
}

// truthOf returns the first argument, a Bool.
func truthOf(args []*EValue) bool {
	if args[0].Kind != Bool {
		panic(badScalars(args))
	}
	return args[0].Bool
}

func badScalars(args []*EValue) error {
	kinds := make([]Kind, len(args))
	for i, a := range args {
		kinds[i] = a.Kind
	}
	return fmt.Errorf("%w: it does not take %v", ErrInvalidArgument, kinds)
}

func bothAre(args []*EValue, k Kind) bool { return args[0].Kind == k && args[1].Kind == k }

// arithmetic is an operator of two numbers: an Int of two Ints, else a Double.
func arithmetic(ofInts func(a, b int64) int64, ofDoubles func(a, b float64) float64) prim {
	return scalars(2, func(args []*EValue, out *EValue) {
		if bothAre(args, Int) {
			out.setInt(ofInts(args[0].Int, args[1].Int))
			return
		}
		out.setDouble(ofDoubles(numbers(args)))
	})
}

// compare is a comparison of two numbers or two bools. holds is told the sign of
// the first minus the second; where one is NaN nothing holds.
func compare(holds func(c int) bool) prim {
	return scalars(2, func(args []*EValue, out *EValue) {
		switch {
		case bothAre(args, Int):
			out.setBool(holds(cmp.Compare(args[0].Int, args[1].Int)))
		case bothAre(args, Bool):
			out.setBool(holds(cmp.Compare(bit(args[0].Bool), bit(args[1].Bool))))
		default:
			a, b := numbers(args)
			out.setBool(a == a && b == b && holds(cmp.Compare(a, b)))
		}
	})
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ints is an operator of two Ints.
func ints(f func(a, b int64) int64) prim {
	return scalars(2, func(args []*EValue, out *EValue) {
		if !bothAre(args, Int) {
			panic(badScalars(args))
		}
		out.setInt(f(args[0].Int, args[1].Int))
	})
}

func divide(a, b int64) int64 {
	if b == 0 {
		panic(fmt.Errorf("%w: division of %d by zero", ErrInvalidArgument, a))
	}
	return a / b
}

func remainder(a, b int64) int64 {
	if b == 0 {
		panic(fmt.Errorf("%w: remainder of %d by zero", ErrInvalidArgument, a))
	}
	return a % b
}

func floorDiv(a, b int64) int64 {
	q := divide(a, b)
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// floorDivDoubles does as Python does: exact where a floor of the quotient is not.
func floorDivDoubles(a, b float64) float64 {
	if b == 0 {
		return math.Copysign(math.Inf(1), a)
	}
	m := math.Mod(a, b)
	q := (a - m) / b
	if m != 0 && math.Signbit(b) != math.Signbit(m) {
		q--
	}
	return q
}

func negate(args []*EValue, out *EValue) {
	switch a := args[0]; a.Kind {
	case Int:
		out.setInt(-a.Int)
	case Double:
		out.setDouble(-a.Double)
	default:
		panic(badScalars(args))
	}
}

func symFloat(args []*EValue, out *EValue) {
	a, ok := number(args[0])
	if args[0].Kind == Bool {
		a, ok = float64(bit(args[0].Bool)), true
	}
	if !ok {
		panic(badScalars(args))
	}
	out.setDouble(a)
}

func symInt(args []*EValue, out *EValue) {
	switch a := args[0]; a.Kind {
	case Int:
		out.setInt(a.Int)
	case Bool:
		out.setInt(bit(a.Bool))
	case Double:
		out.setRounded(math.Trunc(a.Double))
	default:
		panic(badScalars(args))
	}
}

// setRounded makes v the Int of a double that has no fraction.
func (v *EValue) setRounded(x float64) {
	if !(x >= math.MinInt64 && x < -math.MinInt64) {
		panic(fmt.Errorf("%w: %v is no 64-bit integer", ErrInvalidArgument, x))
	}
	v.setInt(int64(x))
}

func rounding(f func(float64) float64) prim {
	return scalars(1, func(args []*EValue, out *EValue) {
		if args[0].Kind != Double {
			panic(badScalars(args))
		}
		out.setRounded(f(args[0].Double))
	})
}

func symIfThenElse(args []*EValue, out *EValue) {
	chosen := args[2]
	if truthOf(args) {
		chosen = args[1]
	}
	if _, ok := number(chosen); !ok && chosen.Kind != Bool {
		panic(badScalars(args))
	}
	*out = *chosen
}
