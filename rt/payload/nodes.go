package payload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/portable"
)

// nodes are the nodes of a payload, raised to a graph. They run one by one, for what each of them
// gives: what runs else computes several at once.
type nodes struct {
	method  *ir.Method
	backend string
	table   *ops.Table
	kernel  func(*ops.Call, func(int) ([]byte, bool)) interp.Kernel
	kept    *interp.Kept
	handles map[*ir.Node][]uint32 // of the payload's nodes that give what a node does
}

// nodesOf raises a program whose one instruction is a call of its one delegate.
func nodesOf(file *pte.Program, data *pte.DataFile) (_ *nodes, err error) {
	defer must.Catch(&err)
	n := &nodes{backend: file.Plans[0].Delegates[0].ID, table: ops.Standard(),
		kernel: portable.Kernels(), kept: interp.NewKept(), handles: map[*ir.Node][]uint32{}}
	p, _ := must.Get2(raise.Planned(file, "delegate", n.table,
		func(_, _ int, handle uint32) ir.Location { return ir.Location{Line: int(handle)} }, data))
	n.method = p.Methods[0]
	last, computes := map[uint32]*ir.Node{}, map[uint32]bool{}
	for _, x := range n.method.Graph.Nodes {
		if h := uint32(x.Loc.Line); raise.HasHandle(h) {
			last[h] = x
			computes[h] = computes[h] || x.Op != permuted
		}
	}
	for _, h := range slices.Sorted(maps.Keys(last)) {
		x := last[h]
		if computes[h] && x.Op == permuted && slices.Equal(ints(x.Arg("dims")), channelsLast) {
			of, _ := x.Args[0].Value.(ir.Ref)
			x = of.Value.Def
		}
		if x != nil && strings.Contains(x.Op, ".quantize_") {
			x = n.dequantized(x)
		}
		n.handles[x] = append(n.handles[x], h)
	}
	return n, nil
}

// Images have their channels last in payloads, and first in models: what computes one has this
// permutation behind it.
var channelsLast = []int64{0, 2, 3, 1}

const permuted = "aten.permute_copy.default"

// ints are the numbers in a list.
func ints(a ir.Arg) []int64 {
	list, _ := a.(ir.List)
	return seq.Map(list, func(a ir.Arg) int64 { n, _ := a.(ir.Int); return int64(n) })
}

// dequantized returns the first node that makes floats of what x quantizes: these are what the
// model's own node stands for. It is nil if none does.
func (n *nodes) dequantized(x *ir.Node) *ir.Node {
	nodes := n.method.Graph.Nodes
	i := slices.IndexFunc(nodes, func(y *ir.Node) bool {
		if !strings.Contains(y.Op, ".dequantize_") {
			return false
		}
		of, _ := y.Args[0].Value.(ir.Ref)
		return of.Value != nil && of.Value.Def == x
	})
	if i < 0 {
		return nil
	}
	return nodes[i]
}

// run runs the nodes on the tensors that the call reads, and tells what each of those gave that has
// a debug handle.
func (n *nodes) run(ctx context.Context, init *rt.DelegateInit, inputs []any) (err error) {
	defer must.Catch(&err)
	m := interp.New(n.table)
	m.Kernel, m.Kept, m.Done = n.kernel, n.kept, ctx.Done()
	for i, v := range n.method.Graph.Inputs {
		m.Set(v, must.Get(dense(inputs[i].(*rt.Tensor))))
	}
	for _, x := range n.method.Graph.Nodes {
		if err := m.Node(x); err != nil {
			if errors.Is(err, eval.ErrStopped) {
				err = context.Cause(ctx)
			}
			return err
		}
		if len(n.handles[x]) == 0 {
			continue
		}
		var values []*rt.EValue
		for _, v := range x.Outputs {
			if v == nil || v.Type.Kind != ir.TensorKind {
				continue
			}
			t := must.Get(m.Get(v)).Tensor
			made := must.Get(rt.NewTensor(t.DType, t.Sizes, nil, t.Data))
			values = append(values, &rt.EValue{Kind: rt.TensorKind, Tensor: made})
		}
		for _, h := range n.handles[x] {
			init.Gave(raise.EventID(n.backend, h), values...)
		}
	}
	return nil
}

// dense is a tensor with its last dimension innermost.
func dense(t *rt.Tensor) (x interp.Value, err error) {
	strides, n := make([]int64, len(t.Sizes)), int64(1)
	for i := len(t.DimOrder) - 1; i >= 0; i-- {
		strides[t.DimOrder[i]] = n
		n *= max(t.Sizes[t.DimOrder[i]], 1)
	}
	data, err := ir.Tensor(&ir.Constant{Type: ir.Type{Kind: ir.TensorKind, DType: t.DType,
		Sizes: ir.Ints(t.Sizes), Strides: ir.Ints(strides)}, Data: ir.Bytes(t.Data)})
	if err != nil {
		err = fmt.Errorf("%w: %w", rt.ErrInternal, err)
	}
	return interp.Tensor(t.DType, t.Sizes, data), err
}
