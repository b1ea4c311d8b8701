package tuned_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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
	bits     int             // of integers
	zero     *int64          // floats are bytes less that
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
			if o.DType == ir.Int8 {
				o.Data = append(o.Data, byte(int8(r.Uint32())>>(8-tr.bits)))
				continue
			}
			x := float32(r.NormFloat64())
			if tr.zero != nil {
				x = float32(r.Int64N(256) - 128 - *tr.zero)
			}
			o.Data = binary.LittleEndian.AppendUint32(o.Data, math.Float32bits(x))
		}
		tr.operands = append(tr.operands, o)
	}
	kernels := tuned.Standard()
	if tr.by != "" {
		kernels = slices.DeleteFunc(kernels, func(k *tuned.Kernel) bool { return !has(k, tr.by) })
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
// element by element, which takes longer than all compilers for more; that of a larger one
// is run as loops.
const naive = 1 << 16

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
	for _, p := range tr.in.Packed { // bytes are the bits of floats
		out = append(out, floats(append(slices.Clone(p.Data), make([]byte, -len(p.Data)&3)...)))
	}
	return out
}

// check compares a result with what is wanted, within the tolerance of sums of floats.
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
			t.Errorf("%s: %s: element %d of %d is %g, want %g", tr.in.Name(), tr.name, i,
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

// operand is a float32 operand of a trial.
func operand(sizes ...sym.Expr) samples.Input {
	return samples.Input{Value: &ir.Value{Type: ir.TensorOf(ir.Float32, sizes...)}}
}

func static(sizes ...int64) samples.Input { return operand(ir.Ints(sizes)...) }

// pick returns one of xs.
func pick[T any](r *rand.Rand, xs ...T) T { return xs[r.IntN(len(xs))] }

// size returns a size that is often 1 and around the bounds of tiles.
func size(r *rand.Rand) int64 {
	return pick[int64](r, 1, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 15, 16, 17, 20, 33)
}

// linearTrials are calls with a constant matrix.
func linearTrials(r *rand.Rand, count int) []*trial {
	var out []*trial
	for i := range count {
		m, n, k := size(r), size(r), size(r)
		tr := &trial{syms: map[*sym.Symbol]int64{}}
		rows := sym.Int(m)
		if i%4 == 3 { // a dynamic batch
			s := sym.NewSymbol("s", 1, 64)
			tr.syms[s] = m
			rows = s.Expr()
		}
		x := operand(rows, sym.Int(k))
		switch i % 5 {
		case 0:
			tr.op, tr.sample = "aten.linear.default", samples.NewSample("input", x, "weight",
				static(n, k), "bias", static(n))
			tr.constant = []bool{false, true, true}
		case 1:
			x := operand(sym.Int(2), rows, sym.Int(k))
			tr.op, tr.sample = "aten.linear.default", samples.NewSample("input", x, "weight",
				static(n, k))
			tr.constant = []bool{false, true}
		case 2:
			tr.op, tr.sample = "aten.mm.default", samples.NewSample("self", x, "mat2", static(k, n))
			tr.constant = []bool{false, true}
		case 3:
			bias := pick(r, static(n), static(1, n), static(1))
			tr.op, tr.sample = "aten.addmm.default", samples.NewSample("self", bias, "mat1", x, "mat2",
				static(k, n))
			tr.constant = []bool{true, false, true}
		case 4:
			tr.op, tr.sample = "aten.mv.default", samples.NewSample("self", static(n, k),
				"vec", static(k))
			tr.constant = []bool{true, false}
		}
		tr.name = fmt.Sprintf("%s %d: m %d, n %d, k %d", tr.op, i, m, n, k)
		out = append(out, tr)
	}
	s := sym.NewSymbol("s", 1, 64)
	// whole pairs of panels
	for i, rows := range []sym.Expr{s.Expr(), s.Expr(), sym.Int(5), sym.Int(31), sym.Int(12)} {
		n, k, m := int64(64+i%2*64), int64(3+37*(i%3)), int64(1+11*i)
		out = append(out, &trial{name: fmt.Sprintf("linear of pairs %d: m %s, n %d, k %d", i, rows,
			n, k), op: "aten.linear.default", syms: map[*sym.Symbol]int64{s: m},
			sample: samples.NewSample("input", operand(rows, sym.Int(k)), "weight", static(n, k),
				"bias", static(n)), constant: []bool{false, true, true}})
	}
	return out
}

// matmulTrials are products of two operands that are not constant.
func matmulTrials(r *rand.Rand, count int) []*trial {
	var out []*trial
	for i := range count {
		b, m, n, k := 1+r.Int64N(3), size(r), 1+size(r), size(r)
		tr := &trial{syms: map[*sym.Symbol]int64{}}
		rows := sym.Int(m)
		if i%4 == 3 {
			s := sym.NewSymbol("s", 1, 64)
			tr.syms[s] = m
			rows = s.Expr()
		}
		switch i % 3 {
		case 0:
			tr.op, tr.sample = "aten.mm.default", samples.NewSample("self", operand(rows, sym.Int(k)),
				"mat2", static(k, n))
		case 1:
			tr.op, tr.sample = "aten.bmm.default", samples.NewSample("self", operand(sym.Int(b), rows,
				sym.Int(k)), "mat2", static(b, k, n))
		case 2:
			tr.op, tr.sample = "aten.linear.default", samples.NewSample("input",
				operand(sym.Int(b), rows, sym.Int(k)), "weight", static(n, k))
		}
		tr.constant = []bool{false, false}
		tr.name = fmt.Sprintf("%s %d: b %d, m %d, n %d, k %d", tr.op, i, b, m, n, k)
		out = append(out, tr)
	}
	return out
}

// kernelOf is the name of a kernel without that of one of its forms: "conv2d_few_f32" of
// "conv2d_few_f32 planes", whose results are row-major.
func kernelOf(form string) string {
	name, _, _ := strings.Cut(form, " ")
	return name
}

// depthwiseThree is the form for windows of three by three that slide, depthwiseEights that for
// eights of channels; threes reports whether code for a target has them.
const (
	depthwiseThree  = "depthwise_three_f32"
	depthwiseEights = "depthwise_eights_f32"
)

func threes(target tuned.Target) bool {
	return target.Language == tuned.C && target.Machine.Tile.Pairs()
}

// has reports whether a kernel has a form; that of Go alone has no template.
func has(k *tuned.Kernel, form string) bool {
	return k.Name == form || slices.Contains(k.Forms, form) ||
		k.Name == "depthwise_rows_f32" && form == "depthwise_lanes_f32"
}

// convTrials are convolutions with constant weights for one kernel.
func convTrials(r *rand.Rand, target tuned.Target, count int, kernel string) []*trial {
	var out []*trial
	for i := 0; len(out) < count; i++ {
		dims := 1 + min(r.IntN(4), 1)
		groups, cin, cout := int64(1), pick[int64](r, 1, 2, 3, 5, 8),
			pick[int64](r, 4, 5, 8, 16, 17)
		var xOrder, yOrder []int
		last := []int{0, 2, 3, 1}
		switch kernelOf(kernel) {
		case "conv2d_f32", "mixed_conv2d_f32":
			if i%4 == 0 {
				groups, cin = 2+r.Int64N(2), 2+r.Int64N(3)
				if dims == 2 && i%8 == 0 && tuned.ChannelsLast(target) {
					xOrder, yOrder = pick(r, nil, last), last
				}
			}
		case "conv2d_rows_f32", "conv2d_edges_f32":
			if channels := strings.HasSuffix(kernel, " inner"); channels {
				// images whose channels lie innermost, or come to be
				dims, cout = 2, pick[int64](r, 16, 17, 24, 32, 33, 40, 64)
				if target.Language == tuned.Go {
					cout = pick(r, 1, 3, 8, cout)
				}
				yOrder = last
				if i%2 == 0 {
					xOrder = last
				}
				break
			}
			if i%2 == 0 {
				groups = 1 + r.Int64N(3)
				cin = 1 + cin*min(1, groups-1)
			}
			if !strings.Contains(kernel, " planes") {
				dims, yOrder = 2, last
			}
			if i%4 > 1 {
				dims, xOrder = 2, last
			}
		case "conv2d_bytes":
			if cout = pick(r, 1, 33, 70, cout); i%3 > 0 {
				dims, xOrder, yOrder = 2, pick(r, nil, last), pick(r, nil, last)
			}
		case "conv2d_few_f32", "conv2d_few_bytes":
			if cout = 4 + r.Int64N(5); kernelOf(kernel) == "conv2d_few_bytes" {
				cin = 1 + r.Int64N(3)
			}
			if !strings.Contains(kernel, " planes") {
				dims, yOrder = 2, last
			}
			if i%4 == 0 {
				dims, xOrder, cin = 2, last, 1
			}
		case depthwiseThree:
			dims, groups, cin, cout = 2, 2+r.Int64N(8), 1, pick[int64](r, 1, 1, 2, 3)
		case "depthwise_conv2d_f32", "mixed_depthwise_f32":
			groups, cin, cout = 2+r.Int64N(8), 1, pick[int64](r, 1, 1, 2, 3)
		case "depthwise_rows_f32", "depthwise_slide_f32", "depthwise_lanes_f32":
			dims, groups, cin, cout = 2, pick[int64](r, 16, 17, 24, 32, 40, 72), 1, 1
			if target.Language == tuned.Go {
				groups = pick(r, 2, 3, 7, 8, 12, groups)
			}
			xOrder, yOrder = last, last
		case "depthwise_bytes":
			dims, groups, cin, cout = 2, pick[int64](r, 48, 64, 96, 144), 1, 1
			xOrder, yOrder = last, last
		case "depthwise_narrow_f32", depthwiseEights:
			dims, groups, cin, cout = 2, 8, 1, 1
			if kernel == depthwiseEights {
				groups = pick[int64](r, 8, 16, 24)
			}
			xOrder, yOrder = last, last
		}
		batch := 1 + r.Int64N(2)
		x, w := []int64{batch, groups * cin}, []int64{groups * cout, cin}
		var padding *int64 // of all axes, if not random
		switch {
		case strings.HasSuffix(kernel, " inner") && i%4 == 0:
			padding = new(int64)
		case strings.HasSuffix(kernel, " inner") && xOrder != nil || strings.Contains(kernel, "_edges"):
			padding = new(int64)
			*padding = 1 + r.Int64N(3)
		}
		var stride, pad, after, dilation []int64
		fits, pixels := true, int64(1)
		for range dims {
			in, taps := pick[int64](r, 1, 2, 4, 5, 7, 9, 14, 25), pick[int64](r, 1, 1, 2,
				3, 3, 5, 10)
			s, d := pick[int64](r, 1, 1, 2, 3), pick[int64](r, 1, 1, 2, 3)
			slides := len(stride) == 1 && (kernel == "depthwise_narrow_f32" ||
				kernel == "depthwise_slide_f32")
			if slides {
				taps, s, d = pick[int64](r, 3, 5), pick[int64](r, 1, 2), 1
				if kernel == "depthwise_narrow_f32" {
					s = 1
				}
			}
			if kernel == depthwiseThree {
				in, taps, s, d = max(in, 2), 3, pick[int64](r, 1, 2), 1
			}
			if kernel == "depthwise_conv2d_f32" && threes(target) && taps == 3 {
				d = 2 // windows do not slide
			}
			if kernel == "depthwise_rows_f32" && len(stride) == 1 && (taps == 3 || taps == 5) {
				d = 2 // windows do not slide
			}
			if strings.Contains(kernel, "_few") && len(stride) == dims-1 {
				d = 1
			}
			if strings.Contains(kernel, "_few") && i%3 == 1 { // a band of rows has not all
				in = []int64{40, 130}[len(stride)+2-dims]
			}
			if xOrder == nil && dims == 2 && (kernelOf(kernel) == "conv2d_rows_f32" ||
				strings.Contains(kernel, "_edges")) {
				d = 1
			}
			p := pick(r, 0, 0, 1, taps/2, taps, taps+2)
			if padding != nil {
				p = *padding
			}
			behind := p
			if i%3 == 2 && (padding == nil || p > 0) {
				behind = r.Int64N(taps + 2)
			}
			if slides {
				p, behind = min(p, taps-1), min(behind, taps-1)
			}
			if kernel == depthwiseThree {
				p, behind = min(p, 1), min(behind, 1)
			}
			fits = fits && in+p+behind >= (taps-1)*d+1
			pixels *= (in+p+behind-(taps-1)*d-1)/s + 1
			x, w = append(x, in), append(w, taps)
			stride, pad, after, dilation = append(stride, s), append(pad, p), append(after, behind),
				append(dilation, d)
		}
		if !fits || pixels == 1 && kernel == "conv2d_f32" { // one pixel is in any layout
			continue
		}
		tr := &trial{op: "aten.convolution.default", by: kernelOf(kernel), syms: map[*sym.Symbol]int64{},
			xOrder: xOrder, yOrder: yOrder}
		input := static(x...)
		if i%5 == 4 {
			s := sym.NewSymbol("s", 1, 64)
			tr.syms[s] = batch
			input = operand(append([]sym.Expr{s.Expr()}, ir.Ints(x[1:])...)...)
		}
		var bias any
		if i%3 > 0 {
			bias = static(groups * cout)
		}
		args := []any{"input", input, "weight", static(w...), "bias", bias, "stride", stride,
			"dilation", dilation, "groups", groups}
		if slices.Equal(pad, after) {
			args = append(args, "padding", pad, "transposed", false, "output_padding",
				make([]int64, dims))
		} else {
			tr.op = ops.PaddedConvolution
			args = append(args, "before", pad, "after", after)
		}
		if strings.Contains(kernel, "_bytes") {
			tr.op, tr.bits, tr.zero = ops.IntegerConvolution, 8, new(int64)
			*tr.zero = r.Int64N(256) - 128
			args = []any{"input", input, "weight", samples.Tensor(ir.Int8, samples.Values{}, w...),
				"stride", stride, "before", pad, "after", after, "dilation", dilation, "transposed", false,
				"output_padding", make([]int64, dims), "groups", groups, "input_zero_point", *tr.zero,
				"weight_zero_point", 0, "dtype", ir.Float32}
		}
		if strings.HasPrefix(kernel, "mixed") {
			tr.op, tr.bits = ops.MixedConvolution, 4+i%2*4
			args = []any{"input", input, "weight", samples.Tensor(ir.Int8, samples.Values{}, w...),
				"stride", stride, "before", pad, "after", after, "dilation", dilation, "groups", groups}
		}
		tr.sample = samples.NewSample(args...)
		tr.constant = []bool{false, true, true}
		tr.name = fmt.Sprintf(
			"convolution %d: x %d, w %d, stride %d, padding %d and %d, dilation %d, groups %d", i,
			x, w, stride, pad, after, dilation, groups)
		out = append(out, tr)
	}
	return out
}

// transposedTrials are transposed convolutions with constant weights, with
// results whose channels are innermost or row-major ones.
func transposedTrials(r *rand.Rand, count int, kernel string) []*trial {
	var out []*trial
	for i := 0; len(out) < count; i++ {
		dims, edges := 2, strings.Contains(kernel, "_edges")
		var xOrder, yOrder []int
		last := []int{0, 2, 3, 1}
		if !strings.Contains(kernel, " planes") {
			yOrder = last
		}
		if i%2 == 0 {
			xOrder = last
		} else if yOrder == nil {
			dims = 1 + r.IntN(2)
		}
		groups := 1 + r.Int64N(3)
		x, w := []int64{1 + r.Int64N(2), groups * (2 + r.Int64N(3))},
			[]int64{0, pick[int64](r, 4, 5, 17)}
		w[0] = x[1]
		var stride, pad, dilation, more []int64
		fits := true
		for d := range dims {
			in, taps, s := pick[int64](r, 1, 2, 4, 5, 7, 9), pick[int64](r, 1, 2, 3, 4),
				pick[int64](r, 1, 2, 3)
			step := pick[int64](r, 1, 2)
			if edges {
				s = 2 + r.Int64N(2) // zeros between elements
			}
			if d == 1 && xOrder == nil || edges {
				step = 1
			}
			if edges && d == dims-1 && xOrder == nil {
				taps = min(taps, s)
			}
			p := r.Int64N((taps-1)*step + 1)
			o := r.Int64N(max(s, step))
			fits = fits && (in-1)*s-2*p+(taps-1)*step+o+1 > 0
			x, w = append(x, in), append(w, taps)
			stride, pad, dilation, more = append(stride, s), append(pad, p), append(dilation, step),
				append(more, o)
		}
		if !fits {
			continue
		}
		out = append(out, &trial{
			name: fmt.Sprintf(
				"transposed convolution %d: x %d, w %d, stride %d, padding %d, dilation %d, more %d, "+
					"groups %d", i, x, w, stride, pad, dilation, more, groups),
			op: "aten.convolution.default", by: kernelOf(kernel), syms: map[*sym.Symbol]int64{},
			xOrder: xOrder, yOrder: yOrder, constant: []bool{false, true, true},
			sample: samples.NewSample("input", static(x...), "weight", static(w...), "bias",
				static(groups*w[1]), "stride", stride, "padding", pad,
				"dilation", dilation, "transposed", true, "output_padding", more, "groups", groups),
		})
	}
	return out
}

// poolTrials are the largest elements of windows, or their means.
func poolTrials(r *rand.Rand, count int, mean, planes bool) []*trial {
	var out []*trial
	last := []int{0, 2, 3, 1}
	if planes {
		last = nil
	}
	for i := 0; len(out) < count; i++ {
		x := []int64{1 + r.Int64N(2), pick[int64](r, 1, 3, 16, 33), pick[int64](r, 4, 5, 9, 14),
			pick[int64](r, 4, 5, 9, 14, 37)}
		kernel, stride, pad, dilation := make([]int64, 2), make([]int64, 2), make([]int64, 2),
			[]int64{1, 1}
		fits := true
		for d := range kernel {
			kernel[d], stride[d] = 1+r.Int64N(5), 1+r.Int64N(3)
			if !mean {
				dilation[d] = 1 + r.Int64N(2)
			}
			pad[d] = r.Int64N(kernel[d]/2 + 1)
			fits = fits && x[2+d]+2*pad[d] > (kernel[d]-1)*dilation[d]
		}
		if !fits {
			continue
		}
		if i%4 == 0 {
			stride = []int64{}
		}
		tr := &trial{
			name: fmt.Sprintf("pool %d: x %d, window %d, stride %d, padding %d, dilation %d", i, x,
				kernel, stride, pad, dilation),
			op: "aten.max_pool2d.default", syms: map[*sym.Symbol]int64{}, xOrder: last,
			yOrder: last, constant: []bool{false},
			sample: samples.NewSample("self", static(x...), "kernel_size", kernel, "stride", stride,
				"padding", pad, "dilation", dilation, "ceil_mode", i%3 == 0),
		}
		if mean {
			args := []any{"self", static(x...), "kernel_size", kernel, "stride", stride, "padding",
				pad, "ceil_mode", i%3 == 0, "count_include_pad", r.IntN(2) == 0}
			if r.IntN(4) == 0 {
				args = append(args, "divisor_override", 1+r.Int64N(5))
			}
			tr.op, tr.sample = "aten.avg_pool2d.default", samples.NewSample(args...)
		}
		out = append(out, tr)
	}
	return out
}

// twoColumns is a convolution whose padding gcc 12 got wrong at -O3: stores
// under a condition and those of its other branch were merged.
func twoColumns() *trial {
	last := []int{0, 2, 3, 1}
	return &trial{
		op: "aten.convolution.default", by: "conv2d_rows_f32", name: "convolution of two columns",
		syms: map[*sym.Symbol]int64{}, xOrder: last, yOrder: last,
		sample: samples.NewSample("input", static(1, 1, 9, 2), "weight", static(64, 1, 3, 1), "bias",
			nil, "stride", []int64{1, 2}, "dilation", []int64{1, 1},
			"groups", int64(1), "padding", []int64{1, 1}, "transposed", false, "output_padding",
			[]int64{0, 0}),
		constant: []bool{false, true, true},
	}
}
