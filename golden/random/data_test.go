package random

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// calls is how often a program is called. Dynamic sizes differ between calls;
// state stays.
const calls = 3

// fill returns n elements. What they are follows from the name and the number
// of the call: values called "idx7…" are indices 0 … 6, those in special are as it
// says, other numbers are multiples of 1/8 between -2 and 2, or small integers.
func fill(name string, call int, d ir.DType, n int64) []byte {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d", name, d, n)
	r := rand.New(rand.NewPCG(h.Sum64(), uint64(call)))
	var bound int64
	index, _ := fmt.Sscanf(name, "idx%d", &bound)
	special := specialOf(name)
	var out []byte
	for range n {
		var x float64
		switch {
		case special != nil:
			x = special(r)
		case index == 1 && bound > 0:
			x = float64(r.Int64N(bound))
		case d == ir.Bool:
			x = float64(r.IntN(2))
		case d.IsFloat():
			x = float64(r.IntN(33)-16) / 8
		case d.IsUnsigned():
			x = float64(r.IntN(12))
		default:
			x = float64(r.IntN(17) - 8)
		}
		out = tensor.Append(out, d, x)
	}
	return out
}

// special gives elements of values with such names: what quantised operators
// take.
var special = map[string]func(*rand.Rand) float64{
	"wide":         func(r *rand.Rand) float64 { return float64(r.IntN(256) - 128) },
	"mult":         func(r *rand.Rand) float64 { return float64(1<<30 + r.IntN(1<<30)) },
	"shift":        func(r *rand.Rand) float64 { return float64(2 - r.IntN(13)) },
	"scale":        func(r *rand.Rand) float64 { return 0.01 + float64(r.IntN(997))/31013 },
	"zero":         func(r *rand.Rand) float64 { return float64(r.IntN(9) - 4) },
	"bias5000":     func(r *rand.Rand) float64 { return float64(r.IntN(10001) - 5000) },
	"bias17000000": func(r *rand.Rand) float64 { return float64(r.IntN(34000001) - 17000000) },
}

// specialOf is special for a name with a number behind it that makes it fresh.
func specialOf(name string) func(*rand.Rand) float64 {
	base, _, _ := strings.Cut(name, "_")
	return special[base]
}

// resolve gives constants of which the text form says only a digest their data.
func resolve(p *ir.Program) {
	for _, m := range p.Methods {
		m.Graph.Walk(func(g *ir.Graph) {
			for _, vs := range [][]*ir.Value{g.Inputs, g.Constants} {
				for _, v := range vs {
					if v.Const == nil {
						continue
					}
					if u, ok := v.Const.Data.(ir.Unresolved); ok {
						d := v.Const.Type.DType
						v.Const.Data = ir.Bytes(fill(v.Name, 0, d, u.Length/int64(d.Size())))
					}
				}
			}
		})
	}
}

// sizesOf returns the values of a method's symbols in a call.
func sizesOf(m *ir.Method, call int) map[*sym.Symbol]int64 {
	env := map[*sym.Symbol]int64{}
	for _, s := range m.Symbols {
		lo, hi := s.Expr().Bounds()
		env[s] = []int64{hi, lo, (lo + hi) / 2}[call%3]
	}
	return env
}

// evalSizes returns sizes at run time.
func evalSizes(es []sym.Expr, env map[*sym.Symbol]int64) ([]int64, error) {
	out := make([]int64, len(es))
	for i, e := range es {
		n, err := e.Eval(func(s *sym.Symbol) (int64, bool) { n, ok := env[s]; return n, ok })
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

// callsOf returns the calls to make of a program's methods.
func callsOf(p *ir.Program) ([]way.Call, error) {
	var all []way.Call
	for k, m := range p.Methods {
		for call := range calls {
			c := way.Call{Method: k, Keep: call > 0}
			env := sizesOf(m, call)
			for i, v := range m.Graph.Inputs {
				if m.Inputs[i].Kind != ir.UserInput {
					continue
				}
				sizes, err := evalSizes(v.Type.Sizes, env)
				if err != nil {
					return nil, err
				}
				n, err := tensor.Bytes(v.Type.DType, sizes)
				if err != nil {
					return nil, err
				}
				n /= int64(v.Type.DType.Size())
				c.Inputs = append(c.Inputs, tensor.Value{Tensor: &tensor.Tensor{
					DType: v.Type.DType, Shape: sizes, Data: fill(strings.TrimSpace(v.Name), call,
						v.Type.DType, n)}})
			}
			all = append(all, c)
		}
	}
	return all, nil
}
