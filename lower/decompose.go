package lower

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
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
	Doc:  "replace operators the target has no kernel for by simpler ones; report those that have none",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		return decomposeAll(ctx.Table, m, func(c *ops.Call) bool {
			return !HasKernel(c.Op) && (ctx.Whole == nil || !ctx.Whole(c))
		})
	}),
}

// DecomposeToCore is Decompose into the operators of Core ATen.
var DecomposeToCore = Pass{
	Name: "decompose-to-core",
	Doc:  "replace operators that are not of Core ATen by those that are",
	Run: perMethod(func(ctx *Context, m *ir.Method) error {
		return decomposeAll(ctx.Table, m, func(c *ops.Call) bool { return !IsCore(c.Op) })
	}),
}

// decomposeAll is decompose, which fails if operators are left that do nothing.
func decomposeAll(t *ops.Table, m *ir.Method, when func(*ops.Call) bool) error {
	if err := decompose(t, m, when); err != nil {
		return err
	}
	return unsupported(t, m)
}

// decompose replaces the calls that when selects and that have a
// decomposition or are views, and what comes of them. Nodes that do not bind
// to the table stay as they are.
func decompose(t *ops.Table, m *ir.Method, when func(*ops.Call) bool) error {
	for depth := 0; ; depth++ {
		changed := false
		rw := &ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
			if len(n.Regions) > 0 {
				return nil, true, nil
			}
			c, err := t.Bind(n)
			if err != nil || !when(c) {
				return nil, true, nil
			}
			if c.Op.Decompose == nil {
				if c.Op.View == nil {
					return nil, true, nil
				}
				repl, err := coreViews(ops.NewBuilder(t, e), n, c)
				changed = changed || repl != nil
				return repl, repl == nil, err
			}
			if depth > maxDepth {
				return nil, false, fmt.Errorf("it decomposes without end")
			}
			changed = true
			repl, err := expand(ops.NewBuilder(t, e), n, c)
			return repl, false, err
		}}
		if err := rw.Run(m); err != nil || !changed {
			return err
		}
	}
}

// expand emits the decomposition of n. Its results take the types n's had.
func expand(b *ops.Builder, n *ir.Node, c *ops.Call) ([]*ir.Value, error) {
	vs, err := b.Decompose(c)
	if err != nil {
		return nil, err
	}
	for i, v := range vs {
		old := n.Output(i)
		if v == nil || old == nil || v.Type.Kind != ir.TensorKind || v.Type.Equal(old.Type) {
			continue
		}
		if !sameShape(v.Type, old.Type) {
			return nil, c.Errorf("its decomposition gives a %v for a %v", v.Type, old.Type)
		}
		if v.Def != nil && v.Def != n && !isOperand(c, v) {
			v.Type = old.Type
		}
	}
	return vs, nil
}

func isOperand(c *ops.Call, v *ir.Value) bool {
	for _, o := range c.Operands() {
		if o == v {
			return true
		}
	}
	return false
}

// unsupported reports every node without a meaning.
func unsupported(t *ops.Table, m *ir.Method) error {
	var errs []error
	m.Graph.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			if err := supports(t, n); err != nil {
				errs = append(errs, ir.ErrorAt("", n, err))
			}
		}
	})
	return errors.Join(errs...)
}

func supports(t *ops.Table, n *ir.Node) error {
	switch n.Op {
	case "higher_order.cond", "higher_order.while_loop", "higher_order.scan":
		return nil
	}
	if len(n.Regions) > 0 {
		return fmt.Errorf(
			"this kind of control flow is not supported; write it with cond, while_loop, scan or map")
	}
	if _, ok := t.Lookup(n.Op); !ok {
		return unknownOperator(t, n)
	}
	_, err := t.Bind(n)
	return err
}
