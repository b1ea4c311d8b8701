package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// Graph describes a program and what generated code of it takes. It lowers p.
func Graph(p *ir.Program, opt compile.Options) (_ *Info, err error) {
	defer must.Catch(&err)
	info := &Info{File: p.Source, Format: "exported program"}
	table := ops.Standard()
	for _, m := range p.Methods {
		info.Methods = append(info.Methods, describe(table, m))
	}
	// by method: what calls change, as far as passes have found out
	changed := map[string]map[string]bool{}
	opt.After = func(_ lower.Pass, p *ir.Program) error {
		for _, m := range p.Methods {
			changed[m.Name] = mutated(m)
		}
		return nil
	}
	np, err := compile.Native(p, opt)
	for i := range info.Methods {
		info.Methods[i].change(changed[info.Methods[i].Name])
	}
	if err != nil {
		info.Problems = strings.Split(strings.TrimRight(err.Error(), "\n"), "\n")
		return info, nil
	}
	info.Weights = codegen.LayOut(np).Size
	info.Kernels = len(np.Kernels)
	for i, m := range np.Methods {
		info.Methods[i].Memory = newMemory(m.Problem, m.Plan, nil, 0)
	}
	return info, nil
}

func describe(table *ops.Table, m *ir.Method) Method {
	info := Method{Name: m.Name, Inputs: []Port{}, Outputs: []Port{},
		Operators: operators(table, m.Graph)}
	for i, spec := range m.Outputs {
		if spec.Kind != ir.UserOutput {
			continue
		}
		out := Port{Name: fmt.Sprintf("out%d", len(info.Outputs))}
		if ref, ok := m.Graph.Outputs[i].(ir.Ref); ok {
			out.Type = ref.Value.Type.String()
		} else {
			out.Value = ir.ArgString(m.Graph.Outputs[i])
		}
		info.Outputs = append(info.Outputs, out)
	}
	for i, v := range m.Graph.Inputs {
		switch spec := m.Inputs[i]; spec.Kind {
		case ir.UserInput:
			info.Inputs = append(info.Inputs, Port{Name: v.Name, Type: v.Type.String()})
		case ir.ConstantInput:
			info.Inputs = append(info.Inputs, Port{Name: v.Name, Value: ir.ArgString(spec.Fixed)})
		case ir.Parameter, ir.Buffer, ir.TensorConstant:
			info.Constants = append(info.Constants, Tensor{
				Name: spec.Target, Type: v.Type.String(), Bytes: bytesOf(v.Type),
				Kind: kinds[spec.Kind], User: firstUser(m.Graph, v),
			})
		}
	}
	largestFirst(info.Constants)
	for _, s := range m.Symbols {
		info.Symbols = append(info.Symbols, symbol(s))
	}
	return info
}

// mutated returns the buffers and inputs that a method changes.
func mutated(m *ir.Method) map[string]bool {
	targets := map[string]bool{}
	for _, spec := range m.Outputs {
		if spec.Kind != ir.UserOutput {
			targets[spec.Target] = true
		}
	}
	return targets
}

// change notes that calls change the targets.
func (info *Method) change(targets map[string]bool) {
	for i := range info.Inputs {
		info.Inputs[i].Mutated = targets[info.Inputs[i].Name]
	}
	var constants []Tensor
	for _, t := range info.Constants {
		if targets[t.Name] {
			info.State = append(info.State, t)
		} else {
			constants = append(constants, t)
		}
	}
	info.Constants = constants
}

func symbol(s *sym.Symbol) Symbol {
	lo, hi := s.Expr().Bounds()
	info := Symbol{Name: s.Name, Min: lo}
	if hi != math.MaxInt64 {
		info.Max = &hi
	}
	return info
}

// kinds are what a method's constants are called.
var kinds = map[ir.InputKind]string{ir.Parameter: "parameter", ir.Buffer: "buffer",
	ir.TensorConstant: "constant"}

func bytesOf(t ir.Type) int64 {
	n, _ := t.Numel().Const()
	return n * int64(t.DType.Size())
}

// largestFirst sorts tensors by bytes, equal ones as they are.
func largestFirst(tensors []Tensor) {
	seq.Sort(tensors, func(a, b Tensor) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

// firstUser returns the first operator that takes v, and as which argument.
func firstUser(g *ir.Graph, v *ir.Value) string {
	user := ""
	g.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			for _, a := range n.Args {
				ir.EachRef(a.Value, func(x *ir.Value) {
					if x == v && user == "" {
						user = strings.TrimSpace(n.Op + " " + a.Name)
					}
				})
			}
		}
	})
	return user
}

// operators counts the operators of g and its regions.
func operators(table *ops.Table, g *ir.Graph) []Operator {
	all := tally{}
	g.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			var dtypes []string
			for _, v := range n.Outputs {
				if v != nil && v.Type.Kind == ir.TensorKind {
					dtypes = append(dtypes, v.Type.DType.String())
				}
			}
			if o := all.count(n.Op, dtypes); o.Count == 1 {
				_, known := table.Lookup(n.Op)
				o.Supported = known || len(n.Regions) > 0
			}
		}
	})
	return all.list()
}

// tally counts operators by name.
type tally map[string]*Operator

// count counts a call, whose results are of some dtypes.
func (t tally) count(name string, dtypes []string) *Operator {
	o := t[name]
	if o == nil {
		o = &Operator{Name: name, DTypes: []string{}}
		t[name] = o
	}
	o.Count++
	for _, d := range dtypes {
		if !slices.Contains(o.DTypes, d) {
			o.DTypes = append(o.DTypes, d)
		}
	}
	return o
}

// list returns the operators, sorted by name.
func (t tally) list() []Operator {
	list := []Operator{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		slices.Sort(t[name].DTypes)
		list = append(list, *t[name])
	}
	return list
}
