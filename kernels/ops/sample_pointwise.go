package ops

import (
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
)

// sampleDTypes are tried in the samples of entries that take several.
var sampleDTypes = []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.BFloat16, ir.Int64, ir.Int32,
	ir.Int16, ir.Int8, ir.Uint8, ir.Bool}

// samples calls an elementwise entry on every dtype it takes, with operands of
// one shape, broadcast ones, numbers and mixed dtypes.
func (e *elementwise) samples(r *Rand, sch *aten.Schema) []Sample {
	variants := e.with
	if len(variants) == 0 {
		variants = [][]any{nil}
	}
	var out []Sample
	for i, d := range sampleDTypes {
		if _, _, ok := e.rule(d); !ok {
			continue
		}
		for j, v := range variants {
			if i >= 2 && len(variants) > 1 && (i+j)%2 == 0 {
				continue // half of the variants for the rarer dtypes
			}
			shape := r.Shape(r.IntN(4))
			out = append(out, e.sample(r, sch, d, shape, v))
		}
	}
	return out
}

func (e *elementwise) sample(r *Rand, sch *aten.Schema, d ir.DType, shape []int64,
	more []any) Sample {
	var args []any
	for i, name := range e.names {
		if given(more, name) {
			continue
		}
		dt, sizes := d, shape
		if i > 0 {
			sizes = r.BroadcastShape(shape)
		}
		if e.loose[i] {
			dt = ir.Bool
		}
		switch p := sch.Args[sch.Index(name)]; {
		case p.Type.Name == "Tensor":
			args = append(args, name, Tensor(dt, e.values.forDType(dt), sizes...))
		case d.IsFloat():
			args = append(args, name, ir.Float(r.IntN(8)+1)/4)
		case d == ir.Bool:
			args = append(args, name, ir.BoolArg(r.IntN(2) == 1))
		default:
			args = append(args, name, ir.Int(r.IntN(5)+1))
		}
	}
	return NewSample(append(args, more...)...)
}

// forDType widens a range that holds no integer.
func (v Values) forDType(d ir.DType) Values {
	if d == ir.Bool {
		return Values{}
	}
	if !d.IsFloat() && (v.Lo != 0 || v.Hi != 0) {
		if d.IsUnsigned() {
			v.Lo = max(v.Lo, 0)
		}
		if v.Hi-v.Lo < 1 {
			v.Hi = v.Lo + 1
		}
	}
	return v
}

func given(args []any, name string) bool {
	for i := 0; i < len(args); i += 2 {
		if args[i] == name {
			return true
		}
	}
	return false
}
