package xnn

import (
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/ir/xnnpack"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/partition"
)

// rule is what is done with an operator.
type rule struct {
	// static are the operands that must be constants.
	static []string
	// refuse says why a call is not taken, "" if it is; nil takes all.
	refuse func(c *ops.Call) string
	// write writes a call, whose results then have values.
	write func(w *writer, c *ops.Call)
}

// rules are the operators that are taken.
var rules = map[string]rule{
	quantizeOp:                {write: quantize},
	dequantizeOp:              {write: dequantize},
	channelsOp:                {write: dequantize},
	groupsOp:                  {write: dequantize},
	affineOp:                  {write: dequantize},
	"aten.add.Tensor":         {refuse: alphaIsOne, write: twoOperands("XNNAdd")},
	"aten.add.Scalar":         {refuse: alphaIsOne, write: twoOperands("XNNAdd")},
	"aten.sub.Tensor":         {refuse: alphaIsOne, write: twoOperands("XNNSubtract")},
	"aten.sub.Scalar":         {refuse: alphaIsOne, write: twoOperands("XNNSubtract")},
	"aten.mul.Tensor":         {write: twoOperands("XNNMultiply")},
	"aten.mul.Scalar":         {write: twoOperands("XNNMultiply")},
	"aten.div.Tensor":         {write: twoOperands("XNNDiv")},
	"aten.div.Scalar":         {write: twoOperands("XNNDiv")},
	"aten.maximum.default":    {write: twoOperands("XNNMaximum")},
	"aten.minimum.default":    {write: twoOperands("XNNMinimum")},
	"aten.abs.default":        {write: unary("XNNAbs")},
	"aten.ceil.default":       {write: unary("XNNCeiling")},
	"aten.clone.default":      {write: unary("XNNCopy")},
	"aten.cos.default":        {write: unary("XNNCos")},
	"aten.exp.default":        {write: unary("XNNExp")},
	"aten.floor.default":      {write: unary("XNNFloor")},
	"aten.gelu.default":       {refuse: isWide, write: gelu},
	"aten.hardswish.default":  {write: unary("XNNHardswish")},
	"aten.leaky_relu.default": {write: factored("XNNLeakyReLU", "negative_slope")},
	"aten.elu.default":        {refuse: scalesOnce, write: factored("XNNELU", "alpha")},
	"aten.log.default":        {write: unary("XNNLog")},
	"aten.neg.default":        {write: unary("XNNNegate")},
	"aten.rsqrt.default":      {write: unary("XNNReciprocalSquareRoot")},
	"aten.sigmoid.default":    {write: unary("XNNSigmoid")},
	"aten.sin.default":        {write: unary("XNNSin")},
	"aten.sqrt.default":       {write: unary("XNNSquareRoot")},
	"aten.tanh.default":       {write: unary("XNNTanh")},
	"aten.pow.Tensor_Scalar":  {refuse: isSquare, write: unary("XNNSquare")},
	"aten.relu.default":       {write: clamp},
	"aten.hardtanh.default":   {refuse: hasLimits, write: clamp},
	"aten.clamp.default":      {refuse: hasLimits, write: clamp},
	"aten._softmax.default":   {refuse: lastDim, write: softmax},
	"aten.linear.default": {static: []string{"weight", "bias"}, refuse: isLayer,
		write: linear},
	"aten.mm.default": {static: []string{"mat2"}, write: product("self", "mat2", "")},
	"aten.addmm.default": {static: []string{"mat2", "self"}, refuse: isLinear,
		write: product("mat1", "mat2", "self")},
	"aten.bmm.default": {write: matmul},
	"aten.convolution.default": {static: []string{"weight", "bias"}, refuse: convolves,
		write: convolution},
	"aten.max_pool2d.default":              {refuse: maxPools, write: maxPool},
	"aten.max_pool2d_with_indices.default": {refuse: maxPools, write: maxPool},
	"aten.amax.default":                    {refuse: maxOfRows, write: largest},
	"aten.max.dim":                         {refuse: maxOfRows, write: largest},
	"aten.avg_pool2d.default":              {refuse: averages, write: averagePool},
	"aten.avg_pool1d.default":              {refuse: averages, write: averagePool},
	"aten.adaptive_avg_pool1d.default":     {refuse: isMeanOfLine, write: globalPool},
	"aten.mean.dim":                        {refuse: isGlobal, write: globalPool},
	"aten.upsample_bilinear2d.vec":         {refuse: resizes, write: resize},
	"aten.prelu.default": {static: []string{"weight"}, refuse: hasSlopes,
		write: prelu},
	"aten._native_batch_norm_legit_no_training.default": {
		static: []string{"weight", "bias", "running_mean", "running_var"},
		refuse: normalizesChannels, write: normalize},
	"aten.cat.default":             {refuse: severalTensors, write: concatenate},
	"aten.constant_pad_nd.default": {refuse: pads, write: pad},
	"aten.slice.Tensor":            {refuse: staticSlice, write: slice},
	"aten.slice_copy.Tensor":       {refuse: staticSlice, write: slice},
	"aten.permute.default":         {write: transpose},
	"aten.permute_copy.default":    {write: transpose},
	"aten.view.default":            {refuse: oneUnknown, write: reshape},
	"aten.view_copy.default":       {refuse: oneUnknown, write: reshape},
	"aten.unsqueeze.default":       {refuse: oneUnknown, write: reshape},
	"aten.unsqueeze_copy.default":  {refuse: oneUnknown, write: reshape},
	"aten.squeeze.dim":             {refuse: oneUnknown, write: reshape},
	"aten.squeeze.dims":            {refuse: oneUnknown, write: reshape},
	"aten.squeeze_copy.dim":        {refuse: oneUnknown, write: reshape},
	"aten.squeeze_copy.dims":       {refuse: oneUnknown, write: reshape},
	lower.ToDimOrderOp:             {refuse: fromLast, write: rowMajor},
}

// firstAlone are the operators that are taken if nobody reads any but their first result: the
// second says where its elements are, or others hold nothing.
var firstAlone = map[string]bool{"aten.max_pool2d_with_indices.default": true,
	"aten.max.dim": true, "aten._native_batch_norm_legit_no_training.default": true}

func isRead(g *partition.Graph, v *ir.Value) bool {
	nodes, elsewhere := g.Readers(v)
	return v != nil && (elsewhere || len(nodes) > 0)
}

// refusal says why a node is not taken, "" if it is, or if its result has no dimensions: see
// choice.inner.
func refusal(g *partition.Graph, n *ir.Node, c *ops.Call) string {
	r, ok := rules[c.Op.Name()]
	if !ok {
		return "XNNPACK has no such operator"
	}
	for _, v := range c.Operands() {
		if why := unfit(v.Type); why != "" {
			return v.Name + " " + why
		}
		if d := c.Outs[0].DType; v.Type.DType != d {
			return fmt.Sprintf("%s is %v, its result of %v", v.Name, v.Type, d)
		}
	}
	for i, t := range c.Outs {
		if i > 0 && firstAlone[c.Op.Name()] && !isRead(g, n.Outputs[i]) {
			continue
		}
		if why := unfit(t); why != "" {
			return "its result " + why
		}
	}
	for _, name := range r.static {
		if v := c.Value(name); v != nil && !g.Constant(v) && weightOf(g, v) == nil {
			return name + " is no constant"
		}
	}
	if r.refuse != nil {
		return r.refuse(c)
	}
	return ""
}

// maxSize bounds a dimension.
const maxSize = math.MaxInt32

// floats are the types of elements that are taken.
var floats = map[ir.DType]xnnpack.DataType{ir.Float32: xnnpack.FP32, ir.Float16: xnnpack.FP16}

// unfit says why XNNPACK has no tensors of a type, "" if it has.
func unfit(t ir.Type) string {
	switch {
	case t.Kind != ir.TensorKind || floats[t.DType] == xnnpack.Invalid:
		return fmt.Sprintf("is %v, of neither float32 nor float16", t)
	case t.Rank() > xnnpack.MaxDims:
		return fmt.Sprintf("has %d dimensions", t.Rank())
	}
	for _, s := range t.Sizes {
		if lo, hi := s.Bounds(); lo < 1 || hi > maxSize || ops.DataDecides(s) {
			return fmt.Sprintf("has a size of %v", s)
		}
	}
	return ""
}

// lastInMemory reports whether an argument of the part has its channels last in memory.
func lastInMemory(t ir.Type) bool {
	order, last := lower.DimOrder(t)
	return last && len(order) == 4
}

// fromLast refuses copies but those of images with channels last in memory to row-major order.
func fromLast(c *ops.Call) string {
	if !lastInMemory(c.Tensor("self")) || !c.Outs[0].IsContiguous() {
		return "it copies no image with channels last to row-major order"
	}
	return ""
}

func alphaIsOne(c *ops.Call) string {
	if a, err := c.Float("alpha"); err != nil || a != 1 {
		return "it has a factor alpha"
	}
	return ""
}

func isWide(c *ops.Call) string {
	if c.Outs[0].DType != ir.Float32 {
		return "XNNPACK has it in float32 alone"
	}
	return ""
}

func isSquare(c *ops.Call) string {
	if x, err := c.Float("exponent"); err != nil || x != 2 {
		return "it is no square"
	}
	return ""
}

// scalesOnce refuses an elu that XNNPACK's is not: it has one factor, which is above 0.
func scalesOnce(c *ops.Call) string {
	alpha, err := c.Float("alpha")
	known := err == nil && float32(alpha) >= 0x1p-126 && float32(alpha) <= math.MaxFloat32
	for _, name := range []string{"scale", "input_scale"} {
		x, err := c.Float(name)
		known = known && err == nil && x == 1
	}
	if !known {
		return "XNNPACK's has one factor alone, alpha, which is more than 0"
	}
	return ""
}

func hasLimits(c *ops.Call) string {
	if lo, hi, ok := limitsOf(c); !ok || lo >= hi {
		return "its limits are not known, or leave nothing between them"
	}
	return ""
}

// limitsOf returns the limits of a relu, hardtanh or clamp.
func limitsOf(c *ops.Call) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(-1), math.Inf(1)
	names := map[string][2]string{"aten.hardtanh.default": {"min_val", "max_val"},
		"aten.clamp.default": {"min", "max"}}[c.Op.Name()]
	if names[0] == "" {
		return 0, hi, true
	}
	for i, to := range []*float64{&lo, &hi} {
		if c.Has(names[i]) {
			x, err := c.Float(names[i])
			if err != nil || math.IsNaN(x) {
				return 0, 0, false
			}
			*to = x
		}
	}
	return lo, hi, true
}

// axis returns a dimension that an argument names.
func axis(c *ops.Call, name string, rank int) int {
	d, err := c.Int(name)
	if d < 0 {
		d += int64(rank)
	}
	if err != nil || d < 0 || d >= int64(rank) {
		return -1
	}
	return int(d)
}

func lastDim(c *ops.Call) string {
	t := c.Tensor("self")
	if axis(c, "dim", t.Rank()) != t.Rank()-1 || c.Bool("half_to_float") {
		return "it is not over the last dimension"
	}
	return ""
}

func isLayer(c *ops.Call) string {
	if c.Tensor("weight").Rank() != 2 || c.Tensor("input").Rank() < 2 {
		return "its weight or its input is no matrix"
	}
	return ""
}

func isLinear(c *ops.Call) string {
	a, err1 := c.Float("alpha")
	b, err2 := c.Float("beta")
	if err1 != nil || err2 != nil || a != 1 || b != 1 || c.Tensor("self").Rank() != 1 ||
		!c.Tensor("self").Sizes[0].Equal(c.Tensor("mat2").Sizes[1]) {
		return "it is no linear layer"
	}
	return ""
}

// hasSlopes refuses a prelu but those whose channels XNNPACK's, which has slopes by the last
// dimension, can have: images and matrices have such channels, and others where there is one slope.
func hasSlopes(c *ops.Call) string {
	t := c.Tensor("self")
	switch {
	case t.Rank() == 0:
		return "self has no dimensions"
	case t.Rank() != 4 && t.Rank() != 2 && !c.Tensor("weight").Numel().Is(1):
		return "self has channels, and neither two nor four dimensions"
	case !fixed(t.Sizes[slopes(t)]):
		return "its channels are not known"
	}
	return ""
}

// slopes returns the dimension whose indices have a slope each.
func slopes(t ir.Type) int {
	if t.Rank() == 4 {
		return 1
	}
	return t.Rank() - 1
}

// fixed reports whether a size is known.
func fixed(s sym.Expr) bool {
	_, ok := s.Const()
	return ok
}

// normalizesChannels refuses a normalization but that of float32, of channels and an eps
// that are known.
func normalizesChannels(c *ops.Call) string {
	t := c.Tensor("input")
	switch _, err := c.Float("eps"); {
	case t.DType != ir.Float32:
		return isWide(c)
	case t.Rank() < 2 || !fixed(t.Sizes[1]):
		return "its channels are not known"
	case err != nil:
		return "its eps is not known"
	}
	return ""
}

func convolves(c *ops.Call) string {
	x, w := c.Tensor("input"), c.Tensor("weight")
	if x.Rank() != 4 && x.Rank() != 3 {
		return fmt.Sprintf("its input has %d dimensions", x.Rank())
	}
	groups, err := c.Int("groups")
	if _, ok := w.StaticSizes(); err != nil || !ok {
		return "its weight has no fixed size"
	}
	channels, ok := x.Sizes[1].Const()
	switch {
	case !ok:
		return "its channels are not known"
	case x.Rank() == 3 && unknown(x) > 1:
		return "more than one of its sizes is not known"
	case c.Bool("transposed") && x.Rank() == 3:
		return "it is transposed, of one dimension"
	case groups > 1 && c.Bool("transposed") && groups == channels:
		return "it is transposed, by channels"
	}
	return ""
}

func maxPools(c *ops.Call) string {
	if c.Tensor("self").Rank() != 4 {
		return "its input has not four dimensions"
	}
	k, s := strideOf(c)
	if k == [2]int64{1, 1} {
		return "its kernel is one element"
	}
	if s[0] > k[0] || s[1] > k[1] {
		return "its stride is larger than its kernel"
	}
	if _, ok := c.Tensor("self").StaticSizes(); c.Bool("ceil_mode") && !ok {
		return "it rounds sizes up that are not known"
	}
	return ""
}

// maxOfRows refuses what is no maximum over the last one or two of four dimensions, which stay.
func maxOfRows(c *ops.Call) string {
	t := c.Tensor("self")
	dims := poolDims(c)
	if t.Rank() != 4 || !c.Bool("keepdim") || len(dims) == 0 {
		return "it is not over the last of four dimensions, which stay"
	}
	n := int64(1)
	for _, d := range dims {
		size, ok := t.Sizes[d].Const()
		if d < 2 || !ok {
			return "it is not over the last of four dimensions, or their size is not known"
		}
		n *= size
	}
	if n == 1 {
		return "its kernel is one element"
	}
	return ""
}

// poolDims are the dimensions, sorted, that a maximum or a mean is over; nil if they are not known.
func poolDims(c *ops.Call) []int64 {
	dims, err := c.Ints("dim")
	if c.Op.Name() == "aten.max.dim" {
		var d int64
		d, err = c.Int("dim")
		dims = []int64{d}
	}
	for i, d := range dims {
		if d < 0 {
			dims[i] += int64(c.Tensor("self").Rank())
		}
	}
	if err != nil {
		return nil
	}
	slices.Sort(dims)
	return slices.Compact(dims)
}

// isLine says why a tensor is no series of vectors, of which one size at most varies.
func isLine(t ir.Type) string {
	switch {
	case t.Rank() != 3:
		return "its input has not three dimensions"
	case unknown(t) > 1:
		return "more than one of its sizes is not known"
	}
	return ""
}

func averages(c *ops.Call) string {
	pads := pair(c, "padding", 0)
	k, _ := strideOf(c)
	t, line := c.Tensor("self"), c.Op.Name() == "aten.avg_pool1d.default"
	if line {
		k[1], pads[1] = 1, 0
		if why := isLine(t); why != "" {
			return why
		}
	}
	switch {
	case !line && t.Rank() != 4:
		return "its input has not four dimensions"
	case k == [2]int64{1, 1}:
		return "its kernel is one element"
	case c.Bool("ceil_mode"):
		return "it rounds sizes up"
	case c.Bool("count_include_pad") && pads != [2]int64{}:
		return "it counts what is padded"
	case !line && c.Has("divisor_override"):
		return "it has a divisor of its own"
	}
	return ""
}

func isGlobal(c *ops.Call) string {
	if c.Tensor("self").Rank() != 4 || !slices.Equal(poolDims(c), []int64{2, 3}) ||
		!c.Bool("keepdim") {
		return "it is not over the last two of four dimensions, which stay"
	}
	return ""
}

// isMeanOfLine refuses an adaptive pooling that is no mean.
func isMeanOfLine(c *ops.Call) string {
	if !c.Outs[0].Sizes[c.Outs[0].Rank()-1].Is(1) {
		return "it is no mean"
	}
	return isLine(c.Tensor("self"))
}

func resizes(c *ops.Call) string {
	for _, s := range c.Outs[0].Sizes[2:] {
		if _, ok := s.Const(); !ok {
			return "its size is not known"
		}
	}
	if list, _ := c.Arg("scale_factors").(ir.List); !c.Bool("align_corners") {
		for i, f := range list { // XNNPACK goes by the sizes
			in, ok := c.Tensor("input").Sizes[2+i].Const()
			x, isFloat := f.(ir.Float)
			if !ok || !isFloat || float64(in)*float64(x) != float64(known(c.Outs[0].Sizes[2+i])) {
				return "its factor is not what its sizes say"
			}
		}
	}
	return ""
}

func severalTensors(c *ops.Call) string {
	ts := c.Tensors("tensors")
	if len(ts) < 2 {
		return "it has one operand"
	}
	for _, t := range ts {
		if t.Rank() != c.Outs[0].Rank() {
			return "an operand has other dimensions"
		}
	}
	return ""
}

func pads(c *ops.Call) string {
	list, err := c.Ints("pad")
	if err != nil || slices.ContainsFunc(list, func(p int64) bool { return p < 0 || p > maxSize }) {
		return "it takes away"
	}
	if _, err := c.Float("value"); err != nil {
		return "its number is not known"
	}
	return ""
}

func staticSlice(c *ops.Call) string {
	_, ok1 := c.Tensor("self").StaticSizes()
	_, ok2 := c.Outs[0].StaticSizes()
	step, err := c.Int("step")
	if !ok1 || !ok2 || err != nil || step != 1 || c.Tensor("self").Rank() == 0 {
		return "it has a step, or sizes that are not known"
	}
	return ""
}

// unknown returns how many sizes vary.
func unknown(t ir.Type) (n int) {
	for _, s := range t.Sizes {
		if _, ok := s.Const(); !ok {
			n++
		}
	}
	return n
}

func oneUnknown(c *ops.Call) string {
	if unknown(c.Outs[0]) > 1 {
		return "more than one of its sizes is not known"
	}
	return ""
}

// pair returns a list of one or two numbers as two.
func pair(c *ops.Call, name string, def int64) [2]int64 {
	list, err := c.Ints(name)
	switch {
	case err != nil || len(list) == 0:
		return [2]int64{def, def}
	case len(list) == 1:
		return [2]int64{list[0], list[0]}
	}
	return [2]int64{list[0], list[1]}
}

// known returns a size that does not vary, or the most that it is.
func known(s sym.Expr) int64 {
	_, hi := s.Bounds()
	return hi
}
