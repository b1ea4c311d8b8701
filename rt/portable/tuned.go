package portable

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
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
	*tuned.Instance
	call     *gofunc.Call
	params   []int
	epilogue gofunc.Epilogue
	bufs     [][]byte    // result, operands, packed constants, scratch
	added    [][]float32 // operands that the epilogue adds
	aligned  [][]float32 // for those that are not aligned
}

func (k *kernel) newTuned(c *ops.Call, in *tuned.Instance) *tunedCode {
	t := &tunedCode{Instance: in, added: make([][]float32, len(in.Added)),
		aligned: make([][]float32, len(in.Added))}
	for _, e := range in.Fields() {
		n, ok := e.Const()
		if !ok {
			panic(fmt.Errorf("the parameter %s of tuned kernel %s is not known", e, in.Kernel.Name))
		}
		t.params = append(t.params, int(n))
	}
	slots := in.Slots()
	t.bufs = make([][]byte, len(slots))
	for i, s := range slots {
		switch s.Kind {
		case tuned.PackedConstant:
			t.bufs[i] = in.Packed[s.Index].Data
			must.Check(k.reserve(int64(len(t.bufs[i]))))
		case tuned.Scratch:
			scratch, known := in.Scratch.Const()
			if !known {
				panic(fmt.Errorf("scratch of tuned kernel %s is not known", in.Kernel.Name))
			}
			t.bufs[i] = allocate((scratch+3)/4, ir.Float32, k.reserve)
		}
	}
	count, _ := c.Outs[0].Numel().Const()
	inputs := int64(0)
	for _, v := range c.Operands() {
		n, _ := v.Type.Numel().Const()
		inputs = max(inputs, n)
	}
	t.epilogue = gofunc.Plain()
	t.epilogue.EpilogueFunc = t.adding(c, in, int(count))
	t.call = must.Get(gofunc.NewCall(in, t.bufs, gofunc.NoExtras, count, inputs))
	return t
}

// adding returns the epilogue that adds operands to the results, nil if there
// is nothing to add.
func (t *tunedCode) adding(c *ops.Call, in *tuned.Instance, count int) gofunc.EpilogueFunc {
	var adds []gofunc.EpilogueFunc
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
	t.bufs[0] = bufs[0]
	for i, k := range t.Operands {
		t.bufs[1+i] = bufs[1+k]
	}
	for i, k := range t.Added {
		t.added[i], _ = eval.Floats(bufs[1+k], &t.aligned[i])
	}
	return t.call.Run(done, t.bufs, t.params, &t.epilogue)
}

// inPlace: the kernel writes results before it has read all operands.
func (t *tunedCode) inPlace(_, in int) bool {
	return !slices.Contains(t.Operands, in) && !slices.Contains(t.Added, in)
}
