package tuned

import (
	"maps"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// Conv2D is the convolution of one or two spatial dimensions with constant
// weights, packed as w[group][ceil(cout/cols)][kh][kw][cin][cols], cin and cout
// being channels per group, with zeros for the channels missing in a last
// panel; bias is padded likewise. Input and output are addressed by strides
// over batch, channel, row and column.
func Conv2D() *Kernel {
	return &Kernel{Name: "conv2d_f32", Descriptor: convParams, Go: "conv.F32",
		Buffers: []string{"w", "bias"}, Operands: []string{"x"}, C: true,
		InPatches: eachAlone, ScalarPatches: true, tiling: pairedTiles, Match: matchConv}
}

// DepthwiseConv2D is the convolution in which every channel is a group of its
// own and makes mult output channels; w is [channels·mult][kh][kw].
func DepthwiseConv2D() *Kernel {
	return &Kernel{Name: "depthwise_conv2d_f32", Forms: []string{depthwiseThree},
		Descriptor: depthwiseParams,
		Go:         "depthwise.F32", Buffers: []string{"w", "bias"}, Operands: []string{"x"}, C: true,
		Head: "TILE_FUSED", InPatches: eachAlone, ScalarPatches: true, tiling: slidingTiles,
		Windows: true, Match: matchDepthwise}
}

func matchConv(r *Request) *Instance {
	cv := convolutionOf(r)
	if cv == nil || cv.groups > 1 && cv.cin == 1 {
		return nil
	}
	t := r.Target.tile()
	if 4*cv.cout < t.Cols || !cv.constants(r) { // mostly zeros
		return nil
	}
	cv = cv.orient(r.Target)
	cols := int(roundUp(int64(cv.cout), t.Cols))
	w, bias := cv.panels(cv.groups, cv.cout, t.Cols, 0)
	in := cv.instance(t, convParams, cv.loops(), w, bias)
	in.Once = !r.Target.Language.EpilogueOnRuns
	in.Cost = cost(in.MACs) * float64(cols) / float64(cv.cout)
	return in
}

// loops are the fields that say what is summed innermost: the longer of input channels and kernel
// columns.
func (cv *convolution) loops() Values {
	channel, column := 2, 1
	if cv.cin < cv.axes[1].kernel {
		channel, column = 1, 2
	}
	return Values{"channel_loop": num(channel), "column_loop": num(column)}
}

func matchDepthwise(r *Request) *Instance {
	cv := convolutionOf(r)
	// Runs of an epilogue are columns here.
	if cv == nil || cv.groups == 1 || cv.cin != 1 ||
		cv.yLast && r.Target.Language.EpilogueOnRuns || !cv.constants(r) {
		return nil
	}
	cv = cv.orient(r.Target)
	w, bias := cv.panels(1, cv.groups*cv.cout, 1, 0)
	in := cv.instance(r.Target.tile(), depthwiseParams, Values{"channels": num(cv.groups),
		"multiplier": num(cv.cout)}, w, bias)
	if r.Target.tile().Pairs() && cv.three() {
		in.Form = depthwiseThree
	}
	in.Cost = cost(in.MACs)
	return in
}

// depthwiseThree is the form of DepthwiseConv2D for processors with many registers for floats and
// windows of three by three taps that slide over a row: a pixel is loaded once for all results of
// a row that see it.
const depthwiseThree = "depthwise_three_f32"

// three reports whether windows are such as depthwiseThree's: no more than the first and the last
// row and column that results see are outside of the image.
func (cv *convolution) three() bool {
	for i := range cv.axes {
		a := &cv.axes[i]
		step, ok := a.stride.Const()
		if a.kernel != 3 || !a.dilation.Is(1) || !ok || step > 2 || !sym.LessEq(a.pad, sym.Int(1)) ||
			!sym.LessEq(a.reach(), sym.Add(a.in, a.pad, sym.Int(1))) {
			return false
		}
	}
	return sym.LessEq(sym.Int(2), cv.axes[0].in)
}

// convolution is a call of aten::convolution, or of the padded one, of float32.
type convolution struct {
	x, w, b           int // operands, b the bias or -1
	batch             sym.Expr
	groups, cin, cout int // channels per group
	axes              [2]axis
	rows              axis // of the image, and of nothing but rows
	// rows of the image, and elements of its channels, whatever the patch
	height, plane sym.Expr
	tall          sym.Expr    // rows of results, whatever the patch
	weights, bias []float32   // once constants has read them; bias is zero if there is none
	read, given   bool        // constants has; they are constant
	swapped       bool        // axes are columns, rows
	point         bool        // a result sees the pixel where it is; pixels are one row
	xLast, yLast  bool        // the channels of input, output lie innermost in memory
	kernel        [2]int      // rows and columns of weights
	transposed    bool        // the weights are those of a transposed convolution
	exact         bool        // results are the sums of products, not computed another way
	mixed         bool        // weights are int8
	up            [2]sym.Expr // how far rows and columns of the input are apart
}

// axis is one spatial dimension.
type axis struct {
	in, out             sym.Expr
	kernel              int
	stride, dilation    sym.Expr
	pad, after          sym.Expr // zeros before the input, and behind it
	inStride, outStride sym.Expr
}

// padded reports whether results see zeros around the input.
func (a *axis) padded() bool {
	return !a.pad.IsZero() || !a.after.IsZero() && !sym.LessEq(a.reach(), a.in)
}

// reach is how much of the padded axis the results see.
func (a *axis) reach() sym.Expr {
	return sym.Add(sym.Mul(sym.Sub(a.out, sym.Int(1)), a.stride),
		sym.Mul(num(a.kernel-1), a.dilation), sym.Int(1))
}

// convolutionOf returns r as a convolution of float32 that is not transposed, or nil. All
// kernels that are asked get the same one.
func convolutionOf(r *Request) *convolution {
	if cv := anyConvolution(r); cv != nil && !cv.transposed {
		return cv
	}
	return nil
}

// anyConvolution is convolutionOf for transposed ones, too: one is the convolution with
// transposed weights over the input with zeros around its elements and between them.
func anyConvolution(r *Request) *convolution {
	if cv := floatConvolution(r); cv != nil && !cv.mixed {
		return cv
	}
	return nil
}

// floatConvolution is anyConvolution for those with weights of int8, too.
func floatConvolution(r *Request) *convolution {
	if !r.read {
		r.read, r.convolution = true, readConvolution(r)
	}
	return r.convolution
}

func readConvolution(r *Request) *convolution {
	c := r.Call
	transposed, exact, mixed := false, false, false
	switch c.Op.Name() {
	case "aten.convolution.default", "aten._convolution.default", "aten._convolution.deprecated":
		transposed = c.Bool("transposed")
	case ops.PaddedConvolution:
		exact = c.Bool("exact")
	case ops.MixedConvolution:
		mixed = true
	default:
		return nil
	}
	x, w := c.Tensor("input"), c.Tensor("weight")
	if !mixed && !allFloat32(c) || x.DType != ir.Float32 || w.Rank() < 3 || w.Rank() > 4 ||
		x.Rank() != w.Rank() {
		return nil
	}
	sizes, ok := w.StaticSizes()
	groups, err := c.Int("groups")
	if !ok || err != nil || w.Numel().IsZero() {
		return nil
	}
	cv := &convolution{x: c.Operand("input"), w: c.Operand("weight"), b: -1,
		batch: x.Sizes[0], transposed: transposed, exact: exact, mixed: mixed,
		groups: int(groups), cin: int(sizes[1]), cout: int(sizes[0] / groups),
		kernel: [2]int{1, int(sizes[2])}}
	if !mixed {
		cv.b = c.Operand("bias")
	}
	if transposed {
		cv.cin, cv.cout = cv.cout, cv.cin
	}
	if len(sizes) == 4 {
		cv.kernel = [2]int{int(sizes[2]), int(sizes[3])}
	}
	cv.xLast, cv.yLast = r.order(cv.x) != nil, r.Out != nil
	if !cv.spatial(c, r.Rows) {
		return nil
	}
	return cv
}

// constants reads weights and bias, if they are constant: nil if they are known
// later. It is the last of the conditions that a kernel has: there may be many
// megabytes.
func (cv *convolution) constants(r *Request) (ok bool) {
	if cv.read {
		return cv.given
	}
	cv.weights, ok = r.constant(cv.w)
	cv.bias = make([]float32, cv.groups*cv.cout)
	if ok && cv.b >= 0 {
		cv.bias, ok = r.constant(cv.b)
	}
	cv.read, cv.given = true, ok
	return ok
}

// known is constants for kernels that have to see the elements.
func (cv *convolution) known(r *Request) bool {
	return cv.constants(r) && cv.weights != nil && cv.bias != nil
}

// panels packs weights and bias in panels of cols of the n output channels that
// each of the groups has, the last panel of weights as wide as last if that is
// not 0.
func (cv *convolution) panels(groups, n, cols, last int) (w, bias Packed) {
	return inPanels("w", cv.shape(groups, n, cols, last), cv.weights, cv.w), cv.biases(groups, n, cols)
}

// shape is how panels packs weights.
func (cv *convolution) shape(groups, n, cols, last int) panels.Shape {
	taps := cv.kernel[0] * cv.kernel[1]
	s := panels.Shape{Groups: groups, N: n, A: cv.axes[0].kernel, B: cv.axes[1].kernel, C: cv.cin,
		Cols: cols, Last: last, Group: n * cv.cin * taps, Column: cv.cin * taps,
		StepA: cv.kernel[1], StepB: 1, StepC: taps}
	if cv.swapped {
		s.StepA, s.StepB = s.StepB, s.StepA
	}
	return s
}

// biases packs the bias in such panels; zeros, if there is none, are no operand.
func (cv *convolution) biases(groups, n, cols int) Packed {
	var from []int
	if cv.b >= 0 {
		from = []int{cv.b}
	}
	return inPanels("bias", panels.Shape{Groups: groups, N: n, A: 1, B: 1, C: 1, Cols: cols,
		Group: n, Column: 1}, cv.bias, from...)
}

// spatial fills in the axes: a missing first one has size 1. If the kernel is
// one tap that moves by one, rows and columns are one long row. Of the rows only
// those of patch count, if it is not nil.
func (cv *convolution) spatial(c *ops.Call, patch *Rows) bool {
	x, y := c.Tensor("input"), c.Outs[0]
	n := x.Rank() - 2
	one := sym.Int(1)
	step, outStep := one, one // from column to column
	if cv.xLast {
		step = x.Sizes[1]
	}
	if cv.yLast {
		outStep = y.Sizes[1]
	}
	cv.axes[0] = axis{in: one, out: one, kernel: 1, stride: one, dilation: one}
	cv.up = [2]sym.Expr{one, one}
	cv.point = true
	before, after := "padding", "padding"
	if c.Op.ParsedSchema().Index("before") >= 0 {
		before, after = "before", "after"
	}
	for d := range n {
		a := &cv.axes[2-n+d]
		*a = axis{in: x.Sizes[2+d], out: y.Sizes[2+d], kernel: cv.kernel[2-n+d], inStride: step,
			outStride: outStep}
		for _, arg := range []struct {
			name string
			to   *sym.Expr
		}{{"stride", &a.stride}, {before, &a.pad}, {after, &a.after}, {"dilation", &a.dilation}} {
			es, err := c.SymInts(arg.name)
			if arg.name == "padding" && len(es) == 4 && n == 2 { // before, and behind
				a.pad, a.after = es[d], es[2+d]
				continue
			}
			if err != nil || len(es) != 1 && len(es) != n {
				return false
			}
			*arg.to = es[min(d, len(es)-1)]
		}
		if a.kernel == 1 { // one tap is nowhere else, and steps of any size would overflow
			a.dilation = one
		}
		if cv.transposed {
			cv.up[2-n+d], a.stride = a.stride, one
			a.pad = sym.Sub(sym.Mul(num(a.kernel-1), a.dilation), a.pad)
			if lo, _ := a.pad.Bounds(); lo < 0 {
				return false // results begin inside of the image
			}
			a.after = a.reach()
		}
		cv.point = cv.point && a.kernel == 1 && a.stride.Is(1) && a.pad.IsZero() && a.after.IsZero()
		if a.out.Is(1) { // no step is made
			a.stride = one
		}
	}
	rows, cols := &cv.axes[0], &cv.axes[1]
	rows.inStride, rows.outStride = sym.Mul(cols.in, step), sym.Mul(cols.out, outStep)
	cv.height, cv.plane, cv.tall = rows.in, sym.Mul(rows.in, cols.in), rows.out
	if patch != nil {
		if cv.point && !cv.xLast {
			return false // channels are not one row
		}
		rows.in, rows.out, rows.pad = sym.Int(patch.In), sym.Int(patch.Out), sym.Int(patch.Pad)
		if patch.Pixels {
			cols.in, cols.out = one, one
		}
	}
	cv.rows = *rows
	if cv.point {
		cols.in, cols.out = sym.Mul(rows.in, cols.in), sym.Mul(rows.out, cols.out)
		rows.in, rows.out, cv.tall = one, one, one
	}
	return true
}

// orient returns cv with the longer axis as the inner one if the other is shorter
// than a tile. An epilogue on runs forbids it: they are columns.
func (cv *convolution) orient(t Target) *convolution {
	rows, cols := cv.tall, cv.axes[1].out
	if !t.Language.EpilogueOnRuns && sym.Less(cols, rows) && sym.Less(cols, sym.Int(8)) {
		own := *cv
		own.axes[0], own.axes[1] = cv.axes[1], cv.axes[0]
		own.swapped = true
		return &own
	}
	return cv
}

// instance makes the instance of a kernel with descriptor d, whose fields that only
// the kernel knows are own.
func (cv *convolution) instance(t Tile, d *Descriptor, own Values, w, bias Packed) *Instance {
	rows, cols := &cv.axes[0], &cv.axes[1]
	kh, kw := num(rows.kernel), num(cols.kernel)
	one := sym.Int(1)
	outArea := sym.Mul(rows.out, cols.out)
	inChannels, outChannels := num(cv.groups*cv.cin), num(cv.groups*cv.cout)
	inChannel, outChannel := cv.plane, outArea // from channel to channel
	if cv.xLast {
		inChannel = one
	}
	if cv.yLast {
		outChannel = one
	}
	// Output columns begin..end-1 see all kernel columns.
	begin := sym.CeilDiv(cols.pad, cols.stride)
	reach := sym.Sub(sym.Add(cols.in, cols.pad), sym.Mul(sym.Sub(kw, one), cols.dilation))
	end := sym.Max(sym.Int(0),
		sym.Min(cols.out, sym.Add(sym.FloorDiv(sym.Sub(reach, one), cols.stride), one)))
	given := cv.window()
	maps.Copy(given, Values{"interior_begin": begin, "interior_end": end,
		"in_stride_batch": sym.Mul(inChannels, cv.plane), "in_stride_channel": inChannel,
		"in_stride_row": rows.inStride, "in_stride_col": cols.inStride,
		"out_stride_batch": sym.Mul(outChannels, outArea), "out_stride_channel": outChannel,
		"out_stride_row": rows.outStride, "out_stride_col": cols.outStride,
		"in_bytes": sym.Int(0), "out_bytes": sym.Int(0)})
	return &Instance{
		Params:   d.params(own, given),
		Operands: []int{cv.x},
		Packed:   []Packed{w, bias},
		Channels: Channels{Inner: outChannel, Count: outChannels},
		Tile:     t,
		MACs:     sym.Mul(cv.batch, outChannels, outArea, kh, kw, num(cv.cin)),
	}
}

// window returns the fields that all convolutions have.
func (cv *convolution) window() Values {
	rows, cols := &cv.axes[0], &cv.axes[1]
	return Values{"batch": cv.batch, "groups": num(cv.groups),
		"in_channels": num(cv.cin), "out_channels": num(cv.cout),
		"in_h": rows.in, "in_w": cols.in, "out_h": rows.out, "out_w": cols.out,
		"kernel_h": num(rows.kernel), "kernel_w": num(cols.kernel),
		"stride_h": rows.stride, "stride_w": cols.stride, "dilation_h": rows.dilation,
		"dilation_w": cols.dilation, "pad_h": rows.pad, "pad_w": cols.pad}
}

// NHWC is the order in memory of the dimensions NCHW where channels lie innermost. It is never
// written.
var NHWC = []int{0, 2, 3, 1}

// ChannelsLast reports whether the convolutions of a target want images whose
// channels lie innermost in memory: those that work on vectors of channels.
func ChannelsLast(t Target) bool { return t.Speed && t.vectors() }

// IsConvolution reports whether c is a convolution of float32 images, the
// operator that a layout is chosen for.
func IsConvolution(c *ops.Call) bool {
	cv := floatConvolution(&Request{Call: c})
	return cv != nil && !cv.transposed && len(c.Outs[0].Sizes) == 4
}

// WorthCopies reports whether a convolution of row-major images (see
// IsConvolution) is better off among copies: into channels-last order, if its
// kernel does not gather images itself, and out of it.
func WorthCopies(c *ops.Call, t Target) (into, out bool) {
	cv := convolutionOf(&Request{Call: c})
	switch {
	case cv == nil || cv.outIsRow():
		return false, false
	case cv.cin == 1 && cv.groups > 1: // each channel on its own
		lanes := cv.cout == 1 && cv.groups >= rowsCols/2
		return lanes, lanes
	}
	taps := cv.cin * cv.kernel[0] * cv.kernel[1]
	return false, cv.groups == 1 && taps >= copyMACs && cv.cout >= t.Language.Costs.CopiedChannels
}

// copyMACs is how many multiply-accumulates of a kernel that works on rows are
// worth one element copied from or to another layout.
const copyMACs = 16
