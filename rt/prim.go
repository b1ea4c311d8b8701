package rt

import (
	"fmt"
	"math"
)

// prim is an operator of the runtime itself. Calls of these carry no second slot
// for the result: it is the last argument, or the one that is changed in place.
type prim struct {
	args    int
	writes  int  // index of the argument that is written
	tensor  bool // which is a tensor
	prepare func(*Call) (func() error, error)
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

	"executorch_prim::eq.Scalar": compare(func(c int, ordered bool) bool {
		return ordered && c == 0
	}),
	"executorch_prim::gt.Scalar": compare(func(c int, ordered bool) bool {
		return ordered && c > 0
	}),
	"executorch_prim::lt.Scalar": compare(func(c int, ordered bool) bool {
		return ordered && c < 0
	}),
	"executorch_prim::ge.Scalar": compare(func(c int, ordered bool) bool {
		return ordered && c >= 0
	}),
	"executorch_prim::le.Scalar": compare(func(c int, ordered bool) bool {
		return ordered && c <= 0
	}),

	"executorch_prim::floordiv.Scalar": scalars(2, floorDiv),
	"executorch_prim::truediv.Scalar":  scalars(2, trueDiv),
	"executorch_prim::floordiv.int":    ints(divide),
	"executorch_prim::mod.int":         ints(remainder),
	"executorch_prim::mod.Scalar":      ints(remainder),
	"executorch_prim::sym_max.Scalar": ints(func(a, b int64) (int64, error) {
		return max(a, b), nil
	}),
	"executorch_prim::sym_min.Scalar": ints(func(a, b int64) (int64, error) {
		return min(a, b), nil
	}),

	"executorch_prim::neg.Scalar":       scalars(1, negate),
	"executorch_prim::sym_float.Scalar": scalars(1, symFloat),
	"executorch_prim::sym_int.Scalar":   scalars(1, symInt),
	"executorch_prim::sym_not.Scalar":   scalars(1, symNot),
	"executorch_prim::sym_ite.Scalar":   scalars(3, symIfThenElse),
	"executorch_prim::ceil.Scalar":      rounding(math.Ceil),
	"executorch_prim::trunc.Scalar":     rounding(math.Trunc),
	"executorch_prim::round.Scalar":     rounding(math.RoundToEven),

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
func scalars(n int, f func(args []*EValue, out *EValue) error) prim {
	return prim{n + 1, n, false, func(c *Call) (func() error, error) {
		args, out := c.Args[:n], c.Args[n]
		return func() error { return f(args, out) }, nil
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
func numbers(args []*EValue) (a, b float64, err error) {
	a, ok1 := number(args[0])
	b, ok2 := number(args[1])
	if !ok1 || !ok2 {
		return 0, 0, badScalars(args)
	}
	return a, b, nil
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
	return scalars(2, func(args []*EValue, out *EValue) error {
		if bothAre(args, Int) {
			out.setInt(ofInts(args[0].Int, args[1].Int))
			return nil
		}
		a, b, err := numbers(args)
		if err != nil {
			return err
		}
		out.setDouble(ofDoubles(a, b))
		return nil
	})
}

// compare is a comparison of two numbers or two bools. holds is told the sign of
// the first minus the second, and whether they are ordered (neither is NaN).
func compare(holds func(c int, ordered bool) bool) prim {
	return scalars(2, func(args []*EValue, out *EValue) error {
		switch {
		case bothAre(args, Int):
			out.setBool(holds(sign(args[0].Int, args[1].Int), true))
		case bothAre(args, Bool):
			out.setBool(holds(sign(bit(args[0].Bool), bit(args[1].Bool)), true))
		default:
			a, b, err := numbers(args)
			if err != nil {
				return err
			}
			out.setBool(holds(sign(a, b), a == a && b == b))
		}
		return nil
	})
}

func sign[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ints is an operator of two Ints.
func ints(f func(a, b int64) (int64, error)) prim {
	return scalars(2, func(args []*EValue, out *EValue) error {
		if !bothAre(args, Int) {
			return badScalars(args)
		}
		x, err := f(args[0].Int, args[1].Int)
		if err == nil {
			out.setInt(x)
		}
		return err
	})
}

func divide(a, b int64) (int64, error) {
	if b == 0 {
		return 0, fmt.Errorf("%w: division of %d by zero", ErrInvalidArgument, a)
	}
	return a / b, nil
}

func remainder(a, b int64) (int64, error) {
	if b == 0 {
		return 0, fmt.Errorf("%w: remainder of %d by zero", ErrInvalidArgument, a)
	}
	return a % b, nil
}

func floorDiv(args []*EValue, out *EValue) error {
	if bothAre(args, Int) {
		a, b := args[0].Int, args[1].Int
		q, err := divide(a, b)
		if err != nil {
			return err
		}
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		out.setInt(q)
		return nil
	}
	a, b, err := numbers(args)
	if err != nil {
		return err
	}
	if b == 0 {
		out.setDouble(math.Copysign(math.Inf(1), a))
		return nil
	}
	// As Python does: exact where a floor of the quotient is not.
	m := math.Mod(a, b)
	q := (a - m) / b
	if m != 0 && math.Signbit(b) != math.Signbit(m) {
		q--
	}
	out.setDouble(q)
	return nil
}

func trueDiv(args []*EValue, out *EValue) error {
	a, b, err := numbers(args)
	if err == nil {
		out.setDouble(a / b)
	}
	return err
}

func negate(args []*EValue, out *EValue) error {
	switch a := args[0]; a.Kind {
	case Int:
		out.setInt(-a.Int)
	case Double:
		out.setDouble(-a.Double)
	default:
		return badScalars(args)
	}
	return nil
}

func symFloat(args []*EValue, out *EValue) error {
	a, ok := number(args[0])
	if args[0].Kind == Bool {
		a, ok = float64(bit(args[0].Bool)), true
	}
	if !ok {
		return badScalars(args)
	}
	out.setDouble(a)
	return nil
}

func symInt(args []*EValue, out *EValue) error {
	switch a := args[0]; a.Kind {
	case Int:
		out.setInt(a.Int)
	case Bool:
		out.setInt(bit(a.Bool))
	case Double:
		return out.setRounded(math.Trunc(a.Double))
	default:
		return badScalars(args)
	}
	return nil
}

// setRounded makes v the Int of a double that has no fraction.
func (v *EValue) setRounded(x float64) error {
	if !(x >= math.MinInt64 && x < -math.MinInt64) {
		return fmt.Errorf("%w: %v is no 64-bit integer", ErrInvalidArgument, x)
	}
	v.setInt(int64(x))
	return nil
}

func rounding(f func(float64) float64) prim {
	return scalars(1, func(args []*EValue, out *EValue) error {
		if args[0].Kind != Double {
			return badScalars(args)
		}
		return out.setRounded(f(args[0].Double))
	})
}

func symNot(args []*EValue, out *EValue) error {
	if args[0].Kind != Bool {
		return badScalars(args)
	}
	out.setBool(!args[0].Bool)
	return nil
}

func symIfThenElse(args []*EValue, out *EValue) error {
	if args[0].Kind != Bool {
		return badScalars(args)
	}
	chosen := args[2]
	if args[0].Bool {
		chosen = args[1]
	}
	switch chosen.Kind {
	case Int, Double, Bool:
		*out = *chosen
		return nil
	}
	return badScalars(args)
}
