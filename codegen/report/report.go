// Package report tells what a compiled program takes, layer by layer: constants, code, memory
// at the layer's moment, multiply-accumulates, and instructions of a microcontroller.
//
// New is the door. Nothing is measured here: constants, memory and multiply-accumulates follow
// from the program, and code and instructions are estimates. Package golden/size measures code.
package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// Report is what a program takes. All but MACs and Instructions are bytes.
type Report struct {
	Version  int    `json:"etgen_report"` // of this form: 1
	Model    string `json:"model"`        // base name of the file
	Language string `json:"language"`
	Target   string `json:"target"`
	Optimize string `json:"optimize"`

	Weights int64 `json:"weights"` // constants of the model
	// Code is machine code and constants that are not the model's: an estimate unless Measured; 0
	// if there is none for the target.
	Code     int64    `json:"code"`
	Measured bool     `json:"code_measured"`
	Arena    int64    `json:"arena"`
	Banks    []Bank   `json:"banks,omitempty"` // of a divided arena
	State    int64    `json:"state"`
	Ports    int64    `json:"inputs_and_outputs"` // the caller's tensors
	Methods  []Method `json:"methods"`

	Of Program `json:"-"` // what the report was made of
}

// Bank is a memory that a part of the arena is in.
type Bank struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // that there is
	Used int64  `json:"used"`
	// Moved is an estimate of the bytes that a call of each method reads and writes there.
	Moved int64 `json:"moved_estimate"`
}

// banks tells what is in the banks of p.
func banks(p *native.Program) []Bank {
	if p.Banks == nil {
		return nil
	}
	used := codegen.BankBytes(p)
	list := make([]Bank, len(p.Banks))
	for k, b := range p.Banks {
		list[k] = Bank{Name: b.Name, Size: b.Size, Used: used[k]}
	}
	for _, m := range p.Methods {
		if m.Problem == nil {
			continue
		}
		for i := range m.Problem.Buffers {
			if b := &m.Problem.Buffers[i]; b.Alias == nil {
				list[b.Memory].Moved += b.Traffic
			}
		}
	}
	return list
}

// Method is what a method takes.
type Method struct {
	Name  foreign.Text `json:"name"`
	Arena int64        `json:"arena"`
	// LowerBound is what no plan of the same buffers can be below.
	LowerBound int64   `json:"lower_bound"`
	MACs       int64   `json:"macs"`
	Layers     []Layer `json:"layers"`
	// Instructions is an estimate of those that a call executes; 0 if there is none for the target.
	Instructions int64 `json:"instructions_estimate,omitempty"`
}

// Layer is the calls of kernels for the same nodes of the graph.
type Layer struct {
	Name      foreign.Text   `json:"name"` // the module, or the node
	Operators []foreign.Text `json:"operators"`
	Line      foreign.Text   `json:"line"`   // of the model's Python source
	Kernel    string         `json:"kernel"` // the function, without the package's prefix
	Type      string         `json:"type"`   // of the result
	Calls     int            `json:"calls"`  // in the text
	Weights   int64          `json:"weights"`
	// Code is that of the kernel's function, if no earlier layer has it: see Report.Measured.
	Code         int64 `json:"code"`
	Arena        int64 `json:"arena"` // what holds something, at most, while the layer is computed
	MACs         int64 `json:"macs"`
	Instructions int64 `json:"instructions_estimate,omitempty"`

	Statements []*native.Call `json:"-"` // the calls

	kernels []string // of all calls
}

// Program is what a report is made of.
type Program struct {
	Native   *native.Program
	Package  *codegen.Package // of Native
	Language *tuned.Language
	Target   tuned.Target
	Separate bool // see codegen.Options
	// MACs are those of one execution of nodes, by method and place.
	MACs []map[Place]int64
}

// prefixes are what the names of functions begin with: that of the package and, of methods that
// are separate models, theirs.
func (p Program) prefixes(methods ...*native.Method) []string {
	names := []string{p.Package.Name}
	for _, m := range methods {
		if p.Separate {
			names = append(names, m.Name.Identifier())
		}
	}
	return names
}

// weights are the bytes of constants. Separate models have theirs each.
func (p Program) weights() (sum int64) {
	programs := []*native.Program{p.Native}
	if p.Separate {
		programs = nil
		for _, m := range p.Native.Methods {
			programs = append(programs, codegen.Alone(p.Native, m))
		}
	}
	for _, np := range programs {
		for _, c := range codegen.LayOut(np).Consts {
			sum += int64(len(c.Data))
		}
	}
	return sum
}

// New tells what p takes.
func New(p Program) (_ *Report, err error) {
	defer must.Catch(&err)
	np := p.Native
	r := &Report{Version: 1, Model: np.Source.Terminal(), Language: p.Language.Name,
		Target: p.Target.Machine.Name, Optimize: "size", Weights: p.weights(),
		Arena: codegen.ArenaBytes(np), Banks: banks(np), Of: p}
	if p.Target.Speed {
		r.Optimize = "speed"
	}
	for _, b := range np.State {
		r.State += codegen.MaxBytes(b)
	}
	code := newCode(p)
	r.Code = code.total
	rates := p.Target.Rates()
	if rates != nil && !rates.Floats && hasFloats(np) {
		rates = nil
	}
	seen := map[*native.Const]bool{}
	for i, m := range np.Methods {
		if p.Separate {
			clear(seen)
		}
		method := Method{Name: m.Name, Arena: codegen.ArenaSize(m)}
		ports := int64(0)
		for _, port := range codegen.Ports(m) {
			if port.Buf != nil {
				ports += codegen.MaxBytes(port.Buf)
			}
		}
		r.Ports = max(r.Ports, ports)
		g := &gatherer{program: np, rates: rates, code: code, prefixes: p.prefixes(m), seen: seen,
			macs: map[Place]int64{}}
		if i < len(p.MACs) {
			g.macs = p.MACs[i]
		}
		if m.Plan != nil {
			pr := must.Get(plan.NewReport(m.Problem, m.Plan))
			method.LowerBound = pr.LowerBound
			g.live = liveBytes(m.Problem, m.Plan, pr)
		}
		g.method(m)
		for _, l := range g.layers {
			method.Layers = append(method.Layers, *l)
			method.MACs += l.MACs
			method.Instructions += l.Instructions
		}
		r.Methods = append(r.Methods, method)
	}
	return r, nil
}

// hasFloats reports whether a kernel multiplies floats.
func hasFloats(p *native.Program) bool {
	return slices.ContainsFunc(p.Kernels, func(k *native.Kernel) bool {
		return k.Tuned != nil && !k.Tuned.MultipliesIntegers() && !k.Tuned.MACs.IsZero()
	})
}

// liveBytes returns how many bytes hold something at each step. Buffers that may share memory at a
// step, as a result that is written over its input, count once.
func liveBytes(p *plan.Problem, pl *plan.Plan, r *plan.Report) []int64 {
	type piece struct {
		memory   int
		from, to int64
	}
	var steps [][]piece
	for i, spans := range r.Live {
		b, at := &p.Buffers[i], pl.Offsets[i]
		for _, s := range spans {
			for len(steps) <= s.Last {
				steps = append(steps, nil)
			}
			for k := s.First; k <= s.Last; k++ {
				steps[k] = append(steps[k], piece{b.Memory, at, at + b.Size})
			}
		}
	}
	live := make([]int64, len(steps))
	for k, list := range steps {
		seq.Sort(list, func(a, b piece) int {
			return cmp.Or(cmp.Compare(a.memory, b.memory), cmp.Compare(a.from, b.from))
		})
		last := piece{memory: -1}
		for _, x := range list {
			if x.memory == last.memory {
				x.from = max(x.from, last.to)
				x.to = max(x.to, last.to)
			}
			live[k] += x.to - x.from
			last = x
		}
	}
	return live
}

// gatherer makes the layers of a method.
type gatherer struct {
	program  *native.Program
	rates    *tuned.Rates // nil: instructions are not estimated
	code     *code
	prefixes []string
	seen     map[*native.Const]bool // whose layer is known
	macs     map[Place]int64
	live     []int64 // bytes by step
	layers   []*Layer
	keys     []string
}

func (g *gatherer) method(m *native.Method) {
	var stmts []native.Stmt
	codegen.Walk(m.Body, func(s native.Stmt) { stmts = append(stmts, s) })
	owner := Owners(stmts)
	for _, s := range stmts {
		c, ok := s.(*native.Call)
		if !ok {
			continue
		}
		l := g.layer(c)
		l.Calls++
		l.Statements = append(l.Statements, c)
		if !slices.Contains(l.kernels, c.Kernel.Name) {
			l.kernels = append(l.kernels, c.Kernel.Name)
		}
		if at := m.Steps[s]; at < len(g.live) {
			l.Arena = max(l.Arena, g.live[at])
		}
		for _, b := range c.Args {
			if root := native.Root(b); root.Storage == native.Weight {
				g.weight(l, root.Const)
			}
		}
		for _, d := range g.program.DelegatesOf(c.Kernel) {
			for _, blob := range d.Blobs() {
				g.weight(l, blob)
			}
		}
		for _, prefix := range g.prefixes {
			l.Code += g.code.take(prefix + "_" + c.Kernel.Name)
		}
		macs := int64(0)
		for _, o := range c.From {
			if at := PlaceOf(o); owner[at] == c {
				macs += g.macs[at]
			}
		}
		l.MACs += macs
		l.Instructions += instructions(c, g.rates, macs)
	}
}

// weight notes that a layer reads a constant.
func (g *gatherer) weight(l *Layer, c *native.Const) {
	if !g.seen[c] {
		g.seen[c] = true
		l.Weights += int64(len(c.Data))
	}
}

// Place tells nodes apart: those of sibling regions may share a name.
type Place struct {
	Node foreign.Text
	Loc  native.Location
}

// PlaceOf is the place of a node.
func PlaceOf(o native.Origin) Place { return Place{o.Node, o.Loc} }

// Owners tells which call does the work of a node, of some statements.
func Owners(stmts []native.Stmt) map[Place]*native.Call {
	owner := map[Place]*native.Call{}
	for _, s := range stmts {
		if c, ok := s.(*native.Call); ok {
			for _, o := range c.From {
				at := PlaceOf(o)
				if now := owner[at]; now == nil || now.Kernel.Tuned == nil && !c.Kernel.Copy {
					owner[at] = c
				}
			}
		}
	}
	return owner
}

// layer returns the layer of a call.
func (g *gatherer) layer(c *native.Call) *Layer {
	key := c.Kernel.Name
	if c.Kernel.Tuned != nil {
		key = c.Kernel.Tuned.Kernel.Name // patches of one layer have kernels of their own
	}
	for _, o := range c.From {
		key += "\x00" + o.Node.String() + "\x00" + o.Loc.String()
	}
	if i := slices.Index(g.keys, key); i >= 0 && len(c.From) > 0 {
		return g.layers[i]
	}
	l := &Layer{Kernel: c.Kernel.Name, Operators: []foreign.Text{}}
	for _, o := range c.From {
		if !slices.Contains(l.Operators, o.Base()) {
			l.Operators = append(l.Operators, o.Base())
		}
		if l.Name.IsEmpty() || g.macs[PlaceOf(o)] > 0 {
			l.Name = o.Node
			if !o.Loc.Module.IsEmpty() {
				l.Name = o.Loc.Module
			}
		}
		if l.Line.IsEmpty() && o.Loc != (native.Location{}) {
			l.Line = foreign.Of(o.Loc.String())
		}
	}
	for i, b := range c.Args {
		if _, written := c.Kernel.Uses(i); written && l.Type == "" {
			l.Type = b.DType.String() + " " + codegen.ShapeText(b.Sizes, nil)
		}
	}
	g.layers, g.keys = append(g.layers, l), append(g.keys, key)
	return l
}

// instructions estimates what a call executes, whose nodes have so many multiply-accumulates.
func instructions(c *native.Call, rates *tuned.Rates, macs int64) int64 {
	if rates == nil {
		return 0
	}
	if c.Kernel.Loop != nil {
		values := map[*sym.Symbol]sym.Expr{}
		for i, s := range c.Kernel.Params {
			values[s] = c.Ints[i]
		}
		each := rates.Operation
		if !rates.Floats && !loop.Any(c.Kernel.Loop.Body, computesFloats) {
			each = rates.Whole
		}
		return int64(each * schedule.WorkWith(c.Kernel.Loop, values))
	}
	results, rows := int64(0), int64(0)
	for i, b := range c.Args {
		if _, written := c.Kernel.Uses(i); written && !c.Kernel.IsScratch(i) && results == 0 {
			results, rows = b.MaxLen, b.MaxLen
			if len(b.Sizes) > 1 { // channels come second, or last
				channels, _ := b.Sizes[1].Const()
				rows = results / max(1, channels)
			}
		}
	}
	return int64(rates.Instructions(c.Kernel.Tuned, macs, results, rows))
}

// computesFloats reports whether there is a float in a statement.
func computesFloats(s loop.Stmt) bool {
	return loop.AnyNode(s, func(e *expr.Expr) bool { return e.DType.IsFloat() })
}

// Measure replaces the estimates of code by what was measured: in all, and of the package's
// symbols.
func (r *Report) Measure(code int64, symbols map[string]int64) {
	r.Code, r.Measured = code, true
	of := map[string]int64{}
	for name, bytes := range symbols { // clones of a function are called NAME.constprop.0
		base, _, _ := strings.Cut(name, ".")
		of[base] += bytes
	}
	for i := range r.Methods {
		prefixes := r.Of.prefixes(r.Of.Native.Methods[i])
		for k := range r.Methods[i].Layers {
			l := &r.Methods[i].Layers[k]
			l.Code = 0
			for _, kernel := range l.kernels {
				for _, prefix := range prefixes {
					name := prefix + "_" + kernel
					l.Code += of[name]
					delete(of, name)
				}
			}
		}
	}
}

// Largest returns the layers by what of takes of them, the largest first.
func (r *Report) Largest(of func(*Layer) int64) []*Layer {
	var all []*Layer
	for i := range r.Methods {
		for k := range r.Methods[i].Layers {
			all = append(all, &r.Methods[i].Layers[k])
		}
	}
	seq.Sort(all, func(a, b *Layer) int { return cmp.Compare(of(b), of(a)) })
	return all
}
