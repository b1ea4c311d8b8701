package native

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned"
)

// byteUses are the uses of a buffer by kernels that may have bytes in it.
type byteUses struct {
	from  *Call   // stores it
	to    []*Call // read it
	via   *Call   // passes on to it bytes that something else stores
	other bool    // something else uses it
}

// storeBytes lets kernels store integers as bytes, in the first part of the memory that floats
// would have. Only kernels that multiply bytes may read them there, and kernels that pass them on
// to these. No other statement may see the memory, in part or as a whole, since the machine
// decides whether there are bytes in it.
func (b *builder) storeBytes() {
	uses := map[*Buffer]*byteUses{}
	of := func(b *Buffer) *byteUses {
		if uses[Root(b)] == nil {
			uses[Root(b)] = &byteUses{other: Root(b).Storage != Arena}
		}
		return uses[Root(b)]
	}
	for _, s := range b.m.Body {
		c, isCall := s.(*Call)
		if !isCall || c.Kernel.Tuned == nil || c.Kernel.whole != nil {
			eachAccess(s, func(a access) { of(*a.buf).other = true })
			continue
		}
		in := c.Kernel.Tuned
		for i, buf := range c.Args {
			u, passes := of(buf), in.PassesBytes && in.Epilogue == nil
			switch {
			case buf.Root != nil:
				u.other = true
			case i == 0 && passes && u.from == nil:
				u.from, u.via = c, c
			case i == in.First(tuned.Operand) && passes:
				u.to = append(u.to, c)
			case i == 0 && in.StoresBytes && u.from == nil:
				u.from = c
			case i == in.First(tuned.Operand) && in.ReadsBytes:
				u.to = append(u.to, c)
			default:
				u.other = true
			}
		}
	}
	for _, ports := range [][]Port{b.m.Inputs, b.m.Outputs} {
		for _, p := range ports {
			if p.Buf != nil {
				of(p.Buf).other = true
			}
		}
	}
	// What reads the results of calls that pass bytes on reads what these read.
	for _, s := range slices.Backward(b.m.Body) {
		c, isCall := s.(*Call)
		if !isCall || c.Kernel.Tuned == nil || uses[Root(c.Args[0])] == nil ||
			uses[Root(c.Args[0])].via != c {
			continue
		}
		results := uses[Root(c.Args[0])]
		delete(uses, Root(c.Args[0]))
		u := of(c.Args[c.Kernel.Tuned.First(tuned.Operand)])
		u.other = u.other || results.other
		u.to = append(u.to, results.to...)
	}
	for _, u := range uses {
		if from, ok := u.bytesFrom(); ok {
			u.from.set("out_bytes", from)
			for _, c := range u.to {
				c.set("in_bytes", 1)
			}
		}
	}
}

// bytesFrom returns the positive number that makes bytes of what u's kernels leave to each other,
// modulo 256, if bytes hold it. It is positive with what the kernels add, too: 0 stands for floats.
func (u *byteUses) bytesFrom() (from int64, ok bool) {
	if u.other || u.from == nil {
		return 0, false
	}
	r, ok := u.from.Kernel.Tuned.Rescaling()
	if !ok || r.Rest != nil {
		return 0, false
	}
	var zeros []sym.Expr
	for _, c := range u.to {
		if in := c.Kernel.Tuned; in.ReadsBytes {
			zeros = append(zeros, in.Params[field(in, "pad_value")].Value)
		}
	}
	if len(zeros) == 0 {
		return 0, false
	}
	zero, known := zeros[0].Const()
	same := !slices.ContainsFunc(zeros, func(z sym.Expr) bool { return !z.Is(zero) })
	least, most := r.Least+r.Plus+float64(zero), r.Most+r.Plus+float64(zero)
	return zero + 256, known && same && least >= math.MinInt8 && most <= math.MaxInt8 &&
		zero+256 > 0 && r.Plus+float64(zero)+256 > 0
}

// set sets an integer of a call of a tuned kernel, which becomes a kernel of its own.
func (c *Call) set(name string, value int64) {
	k, in := *c.Kernel, *c.Kernel.Tuned
	in.Params = slices.Clone(in.Params)
	in.Params[field(&in, name)].Value = sym.Int(value)
	k.Tuned, c.Kernel = &in, &k
}

// field returns where in's integer of a name is.
func field(in *tuned.Instance, name string) int {
	return slices.IndexFunc(in.Params, func(p tuned.Param) bool { return p.Name == name })
}
