package native

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// writtenBack returns of every input that the method writes the output that it gets.
func writtenBack(m *ir.Method) map[*ir.Value]ir.Arg {
	written := map[*ir.Value]ir.Arg{}
	for i, v := range m.MutationTargets() {
		if v != nil && written[v] == nil {
			written[v] = m.Graph.Outputs[i]
		}
	}
	return written
}

// inputs makes a port of every user input and a state buffer of every mutated
// buffer.
func (b *builder) inputs(m *ir.Method) {
	paths := inputPaths(m)
	port := func(p Port) {
		p.Path = paths[len(b.m.Inputs)]
		b.m.Inputs = append(b.m.Inputs, p)
	}
	for i, v := range m.Graph.Inputs {
		spec := m.Inputs[i]
		mutated := b.written[v] != nil
		switch spec.Kind {
		case ir.UserInput:
			p := Port{Name: foreign.Of(v.Name), Type: v.Type, Mutated: mutated,
				Quantized: spec.Quantized}
			switch v.Type.Kind {
			case ir.TensorKind:
				p.Buf = newBuffer(v)
				p.Buf.Storage = Input
				b.bufs[v] = p.Buf
			case ir.IntKind:
				if syms := v.Type.Expr.Symbols(); v.Type.HasExpr && len(syms) == 1 &&
					v.Type.Expr.Equal(syms[0].Expr()) {
					p.Sym = syms[0]
				}
			case ir.FloatKind, ir.BoolKind:
				p.Var = b.scalarVar(v)
				b.given[p.Var] = true
			}
			for _, size := range v.Type.Sizes {
				b.entered = append(b.entered, size.Symbols()...)
			}
			b.entered = append(b.entered, v.Type.Expr.Symbols()...)
			port(p)
		case ir.ConstantInput:
			port(Port{Name: foreign.Of(v.Name), Type: v.Type, Value: spec.Fixed})
		case ir.Buffer, ir.Parameter:
			if mutated || b.held(spec) {
				b.stateBuffer(v, spec)
			}
		case ir.TensorConstant:
		default:
			must.Fail("%s: input %s: tokens and custom objects are not supported",
				b.prog.Source, v.Name)
		}
	}
}

func (b *builder) scalarVar(v *ir.Value) *expr.Var {
	x := &expr.Var{Name: identifier(v.Name), DType: ops.ScalarDType(v.Type.Kind)}
	b.scalars[v] = expr.Get(x)
	return x
}

// held reports whether another method may write what an input begins with.
func (b *builder) held(spec ir.InputSpec) bool {
	return spec.Kind.IsState() && b.shared[spec.Target]
}

// stateBuffer gives a mutated buffer its place in the state; methods that
// mutate the same buffer share it.
func (b *builder) stateBuffer(v *ir.Value, spec ir.InputSpec) {
	buf := b.state[spec.Target]
	if buf == nil {
		data, ok := constBytes(v)
		if !ok {
			must.Fail("%s: buffer %s has no initial value", b.prog.Source, spec.Target)
		}
		buf = newBuffer(v)
		buf.Name, buf.Storage = identifier(spec.Target), State
		buf.Const = b.consts.add(spec.Target, v.Type.DType, data)
		b.state[spec.Target] = buf
		b.prog.State = append(b.prog.State, buf)
	}
	b.bufs[v] = buf
}

// outputs copies every result to where the caller finds it, and new state to
// its place, in this order: a write to state follows every read of the old
// value.
func (b *builder) outputs(m *ir.Method) {
	names, paths := b.outputNames(m)
	for k, out := range m.Outputs {
		if out.Kind != ir.UserOutput {
			continue
		}
		i := len(b.m.Outputs)
		b.output(m.Graph.Outputs[k], i, Port{Name: names[i], Path: paths[i],
			Quantized: out.Quantized})
	}
	var dsts, srcs []*Buffer
	for _, v := range m.Graph.Inputs {
		if a := b.written[v]; a != nil {
			src := must.At(func() *Buffer { return b.result(a) }, "%s: new value of %s",
				b.prog.Source, v.Name)
			dsts, srcs = append(dsts, b.bufs[v]), append(srcs, src)
		}
	}
	b.copyAll(dsts, srcs, nil)
}

// output makes port p of output i.
func (b *builder) output(a ir.Arg, i int, p Port) {
	ref, ok := a.(ir.Ref)
	if !ok {
		p.Value = a
		b.m.Outputs = append(b.m.Outputs, p)
		return
	}
	v := ref.Value
	p.Type = v.Type
	switch v.Type.Kind {
	case ir.TensorKind:
		p.Buf = newBuffer(v)
		p.Buf.Storage = Output
		b.copy(p.Buf, b.buffer(v), nil)
	case ir.IntKind:
		if !v.Type.HasExpr {
			must.Fail("%s: output %d is an integer the compiler cannot follow", b.prog.Source, i)
		}
	case ir.FloatKind, ir.BoolKind:
		switch x := b.scalars[v]; {
		case x == nil:
			must.Fail("%s: output %d is a number that is not computed", b.prog.Source, i)
		case x.Op == expr.OpLocal:
			p.Var = x.Var
		case v.Type.Kind == ir.BoolKind:
			p.Value = ir.BoolArg(x.Int != 0)
		default:
			p.Value = ir.Float(x.Float)
		}
	default:
		must.Fail("%s: output %d is neither a tensor nor a number", b.prog.Source, i)
	}
	b.m.Outputs = append(b.m.Outputs, p)
}

// outputNames returns what the user outputs of m are called and where they stand
// in what it returns. Keys of dicts and fields of classes are kept; others are
// called by their number.
func (b *builder) outputNames(m *ir.Method) (names, paths []foreign.Text) {
	leaves := m.Out.Leaves()
	n := 0
	for _, out := range m.Outputs {
		if out.Kind == ir.UserOutput {
			n++
		}
	}
	for i := range n {
		name, path := fmt.Sprintf("out%d", i), ""
		if len(leaves) == n && leaves[i].Keyed() {
			name, path = identifier(leaves[i].Name("out")), leaves[i].String()
			// Parameters and results stand in one scope, in which inputs come first.
			taken := slices.ContainsFunc(b.m.Inputs, func(p Port) bool {
				return p.Name.Identifier() == name
			})
			if taken || reservedPort(name) || name[0] == '_' {
				name = "out_" + name
			}
		}
		names, paths = append(names, foreign.Of(name)), append(paths, foreign.Of(path))
	}
	return names, paths
}

// inputPaths returns where the arguments of m that are inside dicts or classes
// stand among args and kwargs; "" for those that are arguments themselves, whose
// names say it.
func inputPaths(m *ir.Method) []foreign.Text {
	leaves := m.In.Leaves()
	var paths []foreign.Text
	for _, in := range m.Inputs {
		switch in.Kind {
		case ir.UserInput, ir.ConstantInput:
			paths = append(paths, foreign.Text{})
		}
	}
	if len(leaves) != len(paths) {
		return paths
	}
	for i, leaf := range leaves {
		// The outermost steps are the pair of args and kwargs and the argument.
		if len(leaf) > 2 && leaf[2:].Keyed() {
			paths[i] = foreign.Of([...]string{"args", "kwargs"}[min(leaf[0].Index, 1)] +
				leaf[1:].String())
		}
	}
	return paths
}

// reservedPort reports whether a name stands for a parameter that functions have
// besides ports.
func reservedPort(name string) bool {
	return name == "arena" || name == "state" || name == "sizes"
}

// maxNamed is how many operators a fused kernel's name lists.
const maxNamed = 4

// kernelName names a kernel after the operators fused in it, views left out
// where there is something better to say.
func kernelName(from []Origin) string {
	var names []string
	for _, o := range from {
		name := strings.Trim(o.Base().Raw(), "_")
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	if len(names) > maxNamed {
		names = append(names[:maxNamed-1], names[len(names)-1])
	}
	return identifier(strings.Join(names, "_"))
}

// docOf says in a line what a kernel computes.
func docOf(from []Origin) foreign.Text {
	ops := seq.Map(from, func(o Origin) string { return strings.TrimPrefix(o.Op.Raw(), "aten.") })
	return foreign.Of(strings.Join(ops, ", "))
}

// identifier makes s a C and Go identifier.
func identifier(s string) string { return foreign.Of(s).Identifier() }

// taken are names that are in use.
type taken struct {
	names map[string]bool
	next  map[string]int // by base: numbers below are in use
}

func newTaken(names ...string) *taken {
	t := &taken{names: map[string]bool{}, next: map[string]int{}}
	for _, name := range names {
		t.names[name] = true
	}
	return t
}

// unique returns base or base_2, base_3, …, whichever is not taken, and takes it.
func (t *taken) unique(base string) string {
	name := base
	if t.names[name] {
		i := max(2, t.next[base])
		for ; ; i++ {
			if name = fmt.Sprintf("%s_%d", base, i); !t.names[name] {
				break
			}
		}
		t.next[base] = i + 1
	}
	t.names[name] = true
	return name
}
