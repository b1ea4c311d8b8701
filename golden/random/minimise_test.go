package random

import (
	"context"
	"slices"
	"time"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// patience is how long a program is made smaller: a test that fails also ends.
const patience = 30 * time.Second

// minimise drops nodes and outputs of p as long as check fails on what is left
// in the same way.
func minimise(p *ir.Program, how string, check func(*program) error) *ir.Program {
	table := ops.Standard()
	end := time.Now().Add(patience)
	for again := true; again; {
		again = false
		for i := 0; time.Now().Before(end); i++ {
			q := ir.Clone(p)
			if !shrink(q.Methods[0], i) {
				break
			}
			clean(q)
			if ir.Verify(q) != nil || len(q.Methods[0].Graph.Outputs) == 0 {
				continue
			}
			if fails(table, q, how, check) {
				p, again = q, true
				i--
			}
		}
	}
	return p
}

func fails(table *ops.Table, p *ir.Program, how string, check func(*program) error) bool {
	x, err := newProgram(table, p)
	if err != nil {
		return false
	}
	if x.terms, err = termsOf(table, p); err != nil {
		x.terms = 1
	}
	err = check(x)
	return err != nil && kind(err) == how
}

// shrink makes change number i to m and reports whether there is one: each
// output is left out, each node is replaced by inputs of the method, each
// region by what it returns first.
func shrink(m *ir.Method, i int) bool {
	if i < len(m.Graph.Outputs) {
		m.Graph.Outputs = slices.Delete(m.Graph.Outputs, i, i+1)
		m.Outputs = slices.Delete(m.Outputs, i, i+1)
		return true
	}
	i -= len(m.Graph.Outputs)
	var nodes []*ir.Node
	m.Graph.Walk(func(g *ir.Graph) { nodes = append(nodes, g.Nodes...) })
	if i >= 2*len(nodes) {
		return false
	}
	n, toOperand := nodes[i/2], i%2 == 0
	names := ir.NewNames(m)
	repl := map[*ir.Value]*ir.Value{}
	for _, v := range n.Outputs {
		if v == nil {
			continue
		}
		if v.Type.Kind != ir.TensorKind {
			return true // left as it is
		}
		repl[v] = substitute(m, names, n, v, toOperand)
	}
	ref := func(v *ir.Value) ir.Arg {
		if r := repl[v]; r != nil {
			return ir.Ref{Value: r}
		}
		return ir.Ref{Value: v}
	}
	m.Graph.Walk(func(g *ir.Graph) {
		g.Nodes = slices.DeleteFunc(g.Nodes, func(x *ir.Node) bool { return x == n })
		for _, x := range g.Nodes {
			for k := range x.Args {
				x.Args[k].Value = ir.MapRefs(x.Args[k].Value, ref)
			}
		}
		for k, a := range g.Outputs {
			g.Outputs[k] = ir.MapRefs(a, ref)
		}
	})
	return true
}

// substitute returns a tensor to take in place of result v of n: an operand of
// n that is like it, else a new input.
func substitute(m *ir.Method, names *ir.Names, n *ir.Node, v *ir.Value, toOperand bool) *ir.Value {
	var found *ir.Value
	if toOperand {
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(u *ir.Value) {
				if found == nil && u.Type.Kind == ir.TensorKind && sameType(u.Type, v.Type) {
					found = u
				}
			})
		}
	}
	if found != nil {
		return found
	}
	w := &ir.Value{Name: names.Fresh("y"), Type: v.Type.Dense()}
	m.Graph.Inputs = append(m.Graph.Inputs, w)
	m.Inputs = append(m.Inputs, ir.InputSpec{Kind: ir.UserInput})
	return w
}

// minimiseCompiled is minimise for a variant, all changes of a round at once.
// A variant that must give the same bits as another is tried with that one.
func minimiseCompiled(ctx context.Context, p *ir.Program, how string, all []variant,
	v int) *ir.Program {
	table := ops.Standard()
	vs := []variant{all[v]}
	if like := vs[0].like; like >= 0 {
		vs = []variant{all[like], all[v]}
		vs[1].like = 0
	}
	for range 30 {
		var xs []*program
		for i := 0; ; i++ {
			q := ir.Clone(p)
			if !shrink(q.Methods[0], i) {
				break
			}
			clean(q)
			if ir.Verify(q) != nil || len(q.Methods[0].Graph.Outputs) == 0 ||
				q.String() == p.String() {
				continue
			}
			if x, err := newProgram(table, q); err == nil {
				if x.terms, err = termsOf(table, q); err == nil {
					xs = append(xs, x)
				}
			}
		}
		found := false
		for i, errs := range checkCompiled(ctx, xs, vs) {
			if err := errs[len(vs)-1]; err != nil && kind(err) == how && (!found ||
				len(xs[i].p.String()) < len(p.String())) {
				p, found = xs[i].p, true
			}
		}
		if !found {
			break
		}
	}
	return p
}
