package quantize

import (
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// Quantizer says what of a method is quantized, and how.
type Quantizer interface {
	Annotate(m *Model) *Annotation
}

// Annotation is what a quantizer says of a method.
type Annotation struct {
	Activations map[*ir.Value]*Spec
	Weights     map[*ir.Value]*WeightSpec
	Layers      []*Layer // in the order of execution, those that stay float32 included
}

// Spec says how an activation is quantized.
type Spec struct {
	DType     ir.DType
	Symmetric bool // the zero point is 0
	// Like is an activation with which this one shares scale and zero point, itself if none.
	Like *ir.Value
	// Fixed is the scale and zero point of a function whose range is known, nil if its range is
	// observed.
	Fixed *ir.QParams
	// Dynamic activations are quantized with the range that they have in the call: of
	// each row or of the whole.
	Dynamic, PerToken bool
}

// WeightSpec says how a constant is quantized.
type WeightSpec struct {
	Bits  int
	Axis  int // the dimension with a scale for each index, -1 for one scale
	Group int // how many elements of a row share a scale, 0 for all
}

// Layer is a node that multiplies by weights, or two activations.
type Layer struct {
	Node   *ir.Node
	Inputs []*ir.Value // the activations that it multiplies
	Result *ir.Value   // its own, or that of a limit behind it
	Weight *ir.Value   // the constant that it multiplies by, nil if there is none
	Bias   *ir.Value   // the constant that it adds, nil if there is none
	Float  bool        // it stays as it is
	axis   int         // of Weight's channels, -1 if they are none
	more   []*ir.Value // further weights
	lookUp bool        // it selects rows of its weight
}

// Default is the quantizer of the machines that etgen makes code for.
type Default struct {
	Scheme
	// Keep, if not nil, says which layers stay float32.
	Keep func(*Layer) bool
	// Wide, if not nil, says of which layers inputs and results have 16 bits.
	Wide func(*Layer) bool
	// Outside quantizes user inputs and outputs, whoever reads or makes them.
	Outside bool
	// Computes, if not nil, says which operators, by their base names, the machine computes in
	// integers. Layers of others stay float32, and so do the results of others.
	Computes func(op string) bool
}

// computes reports whether the machine computes an operator in integers.
func (d *Default) computes(op string) bool { return d.Computes == nil || d.Computes(op) }

// Annotate quantizes what layers multiply and, of a static scheme, what they make, and what
// is made of quantized activations alone: sums, pools, functions, normalizations. What moves
// elements shares scale and zero point with them. A limit (relu, clamp) behind a layer
// or a sum is part of it: only its result is quantized.
//
// What is left between: other operators, and statistics that only a root or a quotient
// reads, as in a norm written out by hand.
func (d *Default) Annotate(m *Model) *Annotation {
	a := &annotator{Default: d, m: m, layer: map[*ir.Node]*Layer{},
		demanded: map[*ir.Value]bool{}, merged: map[*ir.Value]bool{},
		out: &Annotation{Activations: map[*ir.Value]*Spec{}, Weights: map[*ir.Value]*WeightSpec{}}}
	for _, n := range m.Method.Graph.Nodes {
		if c := m.calls[n]; c != nil {
			a.find(n, c)
		}
	}
	if d.Static() {
		a.demand()
		a.activations()
		a.widen()
	} else if d.Dynamic {
		a.dynamic()
	}
	return a.out
}

type annotator struct {
	*Default
	m        *Model
	out      *Annotation
	layer    map[*ir.Node]*Layer
	demanded map[*ir.Value]bool // operands of products, and what moves to them
	merged   map[*ir.Value]bool // results that a limit behind them is quantized for
}

// product names the operands of an operator that multiplies matrices or images.
type product struct{ x, w, bias string }

var products = map[string]product{
	"conv1d": {"input", "weight", "bias"}, "conv2d": {"input", "weight", "bias"},
	"conv3d": {"input", "weight", "bias"}, "convolution": {"input", "weight", "bias"},
	"conv_transpose1d": {"input", "weight", "bias"},
	"conv_transpose2d": {"input", "weight", "bias"},
	"conv_transpose3d": {"input", "weight", "bias"},
	"linear":           {"input", "weight", "bias"}, "addmm": {"mat1", "mat2", "self"},
	"mm": {"self", "mat2", ""}, "bmm": {"self", "mat2", ""}, "matmul": {"self", "other", ""},
	"baddbmm": {"batch1", "batch2", ""},
}

// find notes n if it is a layer, and its weights.
func (a *annotator) find(n *ir.Node, c *ops.Call) {
	l := &Layer{Node: n, axis: -1, Result: n.Output(0)}
	base := ir.OpBase(n.Op)
	switch p, ok := products[base]; {
	case l.Result == nil || l.Result.Type.DType != ir.Float32:
		return
	case ok:
		for _, name := range []string{p.x, p.w} {
			v := c.Value(name)
			switch {
			case a.m.Activation(v):
				l.Inputs = append(l.Inputs, v)
			case l.Weight == nil && a.weight(v):
				l.Weight = v
			default:
				return
			}
		}
		if l.Weight != nil && l.Weight == c.Value(p.w) {
			l.axis = channelAxis(base, c, l.Weight.Type.Rank())
		}
		if p.bias != "" && c.Has(p.bias) && a.m.Constant[c.Value(p.bias)] {
			l.Bias = c.Value(p.bias)
		}
	case base == "embedding":
		if l.Weight, l.axis, l.lookUp = c.Value("weight"), 0, true; !a.weight(l.Weight) {
			return
		}
	case base == "lstm" || base == "gru" || base == "rnn_tanh" || base == "rnn_relu":
		for _, v := range c.Operands() {
			if a.weight(v) {
				l.more = append(l.more, v)
			}
		}
		if l.axis = 0; len(l.more) == 0 {
			return
		}
		l.Weight = l.more[0]
	default:
		return
	}
	a.layer[n] = l
	a.out.Layers = append(a.out.Layers, l)
	if l.Float = a.Keep != nil && a.Keep(l) || !a.computes(base); l.Float {
		return
	}
	for i, v := range append([]*ir.Value{l.Weight}, l.more...) {
		if v == nil || i > 0 && v == l.Weight {
			continue
		}
		w := &WeightSpec{Bits: a.Bits, Axis: l.axis}
		sizes, _ := v.Type.StaticSizes()
		n, _ := v.Type.Numel().Const()
		if w.Bits < 8 && !l.lookUp && l.axis >= 0 && n/sizes[l.axis] < fewWeights {
			w.Bits = 8
		}
		if n, group := n/max(sizes[max(l.axis, 0)], 1), int64(a.Group); group > 0 && n > group &&
			n%group == 0 && l.grouped(c) {
			w.Group = a.Group
		}
		if before := a.out.Weights[v]; before != nil && before.Axis != w.Axis {
			w.Axis, w.Group = -1, 0 // two layers read it along different dimensions
		}
		a.out.Weights[v] = w
	}
}

// grouped reports whether groups of the weights that a result is made of may have scales of
// their own: a matrix, or a convolution that is one for each element of an image.
func (l *Layer) grouped(c *ops.Call) bool {
	rank := l.Weight.Type.Rank()
	switch base := ir.OpBase(l.Node.Op); {
	case len(l.more) > 0 || l.axis < 0:
		return false
	case strings.HasPrefix(base, "conv"):
		return l.axis == 0 && lower.Pointwise(c)
	}
	return rank == 2
}

// fewWeights of a channel have 8 bits though a scheme gives 4: they are little of the whole, and
// each decides much of a result. So it is with depthwise convolutions, and those of an image.
const fewWeights = 48

// weight reports whether v is a constant matrix, or more, of float32.
func (a *annotator) weight(v *ir.Value) bool {
	if v == nil || !a.m.Constant[v] || v.Type.DType != ir.Float32 || v.Type.Rank() < 2 {
		return false
	}
	n, ok := v.Type.Numel().Const()
	return ok && n > 0
}

// channelAxis returns the dimension of a weight that holds the channels of the result, -1 if
// their scales may differ within a sum.
func channelAxis(base string, c *ops.Call, rank int) int {
	transposed := strings.HasPrefix(base, "conv_") || base == "convolution" &&
		c.Bool("transposed")
	switch {
	case transposed:
		if groups, err := c.Int("groups"); err != nil || groups != 1 {
			return -1
		}
		return 1
	case base == "mm" || base == "addmm" || base == "matmul":
		return rank - 1
	case base == "bmm" || base == "baddbmm":
		return -1
	}
	return 0
}

// limits are functions that a layer's rounding does at no cost.
var limits = []string{"relu", "relu6", "hardtanh", "clamp", "clamp_min", "clamp_max"}

// functions make each element of one element of an activation.
var functions = append([]string{"leaky_relu", "prelu", "elu", "selu", "celu", "gelu", "silu",
	"mish", "hardswish", "hardsigmoid", "sigmoid", "tanh", "softplus", "abs", "neg"}, limits...)

// made are operators whose result is quantized if all activations that they read are.
var made = append([]string{"add", "sub", "rsub", "mul", "div", "mean", "softmax", "_softmax",
	"layer_norm", "native_layer_norm", "rms_norm", "group_norm", "native_group_norm",
	"instance_norm", "batch_norm", "_native_batch_norm_legit_no_training", "upsample_bilinear2d",
	"upsample_bicubic2d", "upsample_linear1d", "pixel_shuffle", "glu"}, functions...)

// averages share their operand's scale and zero point, as in TFLite and CMSIS-NN.
var averages = []string{"avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d",
	"adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool3d"}

// shares reports whether c's results have scale and zero point of the activations it reads.
func (a *annotator) shares(c *ops.Call) bool {
	if slices.Contains(averages, ir.OpBase(c.Op.Name())) || lower.Shares(c) {
		return true
	}
	if ts, _, err := c.Results(); err != nil || ts != nil || c.Op.Decompose == nil {
		return false
	}
	g, _, err := ops.Decomposition(a.m.Table, c)
	if err != nil {
		return false
	}
	any := false
	for _, n := range g.Nodes {
		c, err := a.m.Table.Bind(n)
		if err != nil || len(c.Operands()) > 0 && !a.shares(c) {
			return false
		}
		any = any || len(c.Operands()) > 0
	}
	return any
}

// scales reports whether c multiplies the one activation that it reads by a number.
func scales(c *ops.Call) bool {
	switch ir.OpBase(c.Op.Name()) {
	case "mul", "div", "neg":
		return len(c.Operands()) == 1
	}
	return false
}

// demand marks what products multiply, and what is moved to become that.
func (a *annotator) demand() {
	nodes := a.m.Method.Graph.Nodes
	for _, l := range a.out.Layers {
		if !l.Float {
			for _, v := range l.Inputs {
				a.demanded[v] = true
			}
		}
	}
	if a.Outside {
		for v := range a.m.Returned {
			a.demanded[v] = a.m.Activation(v)
		}
		for i, v := range a.m.Method.Graph.Inputs {
			if a.m.Method.Inputs[i].Kind == ir.UserInput && a.m.Activation(v) {
				a.demanded[v] = true
			}
		}
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		c := a.m.calls[nodes[i]]
		if c == nil || !slices.ContainsFunc(nodes[i].Outputs, func(v *ir.Value) bool {
			return a.demanded[v]
		}) || !a.shares(c) {
			continue
		}
		for _, v := range a.m.activations(c) {
			a.demanded[v] = true
		}
	}
}

// activations quantizes activations in the order of execution.
func (a *annotator) activations() {
	for _, v := range a.m.Method.Graph.Inputs {
		if a.demanded[v] && a.m.Activation(v) {
			a.quantize(v)
		}
	}
	for _, n := range a.m.Method.Graph.Nodes {
		c := a.m.calls[n]
		for _, v := range n.Outputs {
			if a.m.Activation(v) && (a.demanded[v] || c != nil && a.wanted(n, c, v)) {
				a.result(n, c, v)
			}
		}
	}
}

// quantized reports whether v is quantized, or part of what will be.
func (a *annotator) quantized(v *ir.Value) bool {
	return a.out.Activations[v] != nil || a.merged[v]
}

// wanted reports whether v, which c makes, is to be quantized though nothing multiplies it.
func (a *annotator) wanted(n *ir.Node, c *ops.Call, v *ir.Value) bool {
	if l := a.layer[n]; l != nil {
		return !l.Float && len(l.Inputs) > 0
	}
	base, reads := ir.OpBase(n.Op), a.m.activations(c)
	for _, x := range reads {
		if !a.quantized(x) {
			return false
		}
	}
	switch {
	case len(reads) == 0:
		return false
	case a.shares(c):
		return true
	case !slices.Contains(made, base), !a.computes(base), base == "div" &&
		a.m.Activation(c.Value("other")):
		return false
	case a.m.Returned[v] && len(a.m.Users[v]) == 0 && !slices.Contains(limits, base) &&
		!slices.ContainsFunc(reads, func(x *ir.Value) bool { return a.merged[x] }):
		return false // the caller gets what float32 gives
	case slices.ContainsFunc(reads, func(x *ir.Value) bool { return a.merged[x] }):
		return true
	}
	return !a.statistic(v, 8) && !a.scores(v)
}

// statistic reports whether only roots, quotients and the like are made of v.
func (a *annotator) statistic(v *ir.Value, depth int) bool {
	if a.m.Returned[v] || depth == 0 {
		return false
	}
	for _, n := range a.m.Users[v] {
		c := a.m.calls[n]
		if c == nil || a.layer[n] != nil || a.shares(c) {
			return false
		}
		switch base := ir.OpBase(n.Op); {
		case base == "div" && c.Value("self") == v:
			return false
		case base == "div" || !slices.Contains(made, base):
		case len(a.m.activations(c)) > 1 || !a.statistic(n.Output(0), depth-1):
			return false
		}
	}
	return len(a.m.Users[v]) > 0
}

// scores reports whether only softmax reads v: a mask may have made numbers of it that no
// scale spans.
func (a *annotator) scores(v *ir.Value) bool {
	return len(a.m.Users[v]) > 0 && !slices.ContainsFunc(a.m.Users[v], func(n *ir.Node) bool {
		return !slices.Contains([]string{"softmax", "_softmax"}, ir.OpBase(n.Op))
	})
}

// result quantizes v, which n makes, or leaves that to the limit behind it.
func (a *annotator) result(n *ir.Node, c *ops.Call, v *ir.Value) {
	base := ir.OpBase(n.Op)
	if users := a.m.Users[v]; len(users) == 1 && !a.m.Returned[v] && !a.demanded[v] &&
		(a.layer[n] != nil || slices.Contains([]string{"add", "sub", "mul", "div"}, base)) {
		next := a.m.calls[users[0]]
		if next != nil && len(a.m.activations(next)) == 1 &&
			(slices.Contains(limits, ir.OpBase(users[0].Op)) || a.layer[n] != nil && scales(next)) {
			a.merged[v] = true
			return
		}
	}
	a.quantize(v)
	spec := a.out.Activations[v]
	if l := a.layerBefore(n); l != nil {
		l.Result = v
	}
	switch {
	case c == nil:
	case a.layer[n] == nil && a.shares(c):
		for _, x := range a.m.activations(c) {
			if a.quantized(x) {
				a.join(x, v)
			}
		}
	default:
		spec.Fixed = fixed(base, spec.DType)
	}
}

// layerBefore returns the layer whose result is merged into that of n, n itself if it is one.
func (a *annotator) layerBefore(n *ir.Node) *Layer {
	for a.layer[n] == nil {
		c := a.m.calls[n]
		if c == nil {
			return nil
		}
		xs := a.m.activations(c)
		if len(xs) != 1 || !a.merged[xs[0]] || xs[0].Def == nil {
			return nil
		}
		n = xs[0].Def
	}
	return a.layer[n]
}

// fixed returns scale and zero point of the functions whose range is known: those of TFLite.
func fixed(base string, d ir.DType) *ir.QParams {
	steps := math.Exp2(float64(8*d.Size() - 1))
	switch base {
	case "softmax", "_softmax", "sigmoid":
		if d == ir.Int8 {
			return &ir.QParams{Scale: 1.0 / 256, ZeroPoint: -128}
		}
		return &ir.QParams{Scale: 1 / steps}
	case "tanh":
		return &ir.QParams{Scale: 1 / steps}
	}
	return nil
}

func (a *annotator) quantize(v *ir.Value) {
	a.out.Activations[v] = &Spec{DType: a.Activations, Symmetric: a.Activations == ir.Int16, Like: v}
}

// widen gives the activations of some layers 16 bits, and those that share their scale.
func (a *annotator) widen() {
	wide := map[*ir.Value]bool{}
	for _, l := range a.out.Layers {
		if a.Wide == nil || !a.Wide(l) {
			continue
		}
		for _, v := range append([]*ir.Value{l.Result}, l.Inputs...) {
			if a.out.Activations[v] != nil {
				wide[a.out.Root(v)] = true
			}
		}
	}
	for v, s := range a.out.Activations {
		if wide[a.out.Root(v)] {
			s.DType, s.Symmetric = ir.Int16, true
			if s.Fixed != nil {
				s.Fixed = fixed(ir.OpBase(v.Def.Op), s.DType)
			}
		}
	}
}

// join makes two activations share scale and zero point.
func (a *annotator) join(x, y *ir.Value) {
	if x, y = a.out.Root(x), a.out.Root(y); x != y {
		a.out.Activations[y].Like = x
	}
}

// Root returns the activation whose scale and zero point v has.
func (a *Annotation) Root(v *ir.Value) *ir.Value {
	for a.Activations[v].Like != v {
		v = a.Activations[v].Like
	}
	return v
}

// dynamic quantizes the inputs of products by weights as the run goes.
func (a *annotator) dynamic() {
	for _, l := range a.out.Layers {
		base := ir.OpBase(l.Node.Op)
		if l.Float || l.Weight == nil || len(l.Inputs) != 1 || strings.HasPrefix(base, "conv") {
			continue
		}
		v := l.Inputs[0]
		a.out.Activations[v] = &Spec{DType: a.Activations, Like: v, Dynamic: true,
			PerToken: true}
	}
}
