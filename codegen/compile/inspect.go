package compile

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/plan"
)

// Info describes a model.
type Info struct {
	File    string       `json:"file"`
	Methods []MethodInfo `json:"methods"`
	// Weights is the bytes of constants in generated code.
	Weights int64 `json:"weights,omitempty"`
	// Kernels is the number of functions that generated code has for the model.
	Kernels int `json:"kernels,omitempty"`
	// Problems tells why the model cannot be compiled, a line for each; then
	// Weights, Kernels and every Arena are absent.
	Problems []string `json:"problems,omitempty"`
}

// MethodInfo describes a method.
type MethodInfo struct {
	Name       string         `json:"name"`
	Inputs     []PortInfo     `json:"inputs"`
	Outputs    []PortInfo     `json:"outputs"`
	Symbols    []SymbolInfo   `json:"symbols,omitempty"`
	Operators  []OperatorInfo `json:"operators"`
	Parameters TensorsInfo    `json:"parameters"`
	Buffers    TensorsInfo    `json:"buffers"`
	State      TensorsInfo    `json:"state"` // buffers that calls change
	Arena      *ArenaInfo     `json:"arena,omitempty"`
}

// PortInfo describes a user input or output.
type PortInfo struct {
	Name    string `json:"name"`
	Type    string `json:"type"` // text form, "f32[s0, 8]"
	Value   string `json:"value,omitempty"`
	Mutated bool   `json:"mutated,omitempty"`
}

// SymbolInfo describes a dynamic size.
type SymbolInfo struct {
	Name string `json:"name"`
	Min  int64  `json:"min"`
	Max  *int64 `json:"max,omitempty"` // absent: unbounded
}

// OperatorInfo counts the calls of an operator, regions included.
type OperatorInfo struct {
	Name      string   `json:"name"`
	Count     int      `json:"count"`
	DTypes    []string `json:"dtypes"` // of its results, sorted
	Supported bool     `json:"supported"`
}

// TensorsInfo counts tensors.
type TensorsInfo struct {
	Count    int   `json:"count"`
	Elements int64 `json:"elements"`
	Bytes    int64 `json:"bytes"`
}

// ArenaInfo describes a method's working memory.
type ArenaInfo struct {
	Bytes      int64 `json:"bytes"`
	Align      int64 `json:"align"`
	LowerBound int64 `json:"lower_bound"` // no plan of the same buffers can be smaller
}

// Inspect describes p, which it lowers.
func Inspect(p *ir.Program, opt Options) (*Info, error) {
	info := &Info{File: p.Source}
	table := ops.Standard()
	for _, m := range p.Methods {
		info.Methods = append(info.Methods, describe(table, m))
	}
	np, err := Native(p, opt)
	if err != nil {
		info.Problems = strings.Split(strings.TrimRight(err.Error(), "\n"), "\n")
		return info, nil
	}
	info.Weights = codegen.LayOut(np).Size
	info.Kernels = len(np.Kernels)
	for i, m := range np.Methods {
		report, err := plan.NewReport(m.Problem, m.Plan)
		if err != nil {
			return nil, err
		}
		arena := &ArenaInfo{Bytes: report.Size, LowerBound: report.LowerBound}
		for _, mem := range m.Plan.Memories {
			arena.Align = max(arena.Align, mem.Align)
		}
		info.Methods[i].Arena = arena
	}
	return info, nil
}

func describe(table *ops.Table, m *ir.Method) MethodInfo {
	info := MethodInfo{Name: m.Name, Inputs: []PortInfo{}, Outputs: []PortInfo{}, Operators: operators(table, m.Graph)}
	mutated := map[string]bool{}
	for i, spec := range m.Outputs {
		if spec.Kind != ir.UserOutput {
			mutated[spec.Target] = true
			continue
		}
		out := PortInfo{Name: fmt.Sprintf("out%d", len(info.Outputs))}
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
			info.Inputs = append(info.Inputs, PortInfo{Name: v.Name, Type: v.Type.String(), Mutated: mutated[v.Name]})
		case ir.ConstantInput:
			info.Inputs = append(info.Inputs, PortInfo{Name: v.Name, Value: ir.ArgString(spec.Fixed)})
		case ir.Parameter:
			info.Parameters.add(v.Type)
		case ir.Buffer, ir.TensorConstant:
			info.Buffers.add(v.Type)
			if mutated[spec.Target] {
				info.State.add(v.Type)
			}
		}
	}
	for _, s := range m.Symbols {
		info.Symbols = append(info.Symbols, symbolInfo(s))
	}
	return info
}

func symbolInfo(s *sym.Symbol) SymbolInfo {
	lo, hi := s.Expr().Bounds()
	info := SymbolInfo{Name: s.Name, Min: lo}
	if hi != math.MaxInt64 {
		info.Max = &hi
	}
	return info
}

func (t *TensorsInfo) add(typ ir.Type) {
	t.Count++
	if n, ok := typ.Numel().Const(); ok {
		t.Elements += n
		t.Bytes += n * int64(typ.DType.Size())
	}
}

// operators counts the operators of g and its regions, sorted by name.
func operators(table *ops.Table, g *ir.Graph) []OperatorInfo {
	byName := map[string]*OperatorInfo{}
	g.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			o := byName[n.Op]
			if o == nil {
				_, known := table.Lookup(n.Op)
				o = &OperatorInfo{Name: n.Op, DTypes: []string{}, Supported: known || len(n.Regions) > 0}
				byName[n.Op] = o
			}
			o.Count++
			for _, v := range n.Outputs {
				if v != nil && v.Type.Kind == ir.TensorKind && !slices.Contains(o.DTypes, v.Type.DType.String()) {
					o.DTypes = append(o.DTypes, v.Type.DType.String())
				}
			}
		}
	})
	list := []OperatorInfo{}
	for _, o := range byName {
		slices.Sort(o.DTypes)
		list = append(list, *o)
	}
	slices.SortFunc(list, func(a, b OperatorInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}
