package tuned_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
)

// trial is one call of an operator, carried out by its definition and by a
// tuned kernel.
type trial struct {
	name     string
	op       string
	by       string // if not "", the kernel that is to take it, though there may be a better one
	sample   samples.Sample
	constant []bool          // by input
	used     map[string]bool // by the text of its kernel
	syms     map[*sym.Symbol]int64
	epilogue *epilogue
	extra    []float32
	xOrder   []int // layout of operand 0, nil: row-major
	yOrder   []int // … of the result

	node     *ir.Node
	call     *ops.Call
	in       *tuned.Instance
	operands []eval.Operand
	buffers  [][]float32 // what the kernel reads
	want     []float32
	terms    float64 // length of the sums
	sums     float64 // the largest of them, before the epilogue
}

// epilogue is what a trial does to results before they are stored.
type epilogue struct {
	name      string
	perResult bool // the extra operand, if any, is read at the result
	channel   bool // … or at its channel
	c         string
	apply     func(acc, extra float32) float32
}

func epilogues() []*epilogue {
	return []*epilogue{
		nil,
		{name: "relu", c: "t > 0.0f ? t : 0.0f", apply: func(t, _ float32) float32 {
			return max(t, 0)
		}},
		{name: "clamp", c: "t < -1.0f ? -1.0f : t > 2.0f ? 2.0f : t",
			apply: func(t, _ float32) float32 { return min(max(t, -1), 2) }},
		{name: "residual", perResult: true, c: "t + e[o]", apply: func(t, e float32) float32 {
			return t + e
		}},
		{name: "scale", channel: true, c: "t * e[c]", apply: func(t, e float32) float32 {
			return t * e
		}},
	}
}

// bind binds the call, draws its data and selects a kernel. It reports whether
// one accepts the call for target.
func (tr *trial) bind(t testing.TB, r *rand.Rand, target tuned.Target) bool {
	t.Helper()
	op, ok := ops.Standard().Lookup(tr.op)
	if !ok {
		t.Fatalf("%s is not in the table", tr.op)
	}
	tr.node = tr.sample.Node(op)
	call, err := ops.Standard().Bind(tr.node)
	if err != nil {
		t.Fatalf("%s: %v", tr.name, err)
	}
	tr.call = call
	for _, v := range call.Operands() {
		o := eval.Operand{DType: v.Type.DType, Sizes: tr.sizes(t, v.Type)}
		n := int64(1)
		for _, s := range o.Sizes {
			n *= s
		}
		for range n {
			if o.DType == ir.Bool {
				o.Data = append(o.Data, byte(r.IntN(2)))
				continue
			}
			o.Data = binary.LittleEndian.AppendUint32(o.Data,
				math.Float32bits(float32(r.NormFloat64())))
		}
		tr.operands = append(tr.operands, o)
	}
	kernels := tuned.Standard()
	if tr.by != "" {
		kernels = slices.DeleteFunc(kernels, func(k *tuned.Kernel) bool { return k.Name != tr.by })
	}
	tr.in = tuned.Select(kernels, &tuned.Request{Call: call, Target: target,
		Const: func(k int) ([]byte, bool) { return tr.operands[k].Data, tr.constant[k] },
		Order: func(k int) []int {
			if k == 0 {
				return tr.xOrder
			}
			return nil
		},
		Out: tr.yOrder})
	return tr.in != nil
}

// prepare binds and computes what is wanted.
func (tr *trial) prepare(t testing.TB, r *rand.Rand, target tuned.Target) bool {
	t.Helper()
	if !tr.bind(t, r, target) {
		return false
	}
	want := tr.meaning(t)
	tr.want = inOrder(floats(want.Data), want.Sizes, tr.yOrder)
	if macs := tr.number(t, tr.in.MACs); len(tr.want) > 0 {
		tr.terms = float64(macs) / float64(len(tr.want))
	}
	for _, w := range tr.want {
		tr.sums = max(tr.sums, math.Abs(float64(w)))
	}
	tr.finish(t, r)
	return true
}

// naive is the most multiply-accumulates of a trial whose definition is evaluated
// element by element, which takes seconds for more; that of a larger one is run as
// loops.
const naive = 1 << 20

// meaning returns the result of the call by the operator's definition.
func (tr *trial) meaning(t testing.TB) eval.Operand {
	t.Helper()
	var args []interp.Value
	for _, o := range tr.operands {
		args = append(args, interp.Tensor(o.DType, o.Sizes, o.Data))
	}
	tr.node.Outputs = []*ir.Value{{Name: "y", Type: tr.call.Outs[0], Def: tr.node}}
	g := &ir.Graph{Inputs: tr.call.Operands(), Nodes: []*ir.Node{tr.node},
		Outputs: []ir.Arg{ir.Ref{Value: tr.node.Output(0)}}}
	m := interp.New(ops.Standard())
	if tr.number(t, tr.in.MACs) <= naive {
		m.Meaning = reference.Tensor
	}
	outs, err := m.Graph(g, args)
	if err != nil {
		t.Fatalf("%s: %v", tr.name, err)
	}
	return outs[0].Tensor
}

// finish applies the epilogue to what is wanted.
func (tr *trial) finish(t testing.TB, r *rand.Rand) {
	e := tr.epilogue
	if e == nil {
		return
	}
	inner, count := tr.number(t, tr.in.Channels.Inner), tr.number(t, tr.in.Channels.Count)
	n := 0
	if e.perResult {
		n = len(tr.want)
	} else if e.channel {
		n = int(count)
	}
	for range n {
		tr.extra = append(tr.extra, float32(r.NormFloat64()))
	}
	for o, acc := range tr.want {
		extra := float32(0)
		if e.perResult {
			extra = tr.extra[o]
		} else if e.channel {
			extra = tr.extra[int64(o)/inner%count]
		}
		tr.want[o] = e.apply(acc, extra)
	}
}

func (tr *trial) number(t testing.TB, e sym.Expr) int64 {
	t.Helper()
	n, err := e.Eval(func(s *sym.Symbol) (int64, bool) {
		v, ok := tr.syms[s]
		return v, ok
	})
	if err != nil {
		t.Fatalf("%s: %v", tr.name, err)
	}
	return n
}

func (tr *trial) sizes(t testing.TB, typ ir.Type) []int64 {
	out := make([]int64, len(typ.Sizes))
	for i, s := range typ.Sizes {
		out[i] = tr.number(t, s)
	}
	return out
}

// ints returns the values of the parameters.
func (tr *trial) ints(t testing.TB) []int64 {
	out := make([]int64, len(tr.in.Params))
	for i, p := range tr.in.Params {
		out[i] = tr.number(t, p.Value)
	}
	return out
}

// inputs returns what the kernel reads: operands, then packed constants.
func (tr *trial) inputs() (out [][]float32) {
	if tr.buffers != nil {
		return tr.buffers
	}
	defer func() { tr.buffers = out }()
	for _, k := range tr.in.Operands {
		data := floats(append(tr.operands[k].Data, make([]byte, -len(tr.operands[k].Data)&3)...))
		if k == 0 {
			data = inOrder(data, tr.operands[k].Sizes, tr.xOrder)
		}
		out = append(out, data)
	}
	for _, p := range tr.in.Packed {
		out = append(out, floats(p.Data))
	}
	return out
}

// check compares a result with what is wanted, within DESIGN.md's tolerance.
func (tr *trial) check(t testing.TB, got []float32) {
	t.Helper()
	largest := tr.sums // what rounding errors go with, though a bound hides them
	for _, w := range tr.want {
		largest = max(largest, math.Abs(float64(w)))
	}
	const eps = 1.0 / (1 << 23)
	for i, w := range tr.want {
		tol := 1e-5 + 1.3e-6*math.Abs(float64(w)) + 4*eps*math.Sqrt(max(tr.terms, 1))*largest
		if !(math.Abs(float64(got[i]-w)) <= tol) {
			t.Errorf("%s: %s: element %d of %d is %g, want %g", tr.in.Kernel.Name, tr.name, i,
				len(tr.want), got[i], w)
			return
		}
	}
}

func floats(data []byte) []float32 {
	out := make([]float32, len(data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

// inOrder returns row-major elements in the order of a layout of four
// dimensions, nil being row-major.
func inOrder(data []float32, sizes []int64, order []int) []float32 {
	if order == nil {
		return data
	}
	var out []float32
	var at [4]int64
	for at[order[0]] = range sizes[order[0]] {
		for at[order[1]] = range sizes[order[1]] {
			for at[order[2]] = range sizes[order[2]] {
				for at[order[3]] = range sizes[order[3]] {
					out = append(out, data[((at[0]*sizes[1]+at[1])*sizes[2]+at[2])*sizes[3]+at[3]])
				}
			}
		}
	}
	return out
}

// machine is a target that there is.
func machine(name string) *tuned.Machine {
	m, err := tuned.MachineNamed(name)
	if err != nil {
		panic(err)
	}
	return m
}
