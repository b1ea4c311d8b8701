package lower

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/alias"
)

// maxDepth bounds how deep operators decompose into others; an entry of the
// table that decomposes into itself reaches it.
const maxDepth = 32

// Decompose replaces every operator that the target does not keep by its
// decomposition, until none is left. A result keeps the type, strides
// included, of the value it replaces. It fails if a node is left for which
// there is neither a kernel nor a decomposition, and reports all of them.
var Decompose = Pass{
	Name: "decompose",
	Doc: "replace operators the target has no kernel for by simpler ones; report those that " +
		"have none",
	Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
		decomposeAll(ctx.Table, m, ctx.decomposes)
	}),
}

// decomposes reports whether c is replaced by its decomposition: the target does not do it as a
// whole or, where time does not count, it is attention of integers.
func (ctx *Context) decomposes(c *ops.Call) bool {
	return !HasKernel(c.Op) &&
		(ctx.Legal == nil || !ctx.Legal(c) || !ctx.Speed && attendsIntegers(c))
}

// DecomposeToCore is Decompose into the operators of Core ATen.
var DecomposeToCore = Pass{
	Name: "decompose-to-core",
	Doc:  "replace operators that are not of Core ATen by those that are",
	Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
		decomposeAll(ctx.Table, m, func(c *ops.Call) bool { return !IsCore(c.Op) })
	}),
}

// decomposeAll is decompose, which fails if operators are left that do nothing.
func decomposeAll(t *ops.Table, m *ir.Method, when func(*ops.Call) bool) {
	decompose(t, m, when)
	must.Check(unsupported(t, m))
}

// decompose replaces the calls that when selects and that have a
// decomposition or are views, and what comes of them. Nodes that do not bind
// to the table stay as they are.
func decompose(t *ops.Table, m *ir.Method, when func(*ops.Call) bool) {
	untilSame(t, m, func(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
		settled := must.Get(b.Settle(c))
		switch {
		case settled != nil:
			return replacing(n, c, settled)
		case !when(c):
		case c.Op.Decompose != nil:
			return replacing(n, c, must.Get(b.Decompose(c)))
		case c.Op.View != nil:
			return coreViews(b, n, c)
		}
		return nil
	})
}

// untilSame is rewrite with a visitor of calls, again and again until nothing changes.
func untilSame(t *ops.Table, m *ir.Method,
	visit func(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value) {
	for depth, changed := 0, true; changed; depth++ {
		changed = false
		rewrite(t, m, onCalls(func(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value {
			repl := visit(b, n, c)
			if repl != nil && depth > maxDepth {
				must.Fail("it decomposes without end")
			}
			changed = changed || repl != nil
			return repl
		}))
	}
}

// replacing returns vs, which n decomposes into, with the types that n's results had.
func replacing(n *ir.Node, c *ops.Call, vs []*ir.Value) []*ir.Value {
	for i, v := range vs {
		old := n.Output(i)
		if v != nil && old != nil && v.Type.Kind == ir.TensorKind && !sameShape(v.Type, old.Type) {
			must.Check(c.Errorf("its decomposition gives a %v for a %v", v.Type, old.Type))
		}
	}
	keepTypes(n, c, vs)
	return append(gone, vs...)
}

// keepTypes gives values that were made in the place of n's results the types of these.
func keepTypes(n *ir.Node, c *ops.Call, vs []*ir.Value) {
	for i, v := range vs {
		if old := n.Output(i); old != nil && v != nil && v.Type.Kind == ir.TensorKind &&
			v.Def != nil && v.Def != n && !slices.Contains(c.Operands(), v) {
			v.Type = old.Type
		}
	}
}

// unsupported reports every node without a meaning.
func unsupported(t *ops.Table, m *ir.Method) error {
	return faults(m, func(n *ir.Node) {
		switch n.Op {
		case "higher_order.cond", "higher_order.while_loop", "higher_order.scan":
			return
		}
		_, ok := t.Lookup(n.Op)
		switch {
		case len(n.Regions) > 0 && ok:
			return // CheckRecords tells that it is no control flow
		case len(n.Regions) > 0:
			must.Fail("this kind of control flow is not supported; write it with cond, while_loop, " +
				"scan or map")
		case !ok:
			unknownOperator(t, n)
		}
		must.Get(t.Bind(n))
	})
}

// HasKernel keeps the operators that native form can be built of: all but
// those that only say how they decompose.
func HasKernel(op *ops.Op) bool {
	return op.Compute != nil || op.Loops != nil || op.View != nil || op.Value != nil ||
		op.ScalarOp != nil || op.Effect
}

//go:embed core_aten.txt
var coreText string

// coreNames are the operators of Core ATen by the names nodes use.
var coreNames = sync.OnceValue(func() map[string]bool { return nodeNames(coreText) })

// nodeNames returns the operators that a text lists as files name them, by the names nodes use.
func nodeNames(text string) map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(text) {
		name = strings.Replace(name, "::", ".", 1)
		if strings.Count(name, ".") == 1 {
			name += ".default"
		}
		names[name] = true
	}
	return names
}

// IsCore keeps the operators of Core ATen, what is outside of ATen, and what
// has no decomposition and is no view. unfold is in no list, but run_decompositions
// leaves it.
func IsCore(op *ops.Op) bool {
	return coreNames()[op.Name()] || op.Name() == "aten.unfold.default" ||
		!strings.HasPrefix(op.Name(), "aten.") ||
		op.Decompose == nil && op.View == nil
}

// exposeViews prepares a method for alias analysis: composite operators that
// may return a view of their operand (reshape) are decomposed, and in-place
// operators that only change sizes and strides (squeeze_) become views, to
// which every later use of their operand refers.
func exposeViews(t *ops.Table, m *ir.Method) {
	decompose(t, m, func(c *ops.Call) bool {
		return c.Op.View == nil && returnsAlias(c.Op.ParsedSchema())
	})
	rewrite(t, m, func(b *ops.Builder, n *ir.Node) []*ir.Value {
		w, ok := alias.Writes(t, n)
		if !ok || !w.Rebind {
			return nil
		}
		view := b.Emit(w.Functional, n.Args, n.Outputs[0].Type).Outputs[0]
		// The tensor may have other names: an in-place operator returns the
		// tensor it wrote to.
		for v := w.Target; v != nil; {
			b.Substitute(v, view)
			if v.Def == nil {
				break
			}
			w, _ := alias.Writes(t, v.Def)
			v = w.Target
		}
		return []*ir.Value{view}
	})
}

// returnsAlias reports whether an operator may return its argument's memory
// without writing to it.
func returnsAlias(s *aten.Schema) bool {
	for _, r := range s.Returns {
		if a := r.Type.Base().Alias; a.Set != "" && !a.Write {
			return true
		}
	}
	return false
}

// unknownOperator says that the table does not have n's operator, and what to
// do about it.
func unknownOperator(t *ops.Table, n *ir.Node) {
	for _, a := range n.Args {
		if op, ok := a.Value.(ir.OpArg); ok {
			must.Fail(
				"it wraps the custom operator %s, which writes to its arguments; register a version that "+
					"returns new tensors", foreign.Message(string(op)))
		}
	}
	if strings.HasPrefix(n.Op, "torch._functorch.") {
		must.Fail(
			"part of a vmap that export left as it is; export the model after run_decompositions()")
	}
	if ops.IsCustom(n.Op) { // who compiles declares them
		must.Fail(
			"a custom operator, which C, Go and rt run, but not the interpreter; or register a " +
				"decomposition into ATen operators, then export the model after run_decompositions()")
	}
	if !strings.HasPrefix(n.Op, "aten.") {
		must.Fail(
			"the operator is not supported; register a decomposition into ATen operators, " +
				"then export the model after run_decompositions()")
	}
	if near := nearest(t, n.Op); near != "" {
		must.Fail("the operator is not supported; the nearest that is: %s", near)
	}
	must.Fail(
		"the operator is not supported; write the model with others, or add an entry for it to " +
			"kernels/ops")
}

// nearest returns the operator in the table whose name is most like op's: the
// same operator in another overload, else one a few letters away; "" if there
// is none.
func nearest(t *ops.Table, op string) string {
	base := ir.OpBase(op)
	best, score := "", 3
	for _, name := range t.Names() {
		other := ir.OpBase(name)
		d := distance(strings.Trim(base, "_"), strings.Trim(other, "_"))
		if d < score && d*3 <= len(base) {
			best, score = name, d
		}
	}
	return best
}

// distance returns how many letters have to be inserted, deleted or replaced
// to make b of a.
func distance(a, b string) int {
	row := seq.Of(len(b)+1, func(j int) int { return j })
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
