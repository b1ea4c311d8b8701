package inspect

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/half"
	"github.com/etgen/etgen/kernels/ops"
)

// Difference is how two programs differ, A from B.
type Difference struct {
	A       string             `json:"a"` // the files
	B       string             `json:"b"`
	Dialect string             `json:"dialect"` // in which the graphs are compared
	Figures []Figure           `json:"figures"`
	Methods []MethodDifference `json:"methods"`
}

// Figure is a number of both programs: a size in bytes, or a count.
type Figure struct {
	Name string `json:"name"`
	A    int64  `json:"a"`
	B    int64  `json:"b"`
}

// MethodDifference is how a method differs.
type MethodDifference struct {
	Name      string           `json:"name"`
	Only      string           `json:"only,omitempty"` // "a" or "b" if the other has no such method
	Ports     []Change         `json:"inputs_and_outputs,omitempty"`
	Operators []Figure         `json:"operators,omitempty"` // that are called another number of times
	Constants []ConstantChange `json:"constants,omitempty"`
	// Nodes are those of both graphs in order, with "-" those of A alone, with "+" those of B. What
	// a node is called makes no difference.
	Nodes []NodeLine `json:"nodes,omitempty"`
}

// Change is what something is in A, and in B; "" if it is not there.
type Change struct {
	Name string `json:"name"`
	A    string `json:"a,omitempty"`
	B    string `json:"b,omitempty"`
}

// ConstantChange is how a constant differs.
type ConstantChange struct {
	Change
	Elements int64   `json:"elements,omitempty"` // of both, if their types are the same
	Differ   int64   `json:"differ,omitempty"`   // elements that do
	Largest  float64 `json:"largest,omitempty"`  // difference; of floats
}

// NodeLine is a node of the graphs.
type NodeLine struct {
	Mark string `json:"mark"` // " ", "-", "+"
	Text string `json:"text"`
}

// None reports whether there is no difference.
func (d *Difference) None() bool {
	return !slices.ContainsFunc(d.Figures, func(f Figure) bool { return f.A != f.B }) &&
		!slices.ContainsFunc(d.Methods, func(m MethodDifference) bool { return m.changed() })
}

// changed reports whether the method is not the same in both.
func (m *MethodDifference) changed() bool {
	return m.Only != "" || len(m.Ports)+len(m.Operators)+len(m.Constants) > 0 ||
		slices.ContainsFunc(m.Nodes, func(l NodeLine) bool { return l.Mark != " " })
}

// Diff compares two model files: signatures, operators, constants and graphs, and what C that is
// compiled of them takes. Exported programs are compared as they are; with an ExecuTorch program,
// both are brought to the Edge dialect.
func Diff(a, b string, opt compile.Options) (_ *Difference, err error) {
	defer must.Catch(&err)
	d := &Difference{A: a, B: b, Dialect: string(ir.Functional)}
	if compile.FormatOf(a) != "" || compile.FormatOf(b) != "" {
		d.Dialect = string(ir.Edge)
	}
	opt.To = ir.Dialect(d.Dialect)
	pa, closeA := must.Get2(opt.Read(a))
	defer closeA.Close()
	pb, closeB := must.Get2(opt.Read(b))
	defer closeB.Close()
	var figures [2][]Figure
	for i, p := range []*ir.Program{pa, pb} {
		figures[i] = figuresOf(ir.Clone(p), opt)
		must.Check(compile.Lower(p, opt))
	}
	for i, f := range figures[0] {
		d.Figures = append(d.Figures, Figure{f.Name, f.A, figures[1][i].A})
	}
	table := must.Get(ops.Of(pb))
	of := seq.KeyBy(pb.Methods, func(m *ir.Method) string { return m.Name })
	for _, m := range pa.Methods {
		if of[m.Name] == nil {
			d.Methods = append(d.Methods, MethodDifference{Name: m.Name, Only: "a"})
			continue
		}
		d.Methods = append(d.Methods, diffMethods(table, m, of[m.Name]))
		delete(of, m.Name)
	}
	for _, m := range pb.Methods {
		if of[m.Name] != nil {
			d.Methods = append(d.Methods, MethodDifference{Name: m.Name, Only: "b"})
		}
	}
	return d, nil
}

// figuresOf are those of p: what C takes, 0 if it cannot be compiled, and multiply-accumulates of
// sizes that are known.
func figuresOf(p *ir.Program, opt compile.Options) []Figure {
	opt.To, opt.Lang = "", "c"
	macs, arena, weights := int64(0), int64(0), int64(0)
	table, err := ops.Of(p)
	for _, m := range p.Methods {
		for n := range m.Graph.All() {
			if err != nil || len(n.Regions) > 0 {
				continue
			}
			if e, err := ops.MACs(table, n); err == nil {
				k, _ := e.Const()
				macs += k
			}
		}
	}
	if info, err := Graph(p, opt); err == nil {
		weights = info.Weights
		for _, m := range info.Methods {
			if m.Memory != nil {
				arena = max(arena, m.Memory.Bytes)
			}
		}
	}
	return []Figure{{Name: "multiply-accumulates", A: macs}, {Name: "weights", A: weights},
		{Name: "arena", A: arena}}
}

func diffMethods(table *ops.Table, a, b *ir.Method) MethodDifference {
	d := MethodDifference{Name: a.Name, Ports: diffPorts(a, b), Constants: diffConstants(a, b),
		Nodes: diffLines(nodeLines(table, a), nodeLines(table, b))}
	count := map[string]*Figure{}
	for i, m := range []*ir.Method{a, b} {
		for n := range m.Graph.All() {
			f := count[n.Op]
			if f == nil {
				f = &Figure{Name: n.Op}
				count[n.Op] = f
			}
			if i == 0 {
				f.A++
			} else {
				f.B++
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if f := count[name]; f.A != f.B {
			d.Operators = append(d.Operators, *f)
		}
	}
	return d
}

// diffPorts compares user inputs and outputs by their positions.
func diffPorts(a, b *ir.Method) (list []Change) {
	ports := func(m *ir.Method) (in, out []string) {
		for i, v := range m.Graph.Inputs {
			if m.Inputs[i].Kind == ir.UserInput {
				in = append(in, v.Type.String())
			}
		}
		for i, o := range m.Graph.Outputs {
			if m.Outputs[i].Kind != ir.UserOutput {
				continue
			}
			text := ir.ArgString(o)
			if ref, ok := o.(ir.Ref); ok {
				text = ref.Value.Type.String()
			}
			out = append(out, text)
		}
		return in, out
	}
	inA, outA := ports(a)
	inB, outB := ports(b)
	for _, side := range []struct {
		name string
		a, b []string
	}{{"input", inA, inB}, {"output", outA, outB}} {
		at := func(list []string, i int) string {
			if i < len(list) {
				return list[i]
			}
			return ""
		}
		for i := range max(len(side.a), len(side.b)) {
			if x, y := at(side.a, i), at(side.b, i); x != y {
				list = append(list, Change{fmt.Sprintf("%s %d", side.name, i), x, y})
			}
		}
	}
	return list
}

// constantsOf are those that a method uses, by their names.
func constantsOf(m *ir.Method) (names []string, of map[string]*ir.Constant) {
	of = map[string]*ir.Constant{}
	used := ir.Uses(m.Graph)
	add := func(name string, v *ir.Value) {
		if v.Const == nil {
			return
		}
		c := *v.Const
		c.Type = v.Type
		if used[v] == 0 {
			return
		}
		name = cmp.Or(name, c.Name, v.Name)
		names, of[name] = append(names, name), &c
	}
	for i, v := range m.Graph.Inputs {
		add(m.Inputs[i].Target, v)
	}
	m.Graph.Walk(func(g *ir.Graph) {
		for _, v := range g.Constants {
			add("", v)
		}
	})
	return names, of
}

func diffConstants(a, b *ir.Method) (list []ConstantChange) {
	namesA, inA := constantsOf(a)
	namesB, inB := constantsOf(b)
	alike := map[string]int{} // constants of A that have another name in B, by type and elements
	key := func(c *ir.Constant) string { return typeText(c.Type) + string(must.Get(ir.Tensor(c))) }
	for _, name := range namesB {
		if inA[name] == nil {
			alike[key(inB[name])]++
		}
	}
	renamed := map[string]int{}
	for _, name := range namesA {
		x, y := inA[name], inB[name]
		if y == nil {
			if k := key(x); alike[k] > 0 {
				alike[k]--
				renamed[k]++
				continue
			}
			list = append(list, ConstantChange{Change: Change{Name: name, A: typeText(x.Type)}})
			continue
		}
		if d := diffConstant(name, x, y); d != nil {
			list = append(list, *d)
		}
	}
	for _, name := range namesB {
		if inA[name] == nil {
			if k := key(inB[name]); renamed[k] > 0 {
				renamed[k]--
				continue
			}
			list = append(list, ConstantChange{Change: Change{Name: name, B: typeText(inB[name].Type)}})
		}
	}
	return list
}

// diffConstant compares two constants, nil if they are the same.
func diffConstant(name string, a, b *ir.Constant) *ConstantChange {
	d := &ConstantChange{Change: Change{name, typeText(a.Type), typeText(b.Type)}}
	if d.A != d.B {
		return d
	}
	x, y := must.Get(ir.Tensor(a)), must.Get(ir.Tensor(b))
	if bytes.Equal(x, y) {
		return nil
	}
	size := a.Type.DType.Size()
	for i := 0; i+size <= min(len(x), len(y)); i += size {
		d.Elements++
		if bytes.Equal(x[i:i+size], y[i:i+size]) {
			continue
		}
		d.Differ++
		if f := math.Abs(floatOf(a.Type.DType, x[i:]) - floatOf(a.Type.DType, y[i:])); f > d.Largest {
			d.Largest = f
		}
	}
	return d
}

// typeText is a type without its strides: elements are compared where they are.
func typeText(t ir.Type) string { return t.Dense().String() }

// floatOf is the first element of data, 0 if it is not of a float dtype.
func floatOf(d ir.DType, data []byte) float64 {
	switch {
	case d == ir.Float64:
		return math.Float64frombits(binary.LittleEndian.Uint64(data))
	case d == ir.Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
	case d.IsFloat() && d.Size() == 2:
		return float64(half.ToFloat32(d, binary.LittleEndian.Uint16(data)))
	}
	return 0
}

// line is a node: its text, and what is compared of it.
type line struct{ text, key string }

// nodeKey is what is compared of a node: the operator, the arguments, defaults included, and types.
func nodeKey(table *ops.Table, n *ir.Node) string {
	var key strings.Builder
	key.WriteString(n.Op)
	add := func(name string, a ir.Arg) {
		same := ir.MapRefs(a, func(v *ir.Value) ir.Arg { return ir.Str(typeText(v.Type)) })
		key.WriteString(" " + name + "=" + ir.ArgString(same))
	}
	if op, ok := table.Lookup(n.Op); ok && op.ParsedSchema() != nil {
		for _, p := range op.ParsedSchema().Args {
			if a := n.Arg(p.Name); a != nil {
				add(p.Name, a)
			} else if p.HasDefault {
				add(p.Name, p.Default)
			}
		}
	} else {
		for _, a := range n.Args {
			add(a.Name, a.Value)
		}
	}
	for _, v := range n.Outputs {
		if v != nil {
			key.WriteString(" " + typeText(v.Type))
		}
	}
	return key.String()
}

// nodeLines are the nodes of a method, those of regions behind the node that has them.
func nodeLines(table *ops.Table, m *ir.Method) (list []line) {
	var graph func(g *ir.Graph, indent string)
	graph = func(g *ir.Graph, indent string) {
		for _, n := range g.Nodes {
			bare := *n
			bare.Regions = nil
			list = append(list, line{indent + strings.TrimSpace(bare.String()), indent + nodeKey(table, n)})
			for i, r := range n.Regions {
				list = append(list, line{fmt.Sprintf("%s  region %d", indent, i), indent + "region"})
				graph(r, indent+"    ")
			}
		}
	}
	graph(m.Graph, "")
	return list
}
