// Package graph is a backend for tests, whose payloads are graphs as text, and which takes whatever
// nodes it is told to: all, or some by chance. Its run side interprets them.
package graph

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/rt"
)

// ID is how programs call the backend.
const ID = "GraphBackend"

// Backend takes of every Of nodes the first Share, by chance: what the chance is depends on
// Seed and the node's name alone. Pairs belong together as often.
type Backend struct {
	Seed, Share, Of uint64
	// Copy asks for copies of constants that others read too, Own for state.
	Copy, Own bool
}

// About implements partition.Backend.
func (b Backend) About() partition.About {
	return partition.About{Name: "graph" + strconv.FormatUint(b.Seed, 10), ID: ID,
		Doc: "graphs that are interpreted, for tests"}
}

// chance reports whether something of a name is to be.
func (b Backend) chance(kind, name string) bool {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s", b.Seed, kind, name)
	return h.Sum64()>>8%b.Of < b.Share
}

// Partition implements partition.Backend.
func (b Backend) Partition(g *partition.Graph) error {
	var before *ir.Node // the last that was taken
	for n := range g.Nodes() {
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(v *ir.Value) {
				if b.Copy && g.Constant(v) {
					g.Copy(v)
				}
				if b.Own && g.State(v) {
					g.Own(v)
				}
			})
		}
		if !determined(n) {
			g.Refuse(n, "a size of it is of several symbols, which the interpreter cannot solve")
			continue
		}
		if !b.chance("take", n.Name) {
			g.Refuse(n, "by chance")
			continue
		}
		if g.Take(n); before != nil && !b.chance("alone", n.Name) {
			g.Take(before, n)
		}
		before = n
	}
	return nil
}

// determined reports whether sizes of n are known from those of any operand alike.
func determined(n *ir.Node) bool {
	ok := true
	note := func(v *ir.Value) {
		if v != nil {
			for _, e := range append(slices.Clone(v.Type.Sizes), v.Type.Expr) {
				ok = ok && len(e.Symbols()) <= 1
			}
		}
	}
	for _, a := range n.Args {
		ir.EachRef(a.Value, note)
	}
	for _, v := range n.Outputs {
		note(v)
	}
	return ok
}

// Preprocess implements partition.Backend.
func (b Backend) Preprocess(p *partition.Part) (*partition.Payload, error) {
	out := &partition.Payload{Specs: p.Specs}
	var text bytes.Buffer
	if err := ir.Print(&text, p.Program); err != nil {
		return nil, err
	}
	g, seen := p.Method().Graph, map[string]bool{}
	for _, vs := range [][]*ir.Value{g.Inputs, g.Constants} {
		for _, v := range vs {
			if v.Const == nil {
				continue
			}
			key, err := ir.Digest(v.Const.Data)
			if err != nil {
				return nil, err
			}
			if !seen[key] {
				seen[key] = true
				out.Named = append(out.Named, ir.NamedData{Key: key, Data: v.Const.Data})
			}
		}
	}
	for _, n := range g.Nodes {
		out.Debug = append(out.Debug, ir.DelegateEvent{ID: n.Name,
			Nodes: []ir.Origin{{Node: n.Name, Op: n.Op, Loc: n.Loc}}})
	}
	out.Processed = text.Bytes()
	return out, nil
}

// Runtime is the run side.
type Runtime struct{}

type delegate struct {
	table *ops.Table
	m     *ir.Method
	state map[string]interp.Value // by targets
}

// Init implements rt.Backend.
func (Runtime) Init(init *rt.DelegateInit) (rt.Delegate, error) {
	text, err := io.ReadAll(io.NewSectionReader(init.Processed, 0, init.Processed.Size()))
	if err != nil {
		return nil, err
	}
	p, err := ir.ParseWith("payload", string(text), func(digest string, _ int64) (ir.Blob, error) {
		data, ok := init.Named(digest)
		if !ok {
			return nil, fmt.Errorf("the program has no data %s", digest)
		}
		return data, nil
	})
	if err == nil {
		err = ir.Verify(p)
	}
	if err != nil {
		return nil, err
	}
	table, err := ops.Of(p)
	if err != nil || len(p.Methods) != 1 {
		return nil, fmt.Errorf("it has %d methods: %w", len(p.Methods), err)
	}
	return &delegate{table, p.Methods[0], map[string]interp.Value{}}, nil
}

// Execute implements rt.Delegate.
func (d *delegate) Execute(_ context.Context, args []*rt.EValue) (err error) {
	defer must.Catch(&err)
	machine := interp.New(d.table)
	rest := args
	next := func() *rt.EValue {
		if len(rest) == 0 {
			must.Fail("%d arguments are too few", len(args))
		}
		a := rest[0]
		rest = rest[1:]
		return a
	}
	var inputs []interp.Value
	for i, v := range d.m.Graph.Inputs {
		spec := d.m.Inputs[i]
		if spec.Kind == ir.UserInput {
			inputs = append(inputs, valueOf(next()))
			continue
		}
		x, ok := d.state[spec.Target]
		if !ok {
			x = must.Get(machine.Get(v))
		}
		inputs = append(inputs, x)
	}
	must.Check(machine.Enter(d.m.Graph, inputs))
	outs := must.Get(machine.Graph(d.m.Graph, inputs))
	for i, spec := range d.m.Outputs {
		if spec.Kind != ir.UserOutput {
			d.state[spec.Target] = outs[i]
			continue
		}
		x, to := outs[i].Tensor, next().Tensor
		if to == nil || to.DType != x.DType {
			must.Fail("output %d is another tensor", i)
		}
		must.Check(to.Resize(x.Sizes))
		copy(to.Data, x.Data)
	}
	if len(rest) > 0 {
		must.Fail("%d arguments are too many", len(rest))
	}
	return nil
}

// valueOf is an argument as the interpreter has it.
func valueOf(a *rt.EValue) interp.Value {
	switch a.Kind {
	case rt.TensorKind:
		return interp.Value{Kind: ir.TensorKind, Tensor: eval.Operand{DType: a.Tensor.DType,
			Sizes: a.Tensor.Sizes, Data: rowMajor(a.Tensor)}}
	case rt.Int:
		return interp.Value{Kind: ir.IntKind, Scalar: expr.Value{I: a.Int}}
	case rt.Double:
		return interp.Value{Kind: ir.FloatKind, Scalar: expr.Value{F: a.Double}}
	case rt.Bool:
		x := interp.Value{Kind: ir.BoolKind}
		if a.Bool {
			x.Scalar.I = 1
		}
		return x
	}
	must.Fail("an argument is a %v", a.Kind)
	return interp.Value{}
}

// rowMajor returns the elements of a tensor in row-major order.
func rowMajor(t *rt.Tensor) []byte {
	size := int64(t.DType.Size())
	strides, stride := make([]int64, len(t.Sizes)), size
	for _, d := range slices.Backward(t.DimOrder) {
		strides[d] = stride
		stride *= t.Sizes[d]
	}
	out := make([]byte, 0, len(t.Data))
	var walk func(d int, at int64)
	walk = func(d int, at int64) {
		if d == len(t.Sizes) {
			out = append(out, t.Data[at:at+size]...)
			return
		}
		for range t.Sizes[d] {
			walk(d+1, at)
			at += strides[d]
		}
	}
	walk(0, 0)
	return out
}
