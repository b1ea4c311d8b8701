package lower

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
)

// Streaming: a model of a window of frames becomes one that takes the next frames alone. What a
// convolution along the frames sees of earlier ones is state, in the place of frames that are
// computed again. Each value that has a row for each frame, or each second frame, has only the
// new rows in a call; an operator that sees whole windows, such as a mean, gets the last rows of
// its operand, which are state too.
//
// Row r of a value is the row of that number in the window that begins with the first frame since
// the state was new. Before a call that brings rows there have been rows that are none of the
// window: lag counts them, and is under 0 where padding stands before the first row.

// StreamOptions say along which dimension a model streams.
type StreamOptions struct {
	Input string // the input that has frames, "" if there is one input
	Dim   int    // of it, the frames
	// Frames takes frames where the window pads: see streamer.padding.
	Frames bool
}

// Streaming returns the pipeline then, with the passes before it that make a model stream.
func Streaming(then Pipeline, opt StreamOptions) Pipeline {
	first := Functional.with(FoldBatchNorm, CheckSizes, Pass{
		Name: "decompose-to-stream",
		Doc:  "replace operators by those whose rows are known",
		Run: perMethod(func(ctx *Context, _ *ir.Program, m *ir.Method) {
			decompose(ctx.Table, m, func(c *ops.Call) bool {
				return !IsCore(c.Op) && recurrent[c.Op.Name()] == 0
			})
		}),
	}, DefineSizes, foldUnquantized(foldSlack), DeadCode, stream(opt))
	return Pipeline{From: first.From, To: then.To,
		Passes: slices.Concat(first.Passes, then.Passes)}
}

// StreamPass is the name of the pass that makes a program stream.
const StreamPass = "stream"

func stream(opt StreamOptions) Pass {
	return Pass{Name: StreamPass, Doc: "keep state in place of frames that are computed again",
		Run: perProgram(func(ctx *Context, p *ir.Program) {
			if len(p.Methods) != 1 {
				must.Fail("a model of one method streams, this one has %d", len(p.Methods))
			}
			must.Check(newStreamer(ctx, p.Methods[0], opt).run())
			p.Dialect = ir.Functional
		})}
}

// recurrent are the operators that have states of their own, and how many.
var recurrent = map[string]int{"aten.gru.input": 1, "aten.lstm.input": 2}

// streamed is what a value has of the frames.
type streamed struct {
	dim  int
	rows int64 // of the whole window
	new  int64 // in a call
	lag  int64
	lead float64  // what stands before the first row, if lag is under 0
	from *ir.Node // the first node that made rows which only later frames complete
}

// streamer makes one method stream.
type streamer struct {
	ctx    *Context
	m      *ir.Method
	opt    StreamOptions
	names  *ir.Names
	window int64 // frames
	frames int64 // in a call
	input  *ir.Value
	of     map[*ir.Value]*streamed
	steps  map[*ir.Node]*streamStep
	now    map[*ir.Value]*ir.Value // what takes a value's place
	kept   map[keptKey]*ir.Value
}

// keptKey is a value of the streaming method with so many rows before it.
type keptKey struct {
	v    *ir.Value
	rows int64
}

// streamStep is what becomes of a node.
type streamStep struct {
	args  []ir.NamedArg // as they were
	whole bool          // it sees whole windows
	same  bool          // it becomes its operand
	last  bool          // it takes the last row
	keep  int64         // rows before the new ones that it sees
	delay map[*ir.Value]int64
	out   *streamed
	set   map[string]ir.Arg
	state []string // arguments that are state, of a recurrent operator
}

// needFrames asks for a multiple of frames in a call.
type needFrames int64

func (needFrames) Error() string { return "more frames are needed in a call" }

func newStreamer(ctx *Context, m *ir.Method, opt StreamOptions) *streamer {
	return &streamer{ctx: ctx, m: m, opt: opt, names: ir.NewNames(m), frames: 1}
}

func (s *streamer) run() error {
	must.Check(s.findInput())
	for {
		err := must.Try(s.analyse)
		var more needFrames
		if !errors.As(err, &more) {
			must.Check(err)
			break
		}
		if s.frames *= int64(more); s.frames > s.window {
			return fmt.Errorf("the model cannot stream: its steps are longer than its window of %d frames",
				s.window)
		}
	}
	return s.rewrite()
}

// findInput finds the input with the frames.
func (s *streamer) findInput() error {
	for i, v := range s.m.Graph.Inputs {
		if s.m.Inputs[i].Kind != ir.UserInput || s.opt.Input != "" && s.opt.Input != v.Name {
			continue
		}
		if s.input != nil {
			return fmt.Errorf("the model has several inputs: say which streams, as in --stream=%s:%d",
				v.Name, s.opt.Dim)
		}
		s.input = v
	}
	switch {
	case s.input == nil && s.opt.Input != "":
		return fmt.Errorf("the model has no input %q that could stream", s.opt.Input)
	case s.input == nil || s.input.Type.Kind != ir.TensorKind:
		return fmt.Errorf("the model has no tensor that could stream")
	}
	sizes, static := s.input.Type.StaticSizes()
	if !static || s.opt.Dim < 0 || s.opt.Dim >= len(sizes) || sizes[s.opt.Dim] < 2 {
		return fmt.Errorf(
			"%s is %s: dimension %d of it cannot stream: it must have a fixed size of 2 or more",
			s.input.Name, s.input.Type, s.opt.Dim)
	}
	s.window = sizes[s.opt.Dim]
	return nil
}

// analyse decides what becomes of each node, with so many frames in a call.
func (s *streamer) analyse() {
	s.of = map[*ir.Value]*streamed{s.input: {dim: s.opt.Dim, rows: s.window, new: s.frames}}
	s.steps = map[*ir.Node]*streamStep{}
	for _, n := range s.m.Graph.Nodes {
		must.Check(ir.ErrorAt("", n, must.Try(func() { s.node(n) })))
	}
	if s.window%s.frames != 0 && !s.opt.Frames {
		must.Fail("the model cannot stream: a call takes %d frames, and its window of %d is no "+
			"multiple of that; --stream-padding=frames does without", s.frames, s.window)
	}
	for _, a := range s.m.Graph.Outputs {
		ir.EachRef(a, func(v *ir.Value) { s.complete(v) })
	}
	must.Check(s.worth())
}

// layers are the operators that are worth to be computed for new rows alone.
var layers = []string{"convolution", "mm", "addmm", "bmm", "baddbmm", "max_pool2d_with_indices",
	"avg_pool2d", "gru", "lstm"}

// worth returns an error if all layers see whole windows.
func (s *streamer) worth() error {
	var whole *ir.Node
	for _, n := range s.m.Graph.Nodes {
		step := s.steps[n]
		if step == nil {
			continue
		}
		if !step.whole && slices.Contains(layers, ir.OpBase(n.Op)) {
			return nil
		}
		if step.whole && whole == nil {
			whole = n
		}
	}
	if whole == nil {
		return nil
	}
	return ir.ErrorAt("", whole,
		fmt.Errorf("streaming along dimension %d saves nothing: the operator sees the "+
			"whole window, and no layer comes before it", s.opt.Dim))
}

// complete checks that a value's last row is there when the window's last frame is.
func (s *streamer) complete(v *ir.Value) {
	st := s.of[v]
	if st == nil || s.opt.Frames {
		return
	}
	if last := s.window / s.frames * st.new; last-st.lag != st.rows {
		err := fmt.Errorf("it pads the end of the window along dimension %d, where frames will stand "+
			"that are not there yet: "+
			"pad the beginning alone, or compile with --stream-padding=frames", st.dim)
		if st.from == nil {
			st.from = v.Def
		}
		must.Check(ir.ErrorAt("", st.from, err))
	}
}

// node decides what becomes of n.
func (s *streamer) node(n *ir.Node) {
	var streams []*ir.Value
	for _, a := range n.Args {
		ir.EachRef(a.Value, func(v *ir.Value) {
			if s.of[v] != nil && !slices.Contains(streams, v) {
				streams = append(streams, v)
			}
		})
	}
	if len(streams) == 0 {
		return
	}
	if len(n.Regions) > 0 {
		must.Fail("the model cannot stream: control flow reads frames")
	}
	step := &streamStep{args: slices.Clone(n.Args), set: map[string]ir.Arg{}}
	s.steps[n] = step
	c := must.Get(s.ctx.Table.Bind(n))
	x := s.of[streams[0]]
	ok := false
	if len(streams) == 1 {
		switch n.Op {
		case "aten.convolution.default":
			ok = s.convolution(n, c, x, step)
		case "aten.max_pool2d_with_indices.default", "aten.avg_pool2d.default":
			ok = s.pool(n, c, x, step)
		case "aten.constant_pad_nd.default":
			ok = s.pad(n, c, x, step)
		case "aten.slice.Tensor", "aten.slice_copy.Tensor":
			ok = s.slice(c, x, step)
		case "aten.select.int", "aten.select_copy.int":
			ok = s.selected(c, x, step)
		default:
			if recurrent[n.Op] > 0 {
				ok = s.recurrence(c, x, step)
			}
		}
	}
	if !ok {
		ok = s.pointwise(n, c, streams, step)
	}
	if ok {
		if step.out != nil {
			s.of[n.Output(0)] = step.out
		}
		return
	}
	*step = streamStep{args: step.args, whole: true}
	for _, v := range streams {
		s.complete(v)
	}
}

// windowed says that n's row r sees reach rows of x from r·stride - pad on, of which there are
// out in the whole window.
func (s *streamer) windowed(n *ir.Node, x *streamed, stride, reach, pad, out int64, dim int,
	step *streamStep) {
	if x.new%stride != 0 {
		g := x.new
		for b := stride; b != 0; {
			g, b = b, g%b
		}
		must.Check(needFrames(stride / g))
	}
	s.padding(x, pad, 0)
	// The rows kept are those that the oldest new result sees, and as many more as make results
	// those of the window.
	keep := max(0, reach-stride)
	for (keep+x.lag-pad)%stride != 0 {
		keep++
	}
	lag := (keep + x.lag - pad) / stride
	if keep+x.lag < pad { // it sees nothing of the last rows
		keep, lag = pad-x.lag, 0
	}
	step.keep = keep
	step.out = &streamed{dim: dim, rows: out, new: x.new / stride, lag: lag, from: x.from}
	if last := s.window / s.frames * step.out.new; step.out.from == nil && last-lag < out {
		step.out.from = n
	}
}

// padding checks that n rows of a number may be put before x: the rows of the window that are
// not there yet must be known. With Frames, what frames made of them stands there.
func (s *streamer) padding(x *streamed, n int64, number float64) {
	if n == 0 || s.opt.Frames {
		return
	}
	if x.lag > 0 {
		must.Fail("it pads along dimension %d what an operator without padding has shortened before: a "+
			"streaming model "+
			"cannot tell where the window begins; --stream-padding=frames takes frames in place of "+
			"padding", x.dim)
	}
	if x.lag < 0 && x.lead != number {
		must.Fail("it pads along dimension %d with another number than the padding before it", x.dim)
	}
}

func (s *streamer) convolution(n *ir.Node, c *ops.Call, x *streamed, step *streamStep) bool {
	spatial := c.Outs[0].Rank() - 2
	axis := x.dim - 2
	if s.of[c.Value("input")] != x || axis < 0 || c.Bool("transposed") {
		return false
	}
	w, static := c.Tensor("weight").StaticSizes()
	stride, err1 := spatialInts(c, "stride", spatial)
	pad, err2 := spatialInts(c, "padding", spatial)
	dilation, err3 := spatialInts(c, "dilation", spatial)
	out, known := c.Outs[0].Sizes[x.dim].Const()
	if !static || err1 != nil || err2 != nil || err3 != nil || !known {
		return false
	}
	s.windowed(n, x, stride[axis], (w[x.dim]-1)*dilation[axis]+1, pad[axis], out, x.dim, step)
	pad = slices.Clone(pad)
	pad[axis] = 0
	step.set["padding"] = intList(pad)
	return true
}

func (s *streamer) pool(n *ir.Node, c *ops.Call, x *streamed, step *streamStep) bool {
	axis := x.dim - (c.Outs[0].Rank() - 2)
	if axis < 0 || len(n.Outputs) > 1 && s.used(n.Outputs[1]) {
		return false
	}
	kernel, err1 := spatialInts(c, "kernel_size", 2)
	stride, err2 := spatialInts(c, "stride", 2)
	pad, err3 := spatialInts(c, "padding", 2)
	out, known := c.Outs[0].Sizes[x.dim].Const()
	if err1 != nil || err3 != nil || !known || out == 1 || c.Bool("ceil_mode") || pad[axis] != 0 {
		return false
	}
	if err2 != nil || len(stride) == 0 {
		stride = kernel
	}
	dilation := []int64{1, 1}
	if n.Op == "aten.max_pool2d_with_indices.default" {
		if dilation, err1 = spatialInts(c, "dilation", 2); err1 != nil {
			return false
		}
	}
	s.windowed(n, x, stride[axis], (kernel[axis]-1)*dilation[axis]+1, 0, out, x.dim, step)
	return true
}

// used reports whether something reads v.
func (s *streamer) used(v *ir.Value) bool {
	found := false
	look := func(u *ir.Value) { found = found || u == v }
	for _, n := range s.m.Graph.Nodes {
		for _, a := range n.Args {
			ir.EachRef(a.Value, look)
		}
	}
	for _, a := range s.m.Graph.Outputs {
		ir.EachRef(a, look)
	}
	return v != nil && found
}

// pad puts rows before the first ones, and behind the last ones.
func (s *streamer) pad(n *ir.Node, c *ops.Call, x *streamed, step *streamStep) bool {
	pads, err := c.Ints("pad")
	number, err2 := c.Float("value")
	if err != nil || err2 != nil {
		return false
	}
	at := 2 * (c.Outs[0].Rank() - 1 - x.dim)
	if at+1 < len(pads) {
		if pads[at] < 0 || pads[at+1] < 0 {
			return false
		}
		s.padding(x, pads[at], number)
		pads = slices.Clone(pads)
	} else {
		pads = append(slices.Clone(pads), make([]int64, at+2-len(pads))...)
	}
	step.out = &streamed{dim: x.dim, rows: x.rows + pads[at] + pads[at+1], new: x.new,
		lag: x.lag - pads[at], lead: number, from: x.from}
	if pads[at+1] > 0 && step.out.from == nil {
		step.out.from = n
	}
	pads[at], pads[at+1] = 0, 0
	step.set["pad"] = intList(pads)
	step.same = !slices.ContainsFunc(pads, func(n int64) bool { return n != 0 })
	return true
}

// slice leaves out rows of the beginning and of the end.
func (s *streamer) slice(c *ops.Call, x *streamed, step *streamStep) bool {
	rank := len(c.Outs[0].Sizes)
	dim, err := c.Int("dim")
	if dim < 0 {
		dim += int64(rank)
	}
	if err != nil || int(dim) != x.dim {
		return false
	}
	start := int64(0)
	if c.Has("start") {
		if start, err = c.Int("start"); err != nil {
			return false
		}
	}
	if by, err := c.Int("step"); err != nil || by != 1 {
		return false
	}
	if start < 0 {
		start = max(0, start+x.rows)
	}
	out, known := c.Outs[0].Sizes[x.dim].Const()
	if !known || out == 0 {
		return false
	}
	own := *x
	own.rows, own.lag = out, x.lag+start
	if s.window/s.frames*own.new-own.lag >= out { // what is not complete is left out
		own.from = nil
	}
	step.out, step.same = &own, true
	return true
}

// selected takes one row, the last one.
func (s *streamer) selected(c *ops.Call, x *streamed, step *streamStep) bool {
	dim, err1 := c.Int("dim")
	index, err2 := c.Int("index")
	if err1 != nil || err2 != nil {
		return false
	}
	if dim < 0 {
		dim += int64(len(c.Outs[0].Sizes)) + 1
	}
	if int(dim) != x.dim || index != -1 && index != x.rows-1 {
		return false
	}
	s.complete(c.Value("self"))
	step.last = true
	step.set["index"] = ir.Int(x.new - 1)
	return true
}

// recurrence lets a recurrent layer go on from the state that it had.
func (s *streamer) recurrence(c *ops.Call, x *streamed, step *streamStep) bool {
	first := 0
	if c.Bool("batch_first") {
		first = 1
	}
	if s.of[c.Value("input")] != x || x.dim != first || len(c.Outs[0].Sizes) != 3 {
		return false
	}
	if c.Bool("bidirectional") {
		must.Fail("the model cannot stream: the layer reads its input backwards, too")
	}
	if x.lag != 0 && !s.opt.Frames {
		must.Fail("the model cannot stream: the layer begins with rows that are none of the window, " +
			"since an operator without padding has shortened it")
	}
	out := *x
	out.dim = first
	step.out = &out
	step.state = []string{"hx"}
	return true
}

// pointwise takes an operator whose row r follows from row r of its operands.
func (s *streamer) pointwise(n *ir.Node, c *ops.Call, streams []*ir.Value, step *streamStep) bool {
	if len(n.Outputs) == 0 || n.Output(0) == nil || slices.ContainsFunc(n.Outputs[1:], s.used) {
		return false
	}
	tensors, _, err := c.Results()
	if err != nil || len(tensors) == 0 || len(tensors[0].Vars) != len(c.Outs[0].Sizes) {
		return false
	}
	t := tensors[0]
	dim := -1
	seen := 0
	ok := true
	loads := map[*expr.Expr]bool{}
	expr.Walk(t.Body, func(e *expr.Expr) {
		if e.Op == expr.OpLoad {
			loads[e] = true
			st := s.of[c.Operands()[e.Buf]]
			if st == nil {
				return
			}
			seen++
			i := slices.IndexFunc(t.Vars, func(v *sym.Symbol) bool {
				return e.Coords[st.dim].Equal(v.Expr())
			})
			ok = ok && i >= 0 && (dim < 0 || dim == i)
			dim = i
		}
	})
	if !ok || dim < 0 || seen == 0 {
		return false
	}
	row := t.Vars[dim]
	expr.Walk(t.Body, func(e *expr.Expr) {
		st := (*streamed)(nil)
		if loads[e] {
			st = s.of[c.Operands()[e.Buf]]
		}
		if st != nil {
			for d, x := range e.Coords {
				ok = ok && (d == st.dim || !x.Uses(row))
			}
			return
		}
		e.Indices(func(x sym.Expr) { ok = ok && !x.Uses(row) })
	})
	if !ok {
		return false
	}
	out := *s.of[streams[0]]
	for _, v := range streams {
		st := s.of[v]
		if st.new != out.new {
			return false
		}
		out.lag = max(out.lag, st.lag)
		if st.rows > out.rows || st.from != nil && out.from == nil {
			out.from = st.from
		}
	}
	rows, known := c.Outs[0].Sizes[dim].Const()
	if !known {
		return false
	}
	out.dim, out.rows = dim, rows
	for _, v := range streams {
		if st := s.of[v]; st.lag < out.lag {
			if step.delay == nil {
				step.delay = map[*ir.Value]int64{}
			}
			step.delay[v] = out.lag - st.lag
		}
	}
	if out.lag < 0 && !(out.lead == 0 && len(streams) == 1 && keepsZero(n)) &&
		!s.opt.Frames {
		must.Fail("the model cannot stream: it changes the padding along dimension %d", dim)
	}
	for i, a := range n.Args {
		if list, err := c.Ints(a.Name); err == nil && len(list) == len(c.Outs[0].Sizes) &&
			(a.Name == "size" || a.Name == "shape") {
			sizes := slices.Clone(list)
			if sizes[dim] == rows || sizes[dim] == -1 {
				sizes[dim] = out.new
				for k, e := range c.Outs[0].Sizes { // one open size may have been that of another
					if n, known := e.Const(); known && k != dim && sizes[k] == -1 {
						sizes[k] = n
					}
				}
			}
			step.set[n.Args[i].Name] = intList(sizes)
		}
	}
	step.out = &out
	return true
}

func intList(list []int64) ir.Arg {
	var out ir.List
	for _, n := range list {
		out = append(out, ir.Int(n))
	}
	return out
}
