package ops

import (
	"github.com/etgen/etgen/ir"
)

// defaultFloat is torch.get_default_dtype() at export.
const defaultFloat = ir.Float32

// rank orders the dtypes that PyTorch promotes by taking the higher one.
// Float16 and BFloat16 meet in Float32, uint8 with a signed type in one that
// holds both.
var rank = map[ir.DType]int{
	ir.Bool: 1, ir.Uint8: 2, ir.Int8: 2, ir.Uint16: 3, ir.Int16: 3, ir.Uint32: 4, ir.Int32: 4,
	ir.Uint64: 5, ir.Int64: 5,
	ir.Float16: 6, ir.BFloat16: 6, ir.Float32: 7, ir.Float64: 8,
	ir.Complex32: 9, ir.Complex64: 10, ir.Complex128: 11,
}

// promoteTypes is torch.promote_types; ok is false where it raises. An invalid
// dtype promotes to the other.
func promoteTypes(a, b ir.DType) (d ir.DType, ok bool) {
	if a == b || b == ir.InvalidDType {
		return a, true
	}
	if a == ir.InvalidDType {
		return b, true
	}
	ra, rb := rank[a], rank[b]
	if ra == 0 || rb == 0 {
		return ir.InvalidDType, false // the 8-bit floats
	}
	if ra > rb || ra == rb && b.IsUnsigned() {
		a, b, ra, rb = b, a, rb, ra
	}
	switch { // b is the higher one, or the signed one of equal size
	case ra == rb && a.IsFloat():
		return ir.Float32, true
	case b.IsComplex():
		if (a == ir.Float64) || b == ir.Complex32 && a == ir.Float32 || b == ir.Complex32 &&
			a == ir.BFloat16 {
			return promoteTypes(complexOf(a), b)
		}
	case a.IsInt() && b.IsInt() && a.IsUnsigned() != b.IsUnsigned():
		if a != ir.Uint8 && b != ir.Uint8 {
			return ir.InvalidDType, false // PyTorch does not mix these
		}
		if b.IsUnsigned() { // int8 with uint16 and wider
			return ir.InvalidDType, false
		}
		if ra == rb {
			return ir.Int16, true
		}
	}
	return b, true
}

// complexOf returns the complex dtype whose parts are d.
func complexOf(d ir.DType) ir.DType {
	switch d {
	case ir.Float16:
		return ir.Complex32
	case ir.Float64:
		return ir.Complex128
	}
	return ir.Complex64
}

// opmath returns the dtype in which PyTorch computes on d: Float32 for the
// narrow floats, which are rounded once at the end of an operator.
func opmath(d ir.DType) ir.DType {
	switch d {
	case ir.Float16, ir.BFloat16, ir.Float8E4M3FN, ir.Float8E5M2, ir.Float8E4M3FNUZ,
		ir.Float8E5M2FNUZ, ir.Float8E8M0FNU:
		return ir.Float32
	}
	return d
}

// promotion is torch.result_type under way: tensors with dimensions outweigh
// tensors without, and those outweigh Python numbers, unless the category
// (bool, integer, float, complex) of the lighter one is higher.
type promotion struct {
	dims, zero, wrapped ir.DType
	bad                 bool
}

func (p *promotion) add(to *ir.DType, d ir.DType) {
	r, ok := promoteTypes(*to, d)
	if !ok {
		p.bad = true
	}
	*to = r
}

func (p *promotion) tensor(t ir.Type) {
	if t.Rank() > 0 {
		p.add(&p.dims, t.DType)
	} else {
		p.add(&p.zero, t.DType)
	}
}

func (p *promotion) number(d ir.DType) { p.add(&p.wrapped, d) }

func (p *promotion) result() (ir.DType, bool) {
	d, ok := combineCategories(p.zero, p.wrapped)
	if ok {
		d, ok = combineCategories(p.dims, d)
	}
	return d, ok && !p.bad
}

func combineCategories(higher, lower ir.DType) (ir.DType, bool) {
	switch {
	case higher.IsComplex():
		return higher, true
	case higher.IsFloat():
		if lower.IsComplex() {
			return complexOf(higher), true
		}
		return higher, true
	case higher == ir.Bool || lower.IsFloat() || lower.IsComplex():
		return promoteTypes(higher, lower)
	case higher != ir.InvalidDType:
		return higher, true
	}
	return lower, true
}

// numberDType returns the dtype a Python number has as a tensor.
func numberDType(a ir.Arg) ir.DType {
	switch a := a.(type) {
	case ir.BoolArg:
		return ir.Bool
	case ir.Int:
		return ir.Int64
	case ir.Float:
		return defaultFloat
	case ir.Complex:
		return complexOf(defaultFloat)
	case ir.Ref:
		switch a.Value.Type.Kind {
		case ir.BoolKind:
			return ir.Bool
		case ir.IntKind:
			return ir.Int64
		case ir.FloatKind:
			return defaultFloat
		}
	}
	return ir.InvalidDType
}

// Promote returns the common dtype of arguments, which are tensors or numbers;
// absent ones do not count.
func (c *Call) Promote(names ...string) (ir.DType, error) {
	var p promotion
	for _, name := range names {
		c.promoteArg(&p, c.Arg(name))
	}
	d, ok := p.result()
	if !ok {
		return d, c.Errorf("the dtypes of its arguments do not promote to a common one")
	}
	return d, nil
}

func (c *Call) promoteArg(p *promotion, a ir.Arg) {
	switch a := a.(type) {
	case ir.None:
	case ir.List:
		for _, x := range a {
			c.promoteArg(p, x)
		}
	case ir.Ref:
		if a.Value.Type.Kind == ir.TensorKind {
			p.tensor(a.Value.Type)
			return
		}
		p.number(numberDType(a))
	default:
		p.number(numberDType(a))
	}
}
