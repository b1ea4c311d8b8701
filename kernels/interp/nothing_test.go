package interp

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// A call with a size or a number of 0 is refused, or its forms are defined and
// agree: results without elements are made of no index that has no value.
func TestNothing(t *testing.T) {
	eachSample(t, withNothing)
}

// A call with a size that may be 0 is refused, or reads no element of what has none.
func TestMaybeNothing(t *testing.T) {
	eachSample(t, maybeNothing)
}

// eachSample checks variants of the samples of every entry.
func eachSample(t *testing.T, variants func(samples.Sample) []variant) {
	tier.Needs(t, tier.Normal)
	table := ops.Standard()
	total := 0
	for _, name := range table.Names() {
		op, _ := table.Lookup(name)
		t.Run(name, func(t *testing.T) {
			r := samples.NewRand(1)
			all := samples.Of(op, r)
			for i, s := range all[:min(len(all), 3)] {
				for _, v := range variants(s) {
					if _, err := table.Bind(v.Node(op)); err != nil {
						continue
					}
					total++
					var refused *ops.CallError
					if err := checkSample(table, op, v, r); err != nil &&
						!errors.As(err, &refused) && !errors.Is(err, ErrAssert) {
						t.Errorf("sample %d (%s): %v", i, sampleArgs(v.Sample), err)
					}
				}
			}
		})
	}
	if total < 1000 {
		t.Errorf("only %d calls", total)
	}
	t.Log(total)
}

// variant is a sample whose inputs have other types than the values they are made as.
type variant struct {
	samples.Sample
	given []samples.Input // parallel to Inputs; nil: Inputs themselves
}

// resized returns s with inputs of other sizes.
func resized(s samples.Sample, size func(input, dim int, n sym.Expr) sym.Expr) samples.Sample {
	out := samples.Sample{Inputs: slices.Clone(s.Inputs), Args: slices.Clone(s.Args)}
	for i, in := range s.Inputs {
		v := *in.Value
		v.Type.Sizes = slices.Clone(v.Type.Sizes)
		for d, n := range v.Type.Sizes {
			v.Type.Sizes[d] = size(i, d, n)
		}
		if v.Type.Kind == ir.TensorKind {
			v.Type = ir.TensorOf(v.Type.DType, v.Type.Sizes...)
		}
		out.Inputs[i].Value = &v
		for k := range out.Args {
			out.Args[k].Value = replace(out.Args[k].Value, in.Value, &v)
		}
	}
	return out
}

// withNothing returns s with a 0 in place of each size and of each integer but the
// numbers of dimensions.
func withNothing(s samples.Sample) (all []variant) {
	for i, in := range s.Inputs {
		for d := range in.Value.Type.Sizes {
			all = append(all, variant{Sample: resized(s, func(input, dim int, n sym.Expr) sym.Expr {
				if input == i && dim == d {
					return sym.Int(0)
				}
				return n
			})})
		}
	}
	for i, a := range s.Args {
		for _, v := range zeros(a.Value) {
			if a.Name == "dim" {
				continue
			}
			z := samples.Sample{Inputs: s.Inputs, Args: slices.Clone(s.Args)}
			z.Args[i].Value = v
			all = append(all, variant{Sample: z})
		}
	}
	return all
}

// maybeNothing returns s with a symbol in place of all sizes that are equal, which
// is 0 and 1.
func maybeNothing(s samples.Sample) (all []variant) {
	old := map[int64]bool{}
	for _, in := range s.Inputs {
		for _, e := range in.Value.Type.Sizes {
			n, _ := e.Const()
			old[n] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(old)) {
		symbol := sym.NewSymbol("s0", 0, max(n, 2))
		to := func(e sym.Expr) func(int, int, sym.Expr) sym.Expr {
			return func(_, _ int, x sym.Expr) sym.Expr {
				if x.Equal(sym.Int(n)) {
					return e
				}
				return x
			}
		}
		for _, k := range []int64{0, 1} {
			all = append(all, variant{resized(s, to(symbol.Expr())),
				resized(s, to(sym.Int(k))).Inputs})
		}
	}
	return all
}

func replace(a ir.Arg, old, by *ir.Value) ir.Arg {
	switch a := a.(type) {
	case ir.Ref:
		if a.Value == old {
			return ir.Ref{Value: by}
		}
	case ir.List:
		out := make(ir.List, len(a))
		for i, e := range a {
			out[i] = replace(e, old, by)
		}
		return out
	}
	return a
}

func zeros(a ir.Arg) (all []ir.Arg) {
	switch a := a.(type) {
	case ir.Int:
		if a != 0 {
			return []ir.Arg{ir.Int(0)}
		}
	case ir.List:
		for i, e := range a {
			for _, z := range zeros(e) {
				out := slices.Clone(a)
				out[i] = z
				all = append(all, out)
			}
		}
	}
	return all
}
