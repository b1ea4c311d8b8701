package portable

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gofunc"
)

// handMadeFor returns the best instance of a hand-made kernel for c, nil if there is
// none, and the orders it wants tensors in: a convolution is worth the copies to
// channels innermost and back.
func (k *kernel) handMadeFor(c *ops.Call,
	constant func(int) ([]byte, bool)) (best *tuned.Instance, want interp.Orders) {
	layouts := []interp.Orders{{}}
	if tuned.IsConvolution(c) {
		last := []int{0, 2, 3, 1}
		operands := make([][]int, len(c.Operands()))
		operands[c.Operand("input")] = last
		layouts = append(layouts, interp.Orders{Outs: [][]int{last}},
			interp.Orders{Outs: [][]int{last}, Operands: operands})
	}
	for _, o := range layouts {
		in := tuned.Select(k.handMade, &tuned.Request{Call: c, Target: tuned.Running(),
			Const: constant, Order: o.Operand, Out: o.Out(0)})
		if in != nil && (best == nil || in.Cost < best.Cost) {
			best, want = in, o
		}
	}
	return best, want
}

// tunedCode is an instance of a hand-made kernel.
type tunedCode struct {
	call     *gofunc.Call
	operands []int // that f reads, then those that the epilogue adds
	reads    int   // how many f reads
	params   []int
	finish   gofunc.Finish
	bufs     [][]float32 // result, operands, packed constants, scratch
	added    [][]float32
	rooms    [][]float32 // for results and operands that are not aligned
}

func (k *kernel) newTuned(c *ops.Call, in *tuned.Instance) (*tunedCode, error) {
	slots := in.Slots()
	f, ok := gofunc.Lookup(in.Kernel.Go, slots)
	scratch, known := in.Scratch.Const()
	if !ok || !known {
		return nil, fmt.Errorf("there is no Go function %q of tuned kernel %s", in.Kernel.Go,
			in.Kernel.Name)
	}
	t := &tunedCode{operands: append(append([]int{}, in.Operands...), in.Added...),
		reads: len(in.Operands)}
	for _, p := range in.Params {
		n, ok := p.Value.Const()
		if !ok {
			return nil, fmt.Errorf("parameter %s of tuned kernel %s is not known", p.Name,
				in.Kernel.Name)
		}
		t.params = append(t.params, int(n))
	}
	t.bufs = make([][]float32, len(slots))
	for i, s := range slots {
		var own []float32
		switch s.Kind {
		case tuned.PackedConstant:
			data := in.Packed[s.Index].Data
			if err := k.reserve(int64(len(data))); err != nil {
				return nil, err
			}
			t.bufs[i], _ = eval.Floats(data, &own)
		case tuned.Scratch:
			room, err := roomFor((scratch+3)/4, ir.Float32, k.reserve)
			if err != nil {
				return nil, err
			}
			t.bufs[i], _ = eval.Floats(room, &own)
		}
	}
	t.rooms = make([][]float32, 1+len(t.operands))
	t.added = make([][]float32, len(in.Added))
	count, _ := c.Outs[0].Numel().Const()
	macs, _ := in.MACs.Const()
	inputs := int64(0)
	for _, v := range c.Operands() {
		n, _ := v.Type.Numel().Const()
		inputs = max(inputs, n)
	}
	t.call = gofunc.NewCall(f, macs, int64(count), inputs)
	t.finish = gofunc.Plain()
	t.finish.Epilogue = t.adding(c, in, int(count))
	return t, nil
}

// adding returns the epilogue that adds operands to the results, nil if there
// is nothing to add.
func (t *tunedCode) adding(c *ops.Call, in *tuned.Instance, count int) gofunc.Epilogue {
	var adds []gofunc.Epilogue
	for i, k := range in.Added {
		n := c.Operands()[k].Type.Numel()
		switch z := &t.added[i]; {
		case n.Is(1):
			adds = append(adds, func(run []float32, _, _ int) {
				for i := range run {
					run[i] += (*z)[0]
				}
			})
		case n.Equal(sym.Int(int64(count))):
			adds = append(adds, func(run []float32, o, _ int) {
				for i, x := range (*z)[o : o+len(run)] {
					run[i] += x
				}
			})
		case in.RunChannels:
			adds = append(adds, func(run []float32, _, ch int) {
				for i, x := range (*z)[ch : ch+len(run)] {
					run[i] += x
				}
			})
		default:
			adds = append(adds, func(run []float32, _, ch int) {
				for i := range run {
					run[i] += (*z)[ch]
				}
			})
		}
	}
	switch len(adds) {
	case 0:
		return nil
	case 1:
		return adds[0]
	}
	return func(run []float32, o, ch int) {
		for _, f := range adds {
			f(run, o, ch)
		}
	}
}

func (t *tunedCode) run(bufs [][]byte, done <-chan struct{}) error {
	y, shared := eval.Floats(bufs[0], &t.rooms[0])
	t.bufs[0] = y
	for i, k := range t.operands {
		x, _ := eval.Floats(bufs[1+k], &t.rooms[1+i])
		if i < t.reads {
			t.bufs[1+i] = x
		} else {
			t.added[i-t.reads] = x
		}
	}
	if !t.call.Run(done, t.bufs, t.params, t.finish) {
		return eval.ErrStopped
	}
	if !shared {
		eval.PutFloats(bufs[0], y)
	}
	return nil
}

// inPlace: the kernel writes results before it has read all operands.
func (t *tunedCode) inPlace(_, in int) bool {
	for _, k := range t.operands {
		if k == in {
			return false
		}
	}
	return true
}
