package lower

import (
	"slices"

	"github.com/etgen/etgen/kernels/expr"
)

// finish shares temporaries among the values and fills in c.
func (b *builder) finish(c *Code) {
	b.reuseResult()
	last := map[int]int{} // the last call that uses a value
	for i, call := range b.calls {
		for _, a := range call.Args {
			if a.Kind == Temp {
				last[a.Temp] = i
			}
		}
	}
	temp := map[int]int{} // of a value
	var free []int
	for i, call := range b.calls {
		args := append([]Operand(nil), call.Args...)
		var done []int
		for k, a := range args {
			if a.Kind != Temp {
				continue
			}
			args[k].Temp = temp[a.Temp]
			if last[a.Temp] == i {
				last[a.Temp] = -1 // once, if it is used twice
				done = append(done, temp[a.Temp])
			}
		}
		if call.Prim != "Gather" && call.Prim != "Store" { // the others may write what they read
			free = append(free, done...)
			done = nil
		}
		if call.Dst.Kind == Temp {
			temp[call.Dst.Temp] = c.take(&free, call.Dst)
			call.Dst.Temp = temp[call.Dst.Temp]
		}
		free = append(free, done...)
		call.Args = args
		c.Calls = append(c.Calls, call)
	}
}

// take returns a free temporary of the type of o, else a new one.
func (c *Code) take(free *[]int, o Operand) int {
	for i, t := range *free {
		if c.Temps[t] == o.DType {
			*free = append((*free)[:i], (*free)[i+1:]...)
			return t
		}
	}
	c.Temps = append(c.Temps, o.DType)
	return len(c.Temps) - 1
}

// reuseResult computes what leads to the only result in the result's own
// place, from where on no other memory is read: the result may lie where an
// operand lies.
func (b *builder) reuseResult() {
	n := len(b.calls) - 1
	if n < 1 || b.calls[n].Dst.Kind != Run {
		return
	}
	dst := b.calls[n].Dst
	uses := map[int]int{} // calls that use a value
	for _, c := range b.calls {
		for k, a := range c.Args {
			if a.Kind == Temp && !slices.ContainsFunc(c.Args[:k], a.sameTemp) {
				uses[a.Temp]++
			}
		}
	}
	for i := n - 1; i >= 0; i-- {
		next := b.calls[i+1]
		if readsMemory(next) {
			return
		}
		d := b.calls[i].Dst
		if d.Kind != Temp || d.DType != dst.DType || uses[d.Temp] > 1 || uses[d.Temp] == 1 &&
			!slices.ContainsFunc(next.Args, d.sameTemp) {
			return
		}
		b.calls[i].Dst = dst
		for k, a := range next.Args {
			if a.Kind == Temp && a.Temp == d.Temp {
				b.calls[i+1].Args[k] = dst
			}
		}
	}
}

// sameTemp reports whether both are the same value.
func (o Operand) sameTemp(a Operand) bool {
	return o.Kind == Temp && a.Kind == Temp && o.Temp == a.Temp
}

// readsMemory reports whether a call reads buffers.
func readsMemory(c Call) bool {
	if c.Let != nil {
		return true
	}
	for _, a := range c.Args {
		switch {
		case a.Kind == Run || a.Kind == Whole:
			return true
		case a.Kind == Scalar:
			found := false
			expr.Walk(a.Value, func(e *expr.Expr) { found = found || e.Op == expr.OpLoad })
			if found {
				return true
			}
		}
	}
	return false
}
